#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: a real Prometheus with each protocol
"""Debian's real Prometheus scrapes a replayed kernel in each format that it can negotiate, through a relay that sees what was served, and
must have stored the values of memstatd's own page, series by series."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import documents  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402

STORED = '{job="memstatd",__name__!~"up|scrape_.*"}'
NATIVE = ("memstat_source_read_seconds", "memstat_poll_duration_seconds")
FIXTURE = "freebsd-15.0-amd64-4cpu"  # the most series, some of them counters
# What a failed scrape leaves in the debug log, besides warnings and errors.
FAULT = re.compile(r"^.*(?:level=(?:warn|error)|msg=\"(?:append failed|scrape failed|error|duplicate|out of)).*$",
                   re.MULTILINE | re.IGNORECASE)


def without_target(labels):
    return documents.key(labels["__name__"], {name: value for name, value in labels.items()
                                              if name not in ("__name__", "instance", "job")})


@prometheus_server.needs_prometheus
class Negotiated(unittest.TestCase):
    def scrape(self, form, accept=None, arguments=()):
        with documents.serving(captures.fixtures()[FIXTURE]) as daemon:
            with program.temporary_directory() as directory, prometheus_server.Relay(daemon, accept) as relay, \
                    prometheus_server.Prometheus(directory, relay.address, "--log.level=debug", *arguments) as server:
                self.check(form, daemon, relay, server)
                log = server.whole_log()
                self.assertEqual(FAULT.findall(log), [])
                self.assertIn("level=debug", log, "errors would be logged")
                self.assertEqual(server.stop(), 0, server.log())
            self.assertNotRegex(daemon.log, r" (warning|error): ")

    def check(self, form, daemon, relay, server):
        page = documents.read_text(daemon.scrape())

        def scraped_twice():
            found = server.query('count_over_time(up{job="memstatd"}[1h])')
            return found and found[0][1] >= 2
        program.wait_until(scraped_twice, server.log)

        # What was sent.
        for asked, headers, body in list(relay.passed):
            self.assertEqual(asked["accept-encoding"], "gzip")
            self.assertEqual((headers["content-type"], headers["content-encoding"]), (documents.CONTENT_TYPE[form], "gzip"))
            body = documents.plain(headers.items(), body)
            self.assertEqual(documents.read(form, body).of("memstat_type_"), page.of("memstat_type_"))
            if form == "text":
                prometheus_server.lint(body, "as it was scraped")

        # What was stored.
        target = server.api("targets")["activeTargets"][0]
        self.assertEqual((target["health"], target["lastError"]), ("up", ""))
        self.assertEqual(server.query('min_over_time(up{job="memstatd"}[1h])')[0][1], 1)
        stored, native = {}, {}
        for entry in server.api("query", query=STORED)["result"]:
            if "histogram" in entry:
                native[without_target(entry["metric"])] = entry["histogram"][1]
            else:
                series = without_target(entry["metric"])
                self.assertNotIn(series, stored)
                stored[series] = float(entry["value"][1])
        wanted = {series: float(value) for series, value in page.values.items()}
        if form == "protobuf":  # if a histogram has native buckets, 2.42 stores no others
            self.check_native(page, native, server)
            wanted = {series: value for series, value in wanted.items() if not series[0].startswith(NATIVE)}
        else:
            self.assertEqual(native, {})
        self.assertEqual(set(stored), set(wanted))
        self.assertGreater(len(stored), 3000)
        changing = re.compile(documents.ITSELF)
        self.assertEqual({series: value for series, value in stored.items() if not changing.match(series[0])},
                         {series: value for series, value in wanted.items() if not changing.match(series[0])})
        known = {entry["metric"]: entry for entry in server.api("targets/metadata")}
        for name, (kind, text) in page.families.items():
            entry = known[name.removesuffix("_total") if form == "openmetrics" and kind == "counter" else name]
            self.assertEqual((entry["type"], entry["help"]), (kind, text))

    def check_native(self, page, native, server):
        self.assertEqual({name for name, _ in native}, set(NATIVE))
        for function, suffix in (("histogram_count", "_count"), ("histogram_sum", "_sum")):
            for name in NATIVE:
                found = server.query(f"{function}({name})")
                self.assertEqual({documents.key(name + suffix, {label: value for label, value in labels.items()
                                                               if label not in ("instance", "job")}): value
                                  for labels, value in found}, page.of(name + suffix))
        for (name, labels), histogram in native.items():
            # [boundary rule, from, to, count]: their counts add up, and lie where the classic buckets have them.
            buckets = [(float(low), float(high), float(count)) for _, low, high, count in histogram["buckets"]]
            self.assertEqual(sum(count for _, _, count in buckets), float(histogram["count"]))
            for (other, others), cumulative in page.of(name + "_bucket").items():
                others = dict(others)
                bound = float(others.pop("le"))
                if other == name + "_bucket" and tuple(sorted(others.items())) == labels:
                    self.assertLessEqual(sum(count for _, high, count in buckets if high <= bound), cumulative)
                    self.assertGreaterEqual(sum(count for low, _, count in buckets if low < bound), cumulative)

    def test_openmetrics_is_what_it_asks_for_by_itself(self):
        self.scrape("openmetrics")

    def test_text(self):
        self.scrape("text", accept=documents.ACCEPT["text"])

    def test_protobuf_with_native_histograms(self):
        self.scrape("protobuf", arguments=("--enable-feature=native-histograms",))


if __name__ == "__main__":
    program.main()
