#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""README names only metrics, sources and manual pages that exist; the lists of all of them are in the manual, not in README."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

PAGES = ("core/man", "daemon/man", "config/man")


def readme():
    with open(os.path.join(program.SOURCE_DIR, "README.md"), encoding="utf-8") as file:
        return file.read()


def column(flag, name):
    output = subprocess.run([program.MEMSTATD, flag], check=True, capture_output=True, text=True, timeout=60).stdout
    header, *rows = (line.split("\t") for line in output.splitlines())
    return {dict(zip(header, row))[name] for row in rows}


class Readme(unittest.TestCase):
    def test_metrics_exist(self):
        printed = program.run("--once", "--replay", captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]).stdout.decode()
        known = column("--list-metrics", "name") | set(re.findall(r"^# TYPE (\w+) ", printed, re.M))
        # A replay that goes well has no errors and is not recorded, and the age is of the moment of a scrape.
        known |= {"memstat_source_errors_total", "memstat_poll_age_seconds", "memstat_recording_polls_total"}
        functions = set()
        with open(os.path.join(program.SOURCE_DIR, "core", "include", "memstat.h"), encoding="utf-8") as file:
            functions.update(re.findall(r"\bmemstat_\w+", file.read()))
        named = set(re.findall(r"`(memstat_\w+)", readme()))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - known - functions, set())

    def test_manual_pages_exist(self):
        named = set(re.findall(r"\b(memstat[\w.-]*)\((\d)\)", readme()))
        self.assertIn(("memstatd-metrics", "7"), named)
        self.assertIn(("memstatd-sources", "7"), named)
        for page, number in named:
            paths = [os.path.join(program.SOURCE_DIR, folder, f"{page}.{number}") for folder in PAGES]
            self.assertTrue(any(os.path.exists(path) for path in paths), f"{page}({number})")

    def test_lists_of_all_metrics_and_sources_are_in_the_manual(self):
        text = readme()
        listed = {name for name in column("--list-metrics", "name") if f"| `{name}" in text}
        self.assertLess(len(listed), len(column("--list-metrics", "name")) / 2)
        for name in column("--list-sources", "name"):
            self.assertNotIn(f"| `{name}` |", text)


if __name__ == "__main__":
    unittest.main()
