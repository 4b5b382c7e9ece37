#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Five golden pages, one of each system generation; every capture's served page against its printed one; types against the oracles.

A golden page holds what no figure shows: HELP texts, the order of families and types, how numbers are written. Its types are those that
TYPES matches, so that five pages stay short. UPDATE_GOLDEN=1 writes golden/NAME.prom instead of comparing; read the difference before
you commit it. Whether the figures are true is judged by checker_test.py, of every capture and of all types.
"""
import concurrent.futures
import difflib
import functools
import os
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
PAGES = ("freebsd-15.0-amd64-2cpu-limits", "linux-5.10-2cpu", "linux-6.1-4cpu-2nodes", "linux-6.12-4cpu", "linux-7.2-2cpu")
TYPES = "[a-g].*"
# The families that differ from run to run, and so are not in a golden page.
VOLATILE = re.compile("|".join((
    r"process_.*",                     # this process
    r".*_timestamp_seconds",           # times of day
    r"memstat_source_read_seconds.*",  # how long reads took
    r"memstat_poll_duration_seconds.*",
    r"memstat_build_info",             # changes with every release
)))


def family_of(line):
    return line.split()[2] if line.startswith("# ") else re.match(r"\w*", line).group()


def stable_part(text):
    """The page without its volatile families."""
    return "".join(line + "\n" for line in lines_of(text, lambda name: not VOLATILE.fullmatch(name)))


def golden_path(name):
    return os.path.join(GOLDEN, name + ".prom")


def kernel_metrics(*tiers):
    """Names of the metrics of these tiers about the kernel; the others are about memstatd itself."""
    rows = [line.split("\t") for line in program.run("--list-metrics").stdout.decode().splitlines()]
    columns = {title: index for index, title in enumerate(rows[0])}
    return {row[columns["name"]] for row in rows[1:]
            if row[columns["scope"]] in ("type", "cpu", "node", "detail", "size_class", "system")
            and row[columns["tier"]] in tiers}


def lines_of(text, is_wanted):
    """The lines of the families whose name is wanted, headers included."""
    return [line for line in text.splitlines() if is_wanted(family_of(line))]


@functools.lru_cache(maxsize=None)
def once(path, *more):
    done = program.run("--once", "--replay", path, *more)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{path}: exit status {done.returncode}\n{done.stderr}")
    read, problems = page.check(done.stdout)
    if problems:
        raise AssertionError(f"{path}:\n" + "\n".join(problems[:20]))
    return done.stdout.decode(), read


class GoldenPages(unittest.TestCase):
    maxDiff = None

    def compare(self, expected, found, what):
        if expected != found:
            difference = list(difflib.unified_diff(expected, found, "golden", "found", lineterm="", n=0))
            self.fail(f"{what} differs in {len(difference)} lines of difference (UPDATE_GOLDEN=1 accepts them):\n" +
                      "\n".join(line[:300] for line in difference[:40]))

    def test_five_printed_pages_are_the_golden_ones(self):
        with program.temporary_directory() as directory:
            config = captures.write_file(os.path.join(directory, "memstatd.yaml"), f"filters: {{include: [{{type: \"{TYPES}\"}}]}}\n")
            for name in PAGES:
                with self.subTest(name):
                    text = stable_part(once(captures.fixtures()[name], "--config", config)[0])
                    if os.environ.get("UPDATE_GOLDEN") == "1":
                        captures.write_file(golden_path(name), text)
                    with open(golden_path(name), encoding="utf-8", newline="") as file:
                        self.compare(file.read().splitlines(), text.splitlines(), name)

    def compare_served(self, name, path, default, known):
        with program.temporary_directory() as directory:
            config = os.path.join(directory, "memstatd.yaml")  # a printed page lists all call sites, a served one the largest
            captures.write_file(config, "sources: {linux_allocinfo: {top: 0, min_bytes: 0}}\n")
            with program.Daemon("--config", config, "--replay", path, "--replay-speed", "1000") as daemon:
                printed = once(path)[0]
                daemon.wait_log("the replay has ended")
                body = daemon.scrape()
                self.assertEqual(page.check(body)[1], [])
                shown = body.decode()
                self.compare(lines_of(printed, default.__contains__), lines_of(shown, known.__contains__), f"{name}, served")
                status, headers, body = daemon.request("/metrics", "HEAD")
                self.assertEqual((status, headers["content-type"], body), (200, program.TEXT_FORMAT, b""))
                self.assertGreater(int(headers["content-length"]), len(shown) - 1000)

    def test_the_served_page_of_each_capture_is_the_printed_one_s_default_tier(self):
        default = kernel_metrics("minimal", "default")
        known = kernel_metrics("minimal", "default", "full")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # each mostly waits for its daemon
            compared = {name: pool.submit(self.compare_served, name, path, default, known)
                        for name, path in captures.shown_fixtures().items()}
            for name, result in compared.items():
                with self.subTest(name):
                    result.result()


def freebsd_fixtures():
    return {name: path for name, path in captures.fixtures().items() if name.startswith("freebsd-")}


@unittest.skipUnless(shutil.which("zstd"), "zstd is not installed: captures cannot be unpacked")
class TruePages(unittest.TestCase):
    """The figures are those of the kernel, as decoded a second time by other code."""

    # The metrics that correspond to the original library's accessors.
    GAUGES = {"bytes": "memstat_type_bytes", "count": "memstat_type_objects", "free": "memstat_type_free_objects",
              "zonefree": "memstat_type_zone_free_objects", "kegfree": "memstat_type_keg_free_objects"}
    COUNTERS = {"numallocs": "memstat_type_allocations_total", "numfrees": "memstat_type_frees_total",
                "memalloced": "memstat_type_allocated_bytes_total", "memfreed": "memstat_type_freed_bytes_total",
                "failures": "memstat_type_failures_total", "sleeps": "memstat_type_sleeps_total",
                "xdomain": "memstat_type_cross_domain_frees_total"}
    LIMITS = {"countlimit": "memstat_type_limit_objects", "byteslimit": "memstat_type_limit_bytes"}
    SIZES = {"size": "memstat_type_object_size_bytes", "rsize": "memstat_type_object_footprint_bytes"}
    CPU = {"malloc": {"pcpu_memalloced": "memstat_cpu_allocated_bytes_total", "pcpu_memfreed": "memstat_cpu_freed_bytes_total",
                      "pcpu_allocs": "memstat_cpu_allocations_total", "pcpu_frees": "memstat_cpu_frees_total"},
           "uma": {"pcpu_free": "memstat_cpu_free_objects"}}

    @staticmethod
    def read_dump(text):
        """{name: [{accessor: text}]} of one dump of the original library."""
        types = {}
        for line in text.decode().splitlines():
            if line.startswith("T\t"):
                _, name, figures = line.split("\t")
                types.setdefault(name, []).append(dict(figure.split("=") for figure in figures.split(" ")))
        return types

    def compare_with_dump(self, read, allocator, types):
        shows = {metric: read.by_type(metric, allocator) for metrics in (self.GAUGES, self.COUNTERS, self.LIMITS, self.SIZES)
                 for metric in metrics.values()}
        self.assertEqual(set(shows["memstat_type_bytes"]), set(types))
        compared = 0
        for name, members in types.items():
            for accessors, is_sum in ((self.GAUGES, True), (self.COUNTERS, True), (self.LIMITS, False), (self.SIZES, False)):
                for accessor, metric in accessors.items():
                    figures = [int(member[accessor]) for member in members]
                    figures = [0 if accessor in ("bytes", "count") and figure >= 1 << 63 else figure for figure in figures]
                    shown = shows[metric].get(name)
                    if is_sum:
                        wanted = sum(figures)
                    elif accessors is self.LIMITS:
                        wanted = sum(figures) if all(figures) else None  # 0: unlimited
                    else:
                        wanted = figures[0] if len(set(figures)) == 1 else None
                    if shown is None:
                        # Fields that the allocator lacks: the library returns 0, or computes them (bytes of zones).
                        made_up = allocator == "uma" and accessor in ("memalloced", "memfreed")
                        self.assertFalse(wanted and not made_up, f"{metric} of {name} is missing")
                    else:
                        self.assertEqual(int(shown), wanted, f"{metric} of {name}")
                        compared += 1
        for accessor, metric in self.CPU[allocator].items():
            shown = {(sample.labels["type"], int(sample.labels["cpu"])): int(sample.text)
                     for sample in read.series(metric, allocator=allocator)}
            wanted = {}
            for name, members in types.items():
                for cpu, figures in enumerate(zip(*(member[accessor].split(",") for member in members))):
                    wanted[name, cpu] = sum(int(figure) for figure in figures)
            self.assertEqual(shown, wanted, metric)
            compared += len(wanted)
        return compared

    def test_freebsd_types_are_those_that_the_original_library_computed(self):
        compared = 0
        for name, path in freebsd_fixtures().items():
            files = captures.read_fixture(path)
            polls = {}
            for file, content in files.items():
                dump = re.fullmatch(r"oracle/(\d{6})-libmemstat-(malloc|uma)\.txt", file)
                if dump:
                    polls.setdefault(int(dump.group(1)), {})[dump.group(2)] = self.read_dump(content)
            for poll, dumps in sorted(polls.items()):
                with self.subTest(f"{name}, poll {poll}"):
                    # A capture of the poll alone, so that counters are the kernel's own and not what has accumulated.
                    with program.temporary_directory() as directory:
                        prefix = f"{poll:06d}/"
                        for file, content in files.items():
                            if file == "manifest.yaml":
                                captures.write_file(os.path.join(directory, file), content)
                            elif file.startswith(prefix):
                                captures.write_file(os.path.join(directory, "000000", file[len(prefix):]), content)
                        read = once(directory)[1]
                    for allocator, types in dumps.items():
                        compared += self.compare_with_dump(read, allocator, types)
        self.assertGreater(compared, 10_000)


if __name__ == "__main__":
    program.main()
