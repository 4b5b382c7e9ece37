#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The independent checker of tests/guests, on captures of real kernels, on this machine's kernel, and on wrong pages."""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/guests")]
import captures  # noqa: E402
import checker  # noqa: E402
import program  # noqa: E402

OPTIONS = {"processes": True, "migrate_types": True}


def page_of(path, directory):
    configuration = pathlib.Path(directory) / "memstatd.yaml"
    configuration.write_text(checker.CONFIGURATION.format(port=0, user="", migrate_types="on"), encoding="ascii")
    done = subprocess.run([program.MEMSTATD, "--config", configuration, "--replay", path, "--once"], capture_output=True, text=True,
                          check=True, timeout=program.PATIENCE)
    return checker.parse_page(done.stdout, buckets=True)


def read(name, directory):
    """(the last poll of a capture, memstatd's page for it)"""
    path = captures.fixtures()[name]
    return checker.expect_capture(captures.read_fixture(path), OPTIONS), page_of(path, directory)


def wrong_in(best):
    return [f"{key}: {verdict}" for key, verdict in best.items() if verdict[0] not in ("exact", "range", "moved")]


class Captures(unittest.TestCase):
    maxDiff = 2000

    def test_each_value_of_each_capture_equals_its_kernels(self):
        total = {}
        for name in captures.fixtures():
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                expected, page = read(name, directory)
                verdicts = checker.compare_values(expected, page, expected)
                self.assertEqual(wrong_in(verdicts), [])
                total[name] = len(verdicts)
                self.assertGreater(len(verdicts), 5)
        print(f"{sum(total.values())} values of {len(total)} captures are exact: " + ", ".join(f"{name} {count}" for name, count in total.items()))
        self.assertGreater(sum(total.values()), 80_000)

    def test_a_page_that_is_wrong_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            expected, page = read("linux-6.1-4cpu-2nodes", directory)
        self.assertEqual(wrong_in(checker.compare_values(expected, page, expected)), [])
        compared = checker.compare_values(expected, page, expected)
        changed = {}
        for key, (_, old, _, _) in compared.items():
            if old is not None and not checker.observer_slack(key):
                changed[key] = page[key] + (1 if isinstance(page[key], int) else 0.01)
        self.assertGreater(len(changed), 2000)
        verdicts = checker.compare_values(expected, page | changed, expected)
        not_found = [key for key in changed if verdicts[key][0] != "mismatch" and "boot_timestamp" not in key[0]]
        self.assertEqual(not_found, [])
        gone = next(key for key in changed if key[0] == "memstat_type_held_bytes")
        short = {key: value for key, value in page.items() if key != gone}
        self.assertEqual([key for key, verdict in checker.compare_values(expected, short, expected).items() if verdict[0] == "missing"], [gone])
        new = "memstat_of_nobody_bytes", ()
        self.assertEqual(checker.compare_values(expected, page | {new: 1}, expected)[new][0], "unexpected")


class Live(unittest.TestCase):
    @unittest.skipUnless(platform.system() == "Linux", "the checker knows the files of Linux")
    def test_each_value_of_this_kernel_equals_its_files(self):
        known = {"processes": True, "migrate_types": os.geteuid() == 0}
        best = checker.judge_rounds(checker.compare_rounds(checker.live_rounds(program.MEMSTATD, 20), known, least=2))
        self.assertEqual(wrong_in(best), [])
        self.assertGreater(sum(verdict[0] == "exact" for verdict in best.values()), 300)


if __name__ == "__main__":
    unittest.main()
