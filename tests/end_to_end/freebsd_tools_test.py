#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd and memstatctl against vmstat and netstat of a real FreeBSD, which ran there just before and just after the recorded poll:
rows that are equal in both did not change meanwhile, and must be equal here byte by byte. The page that memstatd printed there must equal
the one from the recording."""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402
from ctl import output  # noqa: E402

CAPTURE = captures.fixtures()["freebsd-15.0-amd64-4cpu-tools-rest"]
FILES = captures.read_fixture(CAPTURE)
ROW = re.compile(r'\{"(?:type|name)":(?:[^{}"]|"[^"]*")*\}')  # of compact JSON; no name there has braces or quotes
# Metrics of the program that made the page, or of the time.
OF_THE_RUN = re.compile(r"process_.*|.*_timestamp_seconds|memstat_(source_read|poll_duration)_seconds.*|memstat_(build_info|series|source_read_bytes)")


def original(name):
    """What the tool printed before and after the poll."""
    return tuple(FILES[f"oracle/{when}-{name}"].decode() for when in ("before", "after"))


class SameAsTheTools(unittest.TestCase):
    maxDiff = None

    def compare_rows(self, ours, before, after, at_least):
        """Rows in order. Those that changed between the two runs may be anything; `at_least` did not change."""
        self.assertEqual(len(ours), len(before))
        self.assertEqual(len(ours), len(after))
        still = [index for index, row in enumerate(before) if row == after[index]]
        self.assertGreaterEqual(len(still), at_least)
        self.assertEqual([ours[index] for index in still], [before[index] for index in still])

    def test_text_of_malloc_and_zones(self):
        for command, name, at_least in (("malloc", "vmstat-m.txt", 95), ("zones", "vmstat-z.txt", 75)):
            with self.subTest(command):
                ours = output(command, "--from", CAPTURE)
                before, after = original(name)
                self.assertEqual(ours.splitlines()[0], before.splitlines()[0])
                self.compare_rows(ours.splitlines(), before.splitlines(), after.splitlines(), at_least)

    def test_compact_json_of_malloc_and_zones(self):
        for command, name, at_least in (("malloc", "vmstat-m.json", 95), ("zones", "vmstat-z.json", 75)):
            with self.subTest(command):
                ours = output(command, "--json=compact", "--from", CAPTURE)
                before, after = original(name)
                self.assertEqual(ROW.sub("{}", ours), ROW.sub("{}", before), "the text around the rows")
                self.compare_rows(ROW.findall(ours), ROW.findall(before), ROW.findall(after), at_least)

    def test_pretty_json_has_the_same_content(self):
        for command in ("malloc", "zones", "mbufs", "types"):
            compact = output(command, "--json=compact", "--from", CAPTURE)
            self.assertEqual(compact.count("\n"), 1)
            pretty = output(command, "--json", "--from", CAPTURE)
            self.assertEqual(pretty, output(command, "--json=pretty", "--from", CAPTURE))
            self.assertEqual(json.loads(compact), json.loads(pretty))

    def test_mbufs_text_whole(self):
        before, after = original("netstat-m.txt")
        self.assertEqual(before, after)
        self.assertEqual(output("mbufs", "--from", CAPTURE), before)

    def test_compact_json_of_mbufs(self):
        ours = output("mbufs", "--json=compact", "--from", CAPTURE)
        before, after = original("netstat-m.json")
        self.assertEqual(re.sub(r"\d+", "0", ours), re.sub(r"\d+", "0", before), "layout")
        figures, before, after = (json.loads(text)["mbuf-statistics"] for text in (ours, before, after))
        still = {key: value for key, value in before.items() if after[key] == value}
        self.assertGreater(len(still), 40)
        self.assertEqual({key: figures[key] for key in still}, still)

    def test_the_page_is_the_one_that_was_printed_there(self):
        def figures(text):
            return [line for line in text.splitlines()
                    if not line.startswith("#") and not OF_THE_RUN.fullmatch(re.match(r"\w*", line).group())]

        done = program.run("--once", "--replay", CAPTURE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(page.check(done.stdout)[1], [])
        text = re.sub(r'^memstat_type_limit_objects\{allocator="uma".*\n', "", FILES["oracle/page.txt"].decode(), flags=re.MULTILINE)
        for then, now in (("type_wide_limit_objects", "type_limit_objects"), ("type_slab_efficiency_ratio", "type_slab_utilization_ratio")):
            text = text.replace(then, now)  # limits have full width now
        printed = figures(text)
        self.assertGreater(len(printed), 3000)
        now = set(figures(done.stdout.decode()))
        # Metrics may have been added since then, and two limits became the usable ones: the kernel reserves the last file and process.
        gone = [line for line in printed if line not in now]
        limits = [line for line in gone if line.startswith('memstat_type_limit_objects{allocator="table"')]
        self.assertEqual([re.search('type="(.*?)"', line)[1] for line in limits], ["processes", "files"])
        self.assertEqual([line for line in gone if line not in limits], [])


if __name__ == "__main__":
    program.main()
