#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release tsan
"""Debian's real Prometheus scrapes the real memstatd on this machine's kernel, and promtool accepts every page."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
from prometheus_server import Prometheus  # noqa: E402

def live_slabs():
    with open("/proc/slabinfo", "rb") as file:
        return captures.decode_slabinfo(file.read(), page_size=os.sysconf("SC_PAGE_SIZE"))


def is_near(shown, before, after):
    """Whether a constantly changing figure may have had this value between two reads, or shortly before."""
    low, high = sorted((before, after))
    slack = max(64, high // 4)
    return low - slack <= shown <= high + slack


@prometheus_server.needs_prometheus
@program.needs_slabinfo
class ScrapedByPrometheus(unittest.TestCase):
    def test_its_query_api_returns_this_kernel_s_types(self):
        directory = self.enterContext(program.temporary_directory())
        # The kernel's own iterator finds other numbers in use than /proc/slabinfo, which this test reads.
        config = captures.write_file(os.path.join(directory, "memstatd.yaml"), "poll: {timeout: 1m}\nevents: {mode: off}\n")
        with program.Daemon("--interval", "1s", "--config", config) as daemon:
            with Prometheus(directory, f"127.0.0.1:{daemon.port}") as server:
                self.check(daemon, server)
                self.assertEqual(server.stop(), 0, server.log())
            self.assertNotRegex(daemon.log, r" (warning|error): ")

    def check(self, daemon, server):
        def types_are_those_of_the_kernel():
            wanted = live_slabs()["memstat_type_bytes"]
            found = server.query('memstat_type_bytes{allocator="slab"}')
            return {labels["type"] for labels, _ in found} == set(wanted) and found
        found = program.wait_until(types_are_those_of_the_kernel, lambda: server.log() + daemon.log)
        self.assertGreater(len(found), 20)
        for labels, _ in found:
            self.assertEqual(set(labels), {"__name__", "instance", "job", "allocator", "type"})

        # No error in any scrape: it is up, and every sample of the page was accepted.
        target = server.api("targets")["activeTargets"][0]
        self.assertEqual((target["health"], target["lastError"]), ("up", ""))
        self.assertEqual([value for _, value in server.query('up{job="memstatd"}')], [1])
        self.assertEqual([value for _, value in server.query('min_over_time(up{job="memstatd"}[1h])')], [1])

        def every_series_was_stored():  # waits since the page of before the second poll has no changes yet
            series = len(daemon.page().samples())
            counts = [server.query(f'{name}{{job="memstatd"}}') for name in
                      ("scrape_samples_scraped", "scrape_samples_post_metric_relabeling")]
            stored = server.query('count({job="memstatd",__name__!~"up|scrape_.*"})')
            return [int(entry[0][1]) for entry in (*counts, stored) if entry] == [series] * 3
        program.wait_until(every_series_was_stored, lambda: server.log() + daemon.log)

        # The figures are the kernel's: constant ones exactly, the others nearly.
        def figures_are_near():
            before = live_slabs()
            shown = {metric: {labels["type"]: value for labels, value in server.query(f'{metric}{{allocator="slab"}}')}
                     for metric in before}
            after = live_slabs()
            sizes = "memstat_type_object_footprint_bytes"
            if before[sizes] != after[sizes] or shown[sizes] != after[sizes]:
                return False
            near = total = 0
            for metric in ("memstat_type_objects", "memstat_type_bytes", "memstat_type_held_bytes"):
                for name, value in shown[metric].items():
                    unit = 1 if metric.endswith("objects") else after[sizes].get(name, 1)
                    total += 1
                    near += is_near(value // unit, before[metric].get(name, 0) // unit, after[metric].get(name, 0) // unit)
            return total > 60 and near >= 0.9 * total
        program.wait_until(figures_are_near, lambda: server.log() + daemon.log)
        for labels, value in server.query("memstat_type_object_size_bytes > memstat_type_object_footprint_bytes"):
            self.fail(f"{labels}: callers get {value} B, more than an object takes")
        up = server.query("memstat_source_up")
        names = {labels["source"] for labels, _ in up}
        self.assertLessEqual({"linux_memory", "linux_page", "linux_vmalloc"}, names)
        self.assertEqual(len(names & set(program.SLAB_SOURCES)), 1)
        self.assertEqual([labels["source"] for labels, value in up if value != 1], [])
        timestamps = server.api("query", query="time() - memstat_poll_timestamp_seconds")["result"]
        self.assertLess(float(timestamps[0]["value"][1]), program.PATIENCE)

        # Prometheus has the help and types of the page.
        known = {entry["metric"]: entry for entry in server.api("targets/metadata")}
        for family in daemon.page().families.values():  # it asks for OpenMetrics, where a counter's family has no _total
            entry = known[family.name.removesuffix("_total") if family.type == "counter" else family.name]
            self.assertEqual((entry["type"], entry["help"]), (family.type, family.help))


@prometheus_server.needs_promtool
class FoundGoodByPromtool(unittest.TestCase):
    def lint(self, content, what):
        prometheus_server.lint(content, what)

    def test_promtool_would_find_a_fault(self):
        with self.assertRaises(AssertionError):
            self.lint(b"# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n", "a fault")

    def test_every_captured_kernel_s_whole_page(self):
        for name, path in captures.fixtures().items():
            with self.subTest(name):
                self.lint(program.run("--once", "--replay", path).stdout, name)

    @program.needs_slabinfo
    def test_the_live_page(self):
        self.lint(program.run("--once").stdout, "printed")
        with program.Daemon("--interval", "100ms") as daemon:
            daemon.wait_page(lambda now: now.series("memstat_type_delta_bytes"), "a second poll")
            self.lint(daemon.scrape(), "served")

    def test_a_page_with_failures(self):
        with program.temporary_directory() as directory:
            captures.write_capture(directory, [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("a"))},
                                            {"fs/proc/slabinfo": b"garbage"}])
            content = program.run("--once", "--replay", directory).stdout
            self.assertIn(b"memstat_source_errors_total{", content)
            self.assertEqual(page.check(content)[1], [])
            self.lint(content, "a page with failures")


if __name__ == "__main__":
    program.main()
