#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl for a user who may not read all of the kernel: one line on stderr lists what is missing, and the status is 3."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import MEMSTATCTL, readers, run  # noqa: E402

# The sources that it lacks besides the slab caches.
OTHERS = {"origins": "attach to the kernel's events", "events": "linux_kernel_log", "resident": "/etc/shadow", "who": "may not examine them"}
COMMANDS = (["types"], ["limits"], ["show", "dentry"], ["watch", "dentry", "--count", "1"], ["diff", "--for", "1"], ["top", "--count", "1"],
            ["leaks", "--for", "2s", "--interval", "200ms"], ["record", "kernel.tar", "--count", "1"],
            ["origins", "--for", "1s"], ["events"], ["who", "pipes"], ["resident", "/etc/shadow", "/etc/passwd", "/root"])


@program.needs_root
@program.needs_slabinfo
class AsNobody(unittest.TestCase):
    def nobody(self, copy, directory, *arguments):
        return subprocess.run([copy, *arguments], user=65534, group=65534, extra_groups=[], cwd=directory, capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)

    def test_each_command_reports_in_one_line_what_it_could_not_read(self):
        with program.copy_for_others(MEMSTATCTL) as copy, program.temporary_directory() as directory:
            os.chmod(directory, 0o777)
            said = {}
            for command in COMMANDS:
                done = self.nobody(copy, directory, *command)
                said[command[0]] = done
                with self.subTest(command=command):
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
                    self.assertIn(OTHERS.get(command[0], "linux_slabinfo"), done.stderr)
                    self.assertIn("as root", done.stderr)
            found = self.nobody(copy, directory, "why", "--for", "1s", "--interval", "500ms")
            self.assertNotIn("cannot read its source", found.stdout, "a missing permission is no finding about the machine")
            self.assertRegex(found.stderr, "linux_slabinfo.*; run memstatctl as root .*, or ask a running memstatd with --from")
            unreadable = os.path.join(directory, "unreadable")
            os.mkdir(unreadable, 0o700)
            for line in ([[command, *needed, "--from"] for command, needed in readers().items()] + [["replay"], ["diff", unreadable]]):
                done = self.nobody(copy, directory, *line, unreadable)
                with self.subTest(line=line):
                    self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                    self.assertIn(unreadable, done.stderr)
            self.assertIn("slab caches could not be read", said["leaks"].stdout)
            self.assertIn("without data that could not be read", said["record"].stdout)
            self.assertIn('there is no type "dentry" in what could be read; ', said["show"].stderr)
            capture = os.path.join(directory, "kernel.tar")
            done = run("types", "--json", "--from", capture)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            self.assertIn("not in this capture, because the user who recorded it could not read them", done.stderr)
            self.assertNotIn("slab", {row["allocator"] for row in json.loads(done.stdout)["types"]})


if __name__ == "__main__":
    program.main()
