#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every query of every panel is answered by a real Prometheus that scrapes memstatd showing a FreeBSD and a Linux in trouble; one that has
no data on one of them says so to the reader of the panel."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import edited_capture  # noqa: E402
import grafana  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402

# The shipped rules, computed each second instead of each minute: the replayed trouble lasts for seconds.
RULES = os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "recording_rules.yml")
MEMSTATD = """
poll: {interval: 1s}
per_cpu: {allocators: [uma, malloc, page], types: [".*"]}
sources: {linux_vmalloc: {interval: 1s}, linux_allocinfo: {enabled: auto}}
limits: [{allocator: slab, type: kmalloc-1k, bytes: 4MiB}]
"""
PROMETHEUS = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: memstatd
    static_configs:
      - {{targets: ["{freebsd}"], labels: {{instance: FreeBSD}}}}
      - {{targets: ["{linux}"], labels: {{instance: Linux}}}}
  - job_name: memstatd-percpu
    metrics_path: /metrics/percpu
    static_configs:
      - {{targets: ["{freebsd}"], labels: {{instance: FreeBSD}}}}
      - {{targets: ["{linux}"], labels: {{instance: Linux}}}}
"""
SYSTEMS = ("FreeBSD", "Linux")
PATIENCE = 100.0 if not program.SANITIZER else 200.0


def values(system):
    return {"job": "memstatd", "instance": system, "allocator": ".+", "type": ".+", "__rate_interval": "10s", "__range": "60s"}


def says_why_empty(panel, system):
    return system in grafana.said(panel) or "Nothing is shown when" in grafana.said(panel)


@prometheus_server.needs_prometheus
class Dashboards(unittest.TestCase):
    def unanswered(self, server):
        """[(dashboard, panel, expression, systems without data)] once nothing more comes in, or the patience is at its end."""
        asked = [(name, panel, target, system) for name, dashboard in grafana.dashboards().items()
                 for panel, target in grafana.queries(dashboard) for system in SYSTEMS]
        deadline = time.monotonic() + PATIENCE
        settled = time.monotonic() + 25  # several rounds of the replay
        while True:
            asked = [entry for entry in asked if not self.has_data(server, entry[2], entry[3])]
            unexplained = [entry for entry in asked if not says_why_empty(entry[1], entry[3])]
            if time.monotonic() > deadline or not unexplained and time.monotonic() > settled:
                break
            time.sleep(1)
        missing = {}
        for name, panel, target, system in asked:
            missing.setdefault((name, panel["title"], target["expr"]), (panel, []))[1].append(system)
        return missing

    def has_data(self, server, target, system):
        expression = grafana.substitute(target["expr"], values(system))
        # Recorded over hosts, a figure has no instance: then data of either system is data of both.
        now = time.time()
        if target["instant"]:
            return bool(server.api("query", query=expression)["result"])
        return bool(server.api("query_range", query=expression, start=now - 30, end=now, step=1)["result"])

    def test_every_query_has_data(self):
        with program.temporary_folder() as folder:
            with open(RULES, encoding="utf-8") as file:
                rules = file.read()
            self.assertIn("interval: 1m", rules)
            captures.write_file(os.path.join(folder, "rules.yml"), rules.replace("interval: 1m", "interval: 1s"))
            captures.write_file(os.path.join(folder, "memstatd.yaml"), MEMSTATD)
            edited_capture.write(os.path.join(folder, "linux"))
            os.mkdir(os.path.join(folder, "prometheus"))
            options = ("--config", os.path.join(folder, "memstatd.yaml"), "--tier", "full", "--replay-loop", "--replay-speed", "4")
            freebsd = captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]
            with program.Daemon("--replay", freebsd, *options) as one, \
                    program.Daemon("--replay", os.path.join(folder, "linux"), *options) as other:
                config = PROMETHEUS.format(rules=os.path.join(folder, "rules.yml"), freebsd=f"{one.host}:{one.port}",
                                           linux=f"{other.host}:{other.port}")
                with prometheus_server.prometheus(os.path.join(folder, "prometheus"), None, config=config) as server:
                    missing = self.unanswered(server)
        for (name, title, expression), (panel, systems) in missing.items():
            with self.subTest(dashboard=name, panel=title, expression=expression):
                self.assertNotEqual(systems, list(SYSTEMS), "no data on either")
                for system in systems:
                    self.assertTrue(says_why_empty(panel, system), f"no data on {system}, and the description does not say why")


if __name__ == "__main__":
    program.main()
