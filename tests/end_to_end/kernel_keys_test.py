#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: makes a page for each key of a kernel
"""No key of the newest kernels' files is unknown, and one that no kernel has is reported."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402

KEYS = pathlib.Path(program.SOURCE_DIR, "tests/guests/keys.py")
CAPTURES = pathlib.Path(program.SOURCE_DIR, "tests/fixtures/captures")
SMALL = "linux-7.3-idle-memory"


def keys(*captures):
    return subprocess.run([sys.executable, "-B", KEYS, "--programs", os.path.dirname(program.MEMSTATD), *captures], capture_output=True, text=True, check=False)


class KernelKeysTest(unittest.TestCase):
    def test_newest_kernels_have_no_unknown_key(self):
        done = keys()
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_new_key_is_unknown(self):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["tar", "--zstd", "-xf", CAPTURES / f"{SMALL}.tar.zst", "-C", directory], check=True)
            capture = pathlib.Path(directory, SMALL)
            with (capture / "000000/fs/proc/vmstat").open("a", encoding="ascii") as counters:
                counters.write("nr_invented 5\n")
            done = keys(capture)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 unknown: nr_invented\n", done.stdout)
        self.assertTrue(done.stdout.endswith("unknown keys: 1 (use each, or give the reason in tests/guests/unwanted_keys.yaml)\n"), done.stdout)


if __name__ == "__main__":
    unittest.main()
