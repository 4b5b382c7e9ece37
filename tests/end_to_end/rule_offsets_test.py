#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prometheus evaluates a group at an offset that depends on the path of its file. Whatever the offset, all series that groups record for
each other exist without gaps: every series that the fleet dashboard queries, and those that alerts use."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
try:
    import yaml  # noqa: F401  # the rules are read with it
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import program  # noqa: E402
import prometheus_server  # noqa: E402
import rule_clock  # noqa: E402

GIB = 1 << 30
START = 1_800_000_000
WARM = 80 * 60  # medians of half an hour, and their growth in the half hour before
HOST = {
    "memstat_memory_total_bytes": 16 * GIB, "memstat_memory_available_bytes": 8 * GIB, "memstat_unaccounted_bytes": GIB,
    "memstat_series": 900, 'memstat_accounted_bytes{part="slab_unreclaimable"}': GIB, 'memstat_source_up{source="x"}': 1,
    'memstat_kernel_info{release="6.12"}': 1, 'memstat_type_bytes{allocator="slab",type="dentry"}': GIB,
    'memstat_type_limit_used_ratio{allocator="table",type="files"}': 0.5, 'memstat_type_limit_hits_total{allocator="table",type="files"}': 0,
    'memstat_type_failures_total{allocator="table",type="x"}': 0, "memstat_oom_kills_total": 0,
}
# Each group is evaluated just after the one that it reads, in the middle of the interval, and just before the next evaluation.
OFFSETS = ({"memstat-slow": 5, "memstat-fleet": 10, "memstat-kernel": 7}, {"memstat-slow": 0, "memstat-fleet": 301, "memstat-kernel": 120},
           {"memstat-slow": 30, "memstat-fleet": 599, "memstat-kernel": 239}, {"memstat-slow": 599, "memstat-fleet": 598, "memstat-kernel": 1})
NEEDS_TROUBLE = ("memory_gone", "growth6h", "growth1d", "growing_hosts", "pressure", "stalls")  # or a day


def labels_of(series, host):
    name, _, rest = series.partition("{")
    own = dict(part.replace('"', "").split("=") for part in rest.rstrip("}").split(",") if part)
    return tuple(sorted({**own, "__name__": name, "job": "memstatd", "instance": host}.items()))


def scrape(now):
    figures = {**HOST, "memstat_poll_timestamp_seconds": now - 3}
    return {labels_of(series, host): value for series, value in figures.items() for host in ("a", "b")}


@prometheus_server.needs_prometheus
class RuleOffsets(unittest.TestCase):
    def missing(self, groups, offsets):
        """{recorded series: in how many of the last minutes it was missing}, as the dashboards query it."""
        names = [rule["record"] for group in groups for rule in group["rules"] if "record" in rule and not any(word in rule["record"] for word in NEEDS_TROUBLE)]
        gaps = dict.fromkeys(names, 0)
        with program.temporary_directory() as directory:
            clock = rule_clock.RuleClock(directory, groups, scrape, {"": 20, **offsets})

            def look(now):
                for name in names if now >= START + WARM else ():
                    gaps[name] += not clock.query(f"last_over_time({name}[15m])", now)
            try:
                clock.run(START, START + WARM + 660, look)
            finally:
                clock.stop()
        return {name: count for name, count in gaps.items() if count}

    def test_recorded_series_are_there_at_every_offset(self):
        groups = [group for group in rule_clock.shipped_groups() if group["name"] in ("memstat-host", "memstat-kernel", "memstat-slow", "memstat-fleet")]
        self.assertEqual(len(groups), 4)
        for offsets in OFFSETS:
            with self.subTest(offsets=offsets):
                self.assertEqual(self.missing(groups, offsets), {})

    def test_a_moment_of_another_group_is_missed(self):
        """The same test finds the former mistake: a series of another group read at one moment."""
        groups = [{"name": "slow", "interval": "10m", "rules": [{"record": "instance:x:sum", "expr": "memstat_series"}]},
                  {"name": "fleet", "interval": "10m", "rules": [{"record": "job:x:sum", "expr": "sum by (job) (instance:x:sum)"}]}]
        self.assertEqual(set(self.missing(groups, {"slow": 0, "fleet": 301})), {"job:x:sum"})
        self.assertEqual(self.missing(groups, {"slow": 0, "fleet": 10}), {})


if __name__ == "__main__":
    program.main()
