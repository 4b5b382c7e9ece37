#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's real Prometheus scrapes the real memstatd on this machine's kernel, and promtool accepts every page. Figures are judged by
checker_test.py, and what is stored of them by negotiation_prometheus_test.py."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
from prometheus_server import Prometheus  # noqa: E402


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
            with open("/proc/slabinfo", "rb") as file:
                wanted = captures.decode_slabinfo(file.read(), page_size=os.sysconf("SC_PAGE_SIZE"))["memstat_type_bytes"]
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

        up = server.query("memstat_source_up")
        names = {labels["source"] for labels, _ in up}
        self.assertLessEqual({"linux_memory", "linux_page", "linux_vmalloc"}, names)
        self.assertEqual(len(names & set(program.SLAB_SOURCES)), 1)
        self.assertEqual([labels["source"] for labels, value in up if value != 1], [])
        timestamps = server.api("query", query="time() - memstat_poll_timestamp_seconds")["result"]
        self.assertLess(float(timestamps[0]["value"][1]), program.PATIENCE)


@prometheus_server.needs_promtool
class FoundGoodByPromtool(unittest.TestCase):
    def lint(self, content, what):
        prometheus_server.lint(content, what)

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


if __name__ == "__main__":
    program.main()
