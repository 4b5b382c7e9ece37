#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Machines unlike ours: old kernels, gaps in node numbers, large pages. Small captures in fixtures/unlike, a fault each."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/guests")]
import captures  # noqa: E402
import checker  # noqa: E402
import program  # noqa: E402

CAPTURES = {path.name.removesuffix(".tar.zst"): str(path) for path in sorted((ROOT / "tests/fixtures/unlike").glob("*.tar.zst"))}
MEMSTATCTL = os.environ.get("MEMSTATCTL") or str(pathlib.Path(program.MEMSTATD).with_name("memstatctl"))
# What `why` finds in each, in its words. The others have nothing to report.
FOUND = {"03-gigantic-pages-before-4.16": ["No huge page (1GiB) is left: all 40 are in use or reserved"],
         "05-four-kib-poisoned": ["Defective memory: the kernel set aside 4 KiB, less than 0.1 % of all memory"],
         "11-hyper-v-balloon": ["The host has taken back 12 GiB, 77 % of all memory"],
         "13-pins-64k-pages": ["Devices have pinned up to 95 GiB of memory"]}
# Samples of the page; None: it has no such series.
SAMPLES = {"02-vmalloc-address-space": {'memstat_accounted_bytes{part="vmalloc"}': None, 'memstat_accounted_part_missing{part="vmalloc"}': 1},
           "03-gigantic-pages-before-4.16": {'memstat_accounted_bytes{part="hugetlb"}': 40 << 30},
           "06-sparse-nodes": {f'memstat_node_held_bytes{{allocator="vmalloc",type="f_one",node="{node}"}}': held
                               for node, held in ((0, 8192), (1, None), (8, 8192), (254, None), (255, None))},
           "07-slab-line-only": {'memstat_accounted_bytes{part="slab"}': 30000000 << 10, 'memstat_accounted_part_missing{part="slab_reclaimable"}': None},
           "08-zoneinfo-before-4.8": {'memstat_node_unreclaimable{node="0"}': 1, 'memstat_numa_events_total{node="0",kind="miss"}': 7,
                                      'memstat_zone_free_cma_bytes{node="0",zone="Normal"}': 0},
           "09-zoneinfo-before-3.9": {'memstat_type_held_bytes{allocator="page",type="node 0 Normal"}': 4096 << 12},
           "11-hyper-v-balloon": {"memstat_balloon_bytes": 3276800 << 12}}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=program.PATIENCE)
    return done.stdout, done.stderr, done.returncode


class MachinesUnlikeOurs(unittest.TestCase):
    def test_no_source_is_down_for_a_line_that_its_kernel_does_not_have(self):
        self.assertEqual(len(CAPTURES), 13)
        for path in CAPTURES.values():
            text, errors, status = run(program.MEMSTATD, "--once", "--tier", "full", "--replay", path)
            self.assertEqual((errors, status), ("", 0))
            self.assertNotRegex(text, r"(?m)^memstat_source_up\{[^}]*\} 0$")

    def test_why_says_what_is_true_and_nothing_else(self):
        for name, path in CAPTURES.items():
            text, errors, _ = run(MEMSTATCTL, "why", "--from", path, "--json")
            self.assertEqual(errors, "")
            self.assertEqual([finding["headline"] for finding in json.loads(text)["findings"]], FOUND.get(name, []), name)

    def test_samples_are_the_kernels(self):
        for name, path in CAPTURES.items():
            text = run(program.MEMSTATD, "--once", "--tier", "full", "--replay", path)[0]
            samples = {series: float(value) for series, value in re.findall(r"(?m)^([^#\n]\S*(?: [^}\n]*\})?) (\S+)$", text)}
            for series, value in SAMPLES.get(name, {}).items():
                self.assertEqual(samples.get(series), value, f"{name}: {series}")

    def test_each_value_equals_its_kernels(self):
        for name, path in CAPTURES.items():
            expected = checker.expect_capture(captures.read_fixture(path), {})
            found = checker.parse_page(run(program.MEMSTATD, "--once", "--tier", "full", "--replay", path)[0], buckets=True)
            wrong = {key: verdict for key, verdict in checker.compare_values(expected, found, expected).items()
                     if verdict[0] not in ("exact", "range", "moved")}
            self.assertEqual(wrong, {}, name)


if __name__ == "__main__":
    unittest.main()
