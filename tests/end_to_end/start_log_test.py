#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A default start logs at most three lines before its address, for root, an ordinary user, in namespaces and on a read-only file system.
What could be permitted is one line that names memstatctl doctor, which has the rest."""
import os
import sys
import shlex
import subprocess
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import MEMSTATCTL  # noqa: E402

# Lines before "listening on".
MAX_LINES = 3
USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
STARTS = {"root": [], "an ordinary user": USER,
          "a container": ["unshare", "--pid", "--fork", "--mount-proc", "--net", "--ipc", "sh", "-c", "ip link set lo up; exec \"$@\"", "sh"],
          "a container without /sys": ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys && exec \"$@\"", "sh"],
          "a container of an ordinary user": ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none /sys && exec {' '.join(USER)} \"$@\"", "sh"],
          "a read-only file system": ["unshare", "--mount", "sh", "-c", "mount -o remount,bind,ro / && exec \"$@\"", "sh"]}


class StartLog(unittest.TestCase):
    def start(self, wrapper, copy):
        """Lines of the log up to the address."""
        with subprocess.Popen([*wrapper, copy, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, cwd="/", start_new_session=True) as process:
            try:
                lines = []
                for line in process.stderr:
                    if "listening on" in line:
                        return lines
                    lines.append(line)
            finally:
                # unshare --fork does not forward signals to its child, which is in the same group.
                os.killpg(process.pid, 15)
        return self.fail(f"it did not serve: {lines}")

    @program.needs_root
    def test_three_lines_at_most_before_the_address(self):
        with program.copy_for_others(program.MEMSTATD) as copy:
            for name, wrapper in STARTS.items():
                if wrapper and subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
                    print(f"not tested: {name}, which this machine does not permit")
                    continue
                with self.subTest(name):
                    lines = self.start(wrapper, copy)
                    self.assertLessEqual(len(lines), MAX_LINES, "".join(lines))
                    self.assertFalse([line for line in lines if " error: " in line], lines)
                    if "user" in name:
                        refused = [line for line in lines if " are not permitted, " in line]
                        self.assertEqual(len(refused), 1, lines)
                        self.assertIn("linux_slabinfo", refused[0])
                        self.assertIn("type `memstatctl doctor`", refused[0])

    @program.needs_root
    def test_a_limit_of_threads_is_named(self):
        with program.copy_for_others(program.MEMSTATD) as copy:
            done = subprocess.run([*USER, "prlimit", "--nproc=1", copy, "--listen", "127.0.0.1:0"], cwd="/", capture_output=True, text=True,
                                  timeout=program.PATIENCE, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("memstatd: no thread can be started: raise what limits this user (ulimit -u and -v, ", done.stderr)

    @program.needs_root
    def test_a_tree_on_a_read_only_file_system_is_named(self):
        tree = program.SOURCE_DIR
        script = f'mount --bind {shlex.quote(tree)} {shlex.quote(tree)} && mount -o remount,bind,ro {shlex.quote(tree)} && cd {shlex.quote(tree)} && "$@"'
        wrapper = ["unshare", "--mount", "sh", "-c", script, "sh"]
        if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("mount namespaces are not permitted here")
        done = subprocess.run([*wrapper, "daemon/run", "--build"], capture_output=True, text=True, timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("build is not writable for root: its file system is mounted read-only; clone the tree into another one\n", done.stderr)

    @program.needs_root
    def test_without_sys_memstatctl_says_what_its_answer_lacks(self):
        wrapper = STARTS["a container without /sys"]
        if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("mount namespaces are not permitted here")
        done = subprocess.run([*wrapper, MEMSTATCTL, "types"], capture_output=True, text=True, timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("sysfs is not mounted at /sys, where figures of linux_", done.stderr)


if __name__ == "__main__":
    program.main()
