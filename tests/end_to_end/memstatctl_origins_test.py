#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl origins: of a capture in every layout, and of a cache on this machine's kernel."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import program  # noqa: E402

CAPTURE = captures.fixtures()["linux-6.18-call-sites"]
WEB = ["dentry", "/containers/web", "web-server", "__d_alloc", "7076", "1358592"]
FILES = """
import os
while True:
    os.close(os.open("/", os.O_RDONLY))
"""


def rows(text):
    return list(csv.reader(io.StringIO(text)))


class Origins(unittest.TestCase):
    def test_of_a_capture_are_in_every_layout(self):
        table = rows(ctl.output("origins", "--csv", "--from", CAPTURE + "@0"))
        self.assertEqual(table[0], ["cache", "control_group", "program", "function", "allocations", "bytes", "share_ratio"])
        self.assertIn(WEB, [row[:6] for row in table])
        self.assertEqual([int(row[5]) for row in table[1:]], sorted((int(row[5]) for row in table[1:]), reverse=True))
        listed = json.loads(ctl.output("origins", "slab/dentry", "--json", "--limit", "1", "--from", CAPTURE + "@0"))["origins"]
        self.assertAlmostEqual(listed[0].pop("share_ratio"), 0.36, places=2)
        self.assertEqual(listed, [{"cache": "dentry", "control_group": "/containers/web", "program": "web-server", "function": "__d_alloc",
                                 "allocations": 7076, "bytes": 1358592}])
        self.assertRegex(ctl.output("origins", "dentry", "--from", CAPTURE + "@0"),
                         r"(?m)^dentry  /containers/web  web-server  __d_alloc  +7076 +1\.3M +36%$")

    def test_missing_things_are_reported(self):
        for arguments, *words in ((["dentri", "--from", CAPTURE], "did you mean dentry"),
                                  (["--seconds", "5", "--from", CAPTURE], "--for"),
                                  (["--from", captures.fixtures()["linux-6.12-4cpu"]], "has no origins", "events.mode"),
                                  (["--from", captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]], "on Linux only")):
            done = ctl.run("origins", *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""), arguments)
            for word in words:
                self.assertIn(word, done.stderr)
            self.assertNotIn("errno", done.stderr)
        with program.Daemon("--replay", captures.fixtures()["linux-6.12-4cpu"], "--polls", "1") as daemon:
            daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
            done = ctl.run("origins", "--from", f"http://127.0.0.1:{daemon.port}")
            self.assertEqual(done.returncode, 1)
            self.assertIn("events.mode", done.stderr)

    @program.needs_root
    def test_of_this_kernel_name_the_program_that_takes_now(self):
        with program.temporary_directory() as directory:
            keeper = captures.write_file(os.path.join(directory, "file-opener"), f"#!{sys.executable}\n{FILES}")
            os.chmod(keeper, 0o755)
            with subprocess.Popen([keeper]) as process:
                try:
                    done = ctl.run("origins", "filp", "--seconds", "2", "--csv")
                finally:
                    process.kill()
        if done.returncode == 1 and re.search("No such|Operation not permitted|Permission denied|built without|only root", done.stderr):
            self.skipTest(done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = [row for row in rows(done.stdout) if row[2] == "file-opener"]
        self.assertTrue(found, done.stdout)
        self.assertGreater(int(found[0][4]), 1000)


if __name__ == "__main__":
    program.main()
