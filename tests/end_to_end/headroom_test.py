#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a program in a control group of this machine really gets until the kernel kills it, and what memstatd said before. Rows of
tests/guests/headroom.py that change nothing of the machine; $MEMSTAT_HEADROOM, a regular expression, selects others of them."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), name) for name in ("support", "guests")]
import captures  # noqa: E402
import control_group  # noqa: E402
import headroom  # noqa: E402
import machine  # noqa: E402
import program  # noqa: E402

USUAL = "nearly full|cache and program memory|tmpfs|a locked file|the group above is tighter"
CONFIG = "poll: {interval: 200ms}\nallow: []\n"
PAGE = "page() { %s -c 'import urllib.request; print(urllib.request.urlopen(\"http://127.0.0.1:%d/metrics\").read().decode())' >$1; }\n"


@program.needs_root
class Headroom(unittest.TestCase):
    def test_what_a_program_gets(self):
        if not shutil.which("gcc"):
            self.skipTest("gcc, which builds the program that allocates, is not installed")
        directory = self.enterContext(program.temporary_directory())
        name = f"memstat-headroom-{os.getpid()}"
        group = self.enterContext(control_group.ControlGroup(name, 1 << 20))  # skips the test if none can be made
        os.rmdir(group.directory)
        self.addCleanup(os.mkdir, group.directory)  # which its own end removes
        disk = os.path.join(os.environ["BUILD_DIR"], name)  # on a disk, as /tmp may not be
        os.mkdir(disk)
        self.addCleanup(shutil.rmtree, disk)
        machine.provoke_program(directory)
        rows = headroom.rows_of(group.version, anywhere=True, usual=USUAL)
        with program.Daemon("--config", captures.write_file(os.path.join(directory, "memstatd.yaml"), CONFIG)) as daemon:
            begin = (f"result() {{ echo \"RESULT $*\"; }}\nTMP={directory}; NAME={name}; DISK={disk}; CGROUPS={os.path.dirname(group.directory)}; "
                     f"VERSION={group.version}; MAX={'memory.max' if group.version == 2 else 'memory.limit_in_bytes'}\n" + PAGE % (sys.executable, daemon.port))
            done = subprocess.run(["sh"], input=begin + headroom.lines(rows), capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": directory + ":" + os.environ["PATH"]})
        table, wrong = headroom.judge(re.findall("^RESULT (.*)$", done.stdout, re.M), rows)
        print("\n".join(table))
        self.assertEqual((wrong, done.stderr), ([], ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
