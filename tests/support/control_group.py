# SPDX-License-Identifier: BSD-2-Clause
"""A memory control group for a test: v2 or v1, whichever this machine has."""
import os
import time
import unittest

MOUNTS = "/sys/fs/cgroup"


def _read(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()


def _hierarchy():
    """(its directory, its version), or (None, the reason)."""
    try:
        for directory in (MOUNTS, os.path.join(MOUNTS, "unified")):
            if os.path.exists(os.path.join(directory, "cgroup.controllers")) and "memory" in _read(directory, "cgroup.controllers").split():
                return directory, 2
        for name in ["memory", *sorted(os.listdir(MOUNTS))]:
            if os.path.exists(os.path.join(MOUNTS, name, "memory.usage_in_bytes")):
                return os.path.join(MOUNTS, name), 1
    except OSError as error:
        return None, str(error)
    return None, f"no hierarchy with the memory controller is mounted below {MOUNTS}"


class ControlGroup:
    """A group below the root for the block, removed with its processes at the end. Skips the test if a group cannot be made."""

    def __init__(self, name, limit):
        root, self.version = _hierarchy()
        if root is None:
            raise unittest.SkipTest(self.version)
        self.name = "/" + name  # as memstatd names it
        self.directory = root + self.name
        try:
            if self.version == 2 and "memory" not in _read(root, "cgroup.subtree_control").split():
                self._write(os.path.join(root, "cgroup.subtree_control"), "+memory")
            os.mkdir(self.directory)
        except OSError as error:
            raise unittest.SkipTest(f"no control group can be made here: {error}") from None
        self._write(os.path.join(self.directory, "memory.max" if self.version == 2 else "memory.limit_in_bytes"), str(limit))

    @staticmethod
    def _write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def enter(self):
        """Moves the calling process into the group: for `preexec_fn`."""
        self._write(os.path.join(self.directory, "cgroup.procs"), "0")

    def limit_hits(self):
        """How often it reached its limit."""
        if self.version == 1:
            return int(_read(self.directory, "memory.failcnt"))
        return int(dict(line.split() for line in _read(self.directory, "memory.events").splitlines())["max"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in _read(self.directory, "cgroup.procs").split():
            os.kill(int(process), 9)
        for _ in range(600):
            try:
                return os.rmdir(self.directory)
            except OSError:  # a killed process is not gone yet
                time.sleep(0.1)
        raise AssertionError(f"{self.directory} cannot be removed")
