#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: replays every capture of the tree and asks for each of its values in five places
"""tests/agreement on all captures finds no difference."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Agreement(unittest.TestCase):
    def test_of_every_capture(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(program.SOURCE_DIR, "tests", "agreement")], capture_output=True, text=True, check=False)
        print(done.stdout.splitlines()[-1])
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


if __name__ == "__main__":
    program.main()
