#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Thrash is found without PSI: recordings of provoked situations without the files of pressure."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402

RECORDINGS = pathlib.Path(program.SOURCE_DIR, "tests/situations/provoked/fixtures")
THRASHES = {"code_thrash@newest": "reclaim_thrash", "swap_thrash@newest": "swap_thrash", "group_thrash@newest": "swap_thrash"}
CALM = ("calm_pods_full_of_cache@6.12", "calm_high_of_cache@6.12", "calm_swap_idle@newest")


def findings_without_pressure(name):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["tar", "--zstd", "-xf", RECORDINGS / f"{name}.tar.zst", "-C", directory], check=True)
        files = [path for path in pathlib.Path(directory).glob("**/*pressure*") if path.is_file()]
        files += pathlib.Path(directory).glob("**/proc/pressure/*")
        for path in files:
            path.unlink()
        done = subprocess.run([os.environ["MEMSTATCTL"], "why", "--json", "--from", next(pathlib.Path(directory).iterdir())], capture_output=True, check=False)
    assert files, f"{name} has no pressure"
    return json.loads(done.stdout)["findings"]


class NoPressureTest(unittest.TestCase):
    def test_thrash_is_the_first_line(self):
        for name, cause in THRASHES.items():
            with self.subTest(name):
                first = findings_without_pressure(name)[0]
                self.assertEqual((first["cause"], first["severity"]), (cause, "now"))
                self.assertEqual([holder["kind"] for holder in first["who"]][:1], ["group"])

    def test_groups_that_read_files_again_are_not_accused(self):
        for name in CALM:
            with self.subTest(name):
                self.assertEqual([one for one in findings_without_pressure(name) if one["severity"] in ("now", "soon", "wasteful")], [])


if __name__ == "__main__":
    unittest.main()
