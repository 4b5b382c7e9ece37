#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl and memstatd in shortages that can be made on any machine. tests/guests/shortages.py has the others."""
import contextlib
import os
import pathlib
import re
import resource
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402

UNUSED = 61234  # a user without processes
MEMSTATCTL = os.environ.get("MEMSTATCTL") or os.path.join(os.path.dirname(program.MEMSTATD), "memstatctl")


def without_threads():
    """For a child: its user may have no more threads."""
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(UNUSED)
        os.setuid(UNUSED)


class NoThreads(unittest.TestCase):

    def test_memstatctl_reads_the_kernel(self):
        with program.copy_for_others(MEMSTATCTL) as copy:
            for command in (["types"], ["why", "--seconds", "200ms"]):
                done = subprocess.run([copy, *command], cwd="/", capture_output=True, text=True, timeout=program.PATIENCE, check=False,
                                      preexec_fn=without_threads)
                self.assertNotIn("out of memory", done.stderr)
                self.assertIn(done.returncode, (0, 3, 10, 11), done.stderr)
                self.assertTrue(done.stdout)


MANIFESTS = ("dashboards/examples/kubernetes/daemonset.yaml", "dashboards/examples/container/compose.yaml")


def stated_start():
    """What the manifests say that memstatd starts in, in bytes."""
    texts = [pathlib.Path(program.SOURCE_DIR, name).read_text(encoding="utf-8") for name in MANIFESTS]
    return min(int(re.search(r"memstatd starts in (\d+) MiB", text)[1]) << 20 for text in texts)


class Unavailable(Exception):
    """No memory group can be made here; the text says why."""


@contextlib.contextmanager
def memory_group(limit):
    """The directory of a new group of memory with that limit."""
    version_1, version_2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
    if (version_1 / "memory.limit_in_bytes").exists():
        root, file = version_1, "memory.limit_in_bytes"
    else:
        root, file = version_2, "memory.max"
    group = root / f"memstat-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise Unavailable(f"no group can be made in {root}: {error.strerror}") from error
    try:
        if not (group / file).exists():
            raise Unavailable(f"{root} does not delegate memory")
        (group / file).write_text(str(limit), encoding="ascii")
        yield group
    finally:
        group.rmdir()


@unittest.skipIf(program.SANITIZER, "a sanitizer needs more memory")
class MemoryGroup(unittest.TestCase):

    def test_memstatd_starts_in_what_the_manifests_state(self):
        try:
            with memory_group(stated_start()) as group, program.temporary_directory() as directory:
                joins = os.path.join(directory, "joins")
                with open(joins, "w", encoding="ascii") as file:
                    file.write(f'#!/bin/sh\necho 0 >{group}/cgroup.procs && exec "{program.MEMSTATD}" "$@"\n')
                os.chmod(joins, 0o755)
                with unittest.mock.patch.object(program, "MEMSTATD", joins), program.Daemon() as daemon:
                    daemon.wait_page(lambda now: now.series("memstat_source_up"), "a poll")
        except Unavailable as why:
            self.skipTest(str(why))


if __name__ == "__main__":
    unittest.main()
