#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: machines with thousands of types
"""Filters, the minimum in bytes, the limit of series and the tiers, in the real program on captured kernels."""
import functools
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402

FREEBSD = "freebsd-15.0-amd64-4cpu"
LINUX = "linux-6.12-4cpu"
BYTES = "memstat_type_bytes"


def types_of(read):
    return {(sample.labels["allocator"], sample.labels["type"]): int(sample.text) for sample in read.series(BYTES)}


@functools.cache
def bounded_metrics(*scopes):
    """Names of the metrics that count against series_limit: all but the daemon's own."""
    rows = [line.split("\t") for line in program.run("--list-metrics").stdout.decode().splitlines()]
    column = rows[0].index("scope")
    return {row[0] for row in rows[1:] if row[column] in (scopes or ("type", "cpu", "node", "detail", "size_class", "allocator", "system"))}


def bounded_series(read):
    return [sample for sample in read.samples() if sample.name in bounded_metrics()]


def machine_series(capture):
    """The number of the machine's series on a page of the default tier."""
    read = page.check(program.run("--once", "--tier", "default", "--replay", capture).stdout)[0]
    return len([sample for sample in read.samples() if sample.name in bounded_metrics("system")])


class Bounds(unittest.TestCase):
    def assert_true(self, read, everything, limit):
        """The page reports itself correctly: its size, and what it lacks."""
        self.assertEqual(read.number("memstat_series"), len(bounded_series(read)))
        self.assertLessEqual(read.number("memstat_series"), limit)
        listed = types_of(read)
        for allocator in {key[0] for key in everything}:
            expected = sum(amount for key, amount in everything.items() if key[0] == allocator)
            shown = sum(amount for key, amount in listed.items() if key[0] == allocator)
            self.assertEqual(read.number("memstat_unlisted_bytes", allocator=allocator), expected - shown)

    def test_every_reload_is_in_force_with_a_poll_and_the_page_never_exceeds_the_limit(self):
        for name in (FREEBSD, LINUX):
            capture = captures.fixtures()[name]
            everything = types_of(page.check(program.run("--once", "--replay", capture, "--polls", "1").stdout)[0])
            largest = max(everything, key=everything.get)
            # Metrics of the machine belong to no type and are always present; types get the rest of the limit.
            narrow = 50 + machine_series(capture)
            with self.subTest(name), program.temporary_directory() as directory:
                path = captures.write_file(os.path.join(directory, "memstatd.yaml"), f"series_limit: {narrow}\nsources: {{}}\n")
                # A replay of one poll, again and again: a poll after each reload.
                with program.Daemon("--config", path, "--replay", capture, "--polls", "1", "--replay-loop",
                                    "--replay-speed", "20") as daemon:
                    def reload(text, condition, what, daemon=daemon, path=path):
                        captures.write_file(path, text)
                        daemon.process.send_signal(signal.SIGHUP)
                        return daemon.wait_page(condition, what)

                    now = daemon.wait_page(lambda now: now.series(BYTES), "a poll")
                    self.assert_true(now, everything, narrow)
                    self.assertIn(largest, types_of(now))
                    whole = now.number("memstat_series") + now.number("memstat_series_dropped")
                    self.assertGreater(now.number("memstat_series_dropped"), 100)

                    now = reload(f"series_limit: {whole}\n", lambda now: now.number("memstat_series_dropped") == 0, "room for all")
                    self.assert_true(now, everything, whole)
                    self.assertEqual(types_of(now), everything)

                    now = reload("min_bytes: 64KiB\n", lambda now: len(types_of(now)) < len(everything), "the small ones to go")
                    self.assert_true(now, everything, 20000)
                    self.assertEqual(types_of(now), {key: amount for key, amount in everything.items() if amount >= 65536})
                    self.assertEqual(now.number("memstat_series_dropped"), 0)

                    kept = largest[1].replace(".", r"\\.")
                    now = reload(f"filters: {{include: [{{type: \"{kept}\"}}]}}\n",
                                 lambda now: {key[1] for key in types_of(now)} == {largest[1]}, "the one type")
                    self.assertEqual({sample.text for sample in now.series("memstat_unlisted_bytes")}, {"0"})
                    now = reload(f"tier: full\nfilters: {{exclude: [{{allocator: {largest[0]}}}]}}\n",
                                 lambda now: largest not in types_of(now), "the allocator to go")
                    self.assertNotIn(largest[0], {key[0] for key in types_of(now)})
                    self.assertEqual(now.series("memstat_unlisted_bytes", allocator=largest[0]), [])

    def test_tiny_limits_hold_with_figures_of_each_cpu(self):
        capture = captures.fixtures()[FREEBSD]
        with program.temporary_directory() as directory:
            path = os.path.join(directory, "memstatd.yaml")
            for limit in (1, 2, 3, 10, 33, 500):
                captures.write_file(path, f"series_limit: {limit}\ntier: full\nper_cpu: {{types: [\".*\"]}}\n")
                with program.Daemon("--config", path, "--replay", capture, "--replay-speed", "1000") as daemon:
                    daemon.wait_log("the replay has ended")
                    now = daemon.page()
                    self.assertEqual(now.number("memstat_series"), len(bounded_series(now)))
                    self.assertLessEqual(now.number("memstat_series"), limit)
                    self.assertGreater(now.number("memstat_series_dropped"), 1000)

    def test_once_lists_all_types_at_the_given_tier(self):
        capture = captures.fixtures()[FREEBSD]
        with program.temporary_directory() as directory:
            path = captures.write_file(os.path.join(directory, "memstatd.yaml"), "series_limit: 5\nmin_bytes: 1GiB\ntier: minimal\n")
            pages = {}
            for tier in ("", "full", "default", "minimal"):
                done = program.run("--once", "--config", path, "--replay", capture, *(["--tier", tier] if tier else []))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                read, problems = page.check(done.stdout)
                self.assertEqual(problems, [])
                self.assertEqual(read.number("memstat_series_dropped"), 0)
                pages[tier] = read
            self.assertEqual({tuple(types_of(read)) for read in pages.values()}, {tuple(types_of(pages["full"]))})
            names = {tier: {sample.name for sample in bounded_series(read)} for tier, read in pages.items()}
            self.assertEqual(names[""], names["full"])
            self.assertLess(names["minimal"], names["default"])
            self.assertLess(names["default"], names["full"])
            self.assertIn("memstat_cpu_allocations_total", names["full"])
            self.assertIn("memstat_type_size_class_used", names["full"])
            self.assertIn("memstat_type_held_bytes", names["default"])
            self.assertFalse([name for name in names["default"] if name.startswith("memstat_cpu_")])


if __name__ == "__main__":
    program.main()
