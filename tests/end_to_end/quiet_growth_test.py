#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl leaks reports nothing on eleven quiet recordings: four of a live kernel (idle, builds, growing page cache, files created and
removed) and seven synthetic ones. It reports each leak, with its companions in the same row."""
import json
import math
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import run  # noqa: E402

LIVE = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "quiet")
POLLS = 90
TOTAL = 1 << 20  # KiB


def meminfo(anonymous=200_000, cached=100_000, other=0):
    free = TOTAL - anonymous - cached - other
    return (f"MemTotal: {TOTAL} kB\nMemFree: {free} kB\nMemAvailable: {free + cached} kB\nBuffers: 0 kB\nCached: {cached} kB\nSwapCached: 0 kB\n"
            f"AnonPages: {anonymous} kB\nShmem: 0 kB\nSReclaimable: 0 kB\nSUnreclaim: 0 kB\nKernelStack: 0 kB\nPageTables: 0 kB\nPercpu: 0 kB\n").encode()


def poll(reclaimed=7, requested=0, objects=None, **parts):
    caches = {"filp": 900, "dentry": 9000, "lsm_file_cache": 900, "kmalloc-64": 5000, **(objects or {})}
    lines = [captures.slabinfo_line(name, active=int(count), objects=int(count), size=256) for name, count in caches.items()]
    return {"fs/proc/meminfo": meminfo(**{part: int(value) for part, value in parts.items()}), "fs/proc/slabinfo": captures.slabinfo(*lines),
            "fs/proc/vmstat": f"pgsteal_kswapd {int(reclaimed)}\npgsteal_direct 0\npgscan_kswapd {int(reclaimed)}\npgscan_direct 0\n"
                              f"pgsteal_proactive {requested}\npgsteal_khugepaged {requested}\n".encode()}


def start_up(number):
    level = 1 - math.exp(-number / 15)
    return poll(anonymous=50_000 + 150_000 * level, objects={"kmalloc-64": 2000 + 40_000 * level, "filp": 200 + 4000 * level})


def given_back(number):
    """Directory entries that were mostly reclaimed and then come back."""
    since = number if number < 50 else number - 50
    return poll(reclaimed=7 if number < 50 else 90_000, objects={"dentry": 9000 + 2000 * since})


def chance(seed):
    source = random.Random(seed)
    walk = {"kmalloc-64": 50_000.0, "filp": 9000.0, "lsm_file_cache": 9000.0}
    state = {"anonymous": 200_000.0, "other": 90_000.0}

    def one(_):
        for name in walk:
            walk[name] += source.gauss(0, 300)
        for name in state:
            state[name] += source.gauss(0, 2000)
        return poll(objects=walk, **state)
    return one


MADE = {
    "page cache that fills": lambda number: poll(cached=100_000 + 4000 * number, objects={"radix_tree_node": 1000 + 60 * number}),
    "page cache that fills while a group is asked to give some back": lambda number: poll(cached=100_000 + 4000 * number, requested=300 * number),
    "a sawtooth that ends at its peak": lambda number: poll(anonymous=200_000 + 3000 * (number % 23), objects={"kmalloc-64": 5000 + 400 * (number % 31)}),
    "start-up": start_up,
    "a cache that was given back": given_back,
    "a build that ended": lambda number: poll(anonymous=200_000 + 2000 * min(number, 40), objects={"filp": 900 + 50 * min(number, 40)}),
    "chance": chance(5),
}
LEAKS = {
    "open files": (lambda number: poll(objects={"filp": 900 + 40 * number, "lsm_file_cache": 900 + 40 * number, "dentry": 9000 + 40 * number}),
                   "slab", "filp", ["dentry", "lsm_file_cache"]),
    "memory in no part of the account": (lambda number: poll(other=90_000 + 500 * number), "account", "unaccounted", []),
    "program memory below a sawtooth": (lambda number: poll(anonymous=200_000 + 1500 * (number % 5) + 250 * number), "account", "anonymous", []),
}


class QuietGrowth(unittest.TestCase):
    def leaks(self, path):
        done = run("leaks", "--json", "--from", path)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        document = json.loads(done.stdout)
        self.assertTrue(document["enough"])
        # {type: why} of types that are larger but do not grow.
        document["aside"] = dict(re.findall(r"^  \S+ (\S+) \+\S+: it (.*)$", run("leaks", "--from", path).stdout, re.MULTILINE))
        return document

    def of_made(self, make):
        with program.temporary_directory() as directory:
            return self.leaks(captures.write_capture(directory, [make(number) for number in range(POLLS)], cpus="0-1"))

    def test_live_recordings(self):
        names = sorted(os.listdir(LIVE))
        self.assertEqual(len(names) + len(MADE), 12)
        for name in names:
            with self.subTest(name):
                self.assertEqual(self.leaks(os.path.join(LIVE, name))["growing"], [])

    def test_programs_at_work_are_not_a_leak_within_a_minute(self):
        aside = self.leaks(os.path.join(LIVE, "linux-live-compilers.tar.zst"))["aside"]
        self.assertIn("programs at work", aside["/work/group-3"])

    def test_made_recordings(self):
        for name, make in MADE.items():
            with self.subTest(name):
                document = self.of_made(make)
                self.assertEqual(document["growing"], [])
                if name not in ("chance",):
                    self.assertNotEqual(document["aside"], {}, "what is larger is named, with the reason")

    def test_freed_memory_is_reported_with_its_proof(self):
        self.assertRegex(self.of_made(given_back)["aside"]["dentry"], r"gave back \d+ % of its growth when memory was reclaimed")

    def test_leaks_are_found(self):
        for name, (make, allocator, kind, together) in LEAKS.items():
            with self.subTest(name):
                growing = self.of_made(make)["growing"]
                self.assertEqual([(row["allocator"], row["type"]) for row in growing], [(allocator, kind)])
                self.assertEqual(sorted(name for name in (growing[0].get("with") or "").split(", ") if name), together)


if __name__ == "__main__":
    program.main()
