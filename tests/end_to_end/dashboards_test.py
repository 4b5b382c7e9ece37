#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: asks a real Prometheus every query of every dashboard
"""A real Prometheus, which scrapes a memstatd that shows a FreeBSD and a Linux in trouble, answers every query of every panel. If a query
has no data on one of them, the panel says so."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import edited_capture  # noqa: E402
import grafana  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
import replayed_systems  # noqa: E402
from replayed_systems import SYSTEMS  # noqa: E402


def says_why_empty(panel, system):
    """Whether the panel explains why it is empty: not on this system, no trouble, or too early in the first day."""
    words = (system.lower(), "empty if", "yesterday")
    return any(word in grafana.said(panel).lower() for word in words)


def needs_more(expression):
    """Whether it needs a day of history, or Kubernetes."""
    return any(word in expression for word in ("growth1d", "memory_gone", "growing_hosts", "namespace_pod"))


def mistakes(name, title, expression, panel, systems):
    """What is wrong with a panel that has no data on these systems."""
    found = [f"no data on {system}, and the description does not say why" for system in systems if not says_why_empty(panel, system)]
    if not needs_more(expression) and systems == list(SYSTEMS):
        found.append("no data on either")
    return [f"{name}, {title}, {expression}: {text}" for text in found]


@prometheus_server.needs_prometheus
class Dashboards(unittest.TestCase):
    def unanswered(self, server):
        """{(dashboard, panel, expression): (panel, systems without data)}, once none of them is a mistake, or after a timeout."""
        asked = [(name, panel, target, system) for name, dashboard in grafana.dashboards().items()
                 for panel, target in grafana.queries(dashboard) for system in SYSTEMS]
        deadline = time.monotonic() + program.PATIENCE
        while True:
            asked = [entry for entry in asked if not self.has_data(server, entry[2], entry[3])]
            missing = {}
            for name, panel, target, system in asked:
                missing.setdefault((name, panel["title"], target["expr"]), (panel, []))[1].append(system)
            if time.monotonic() > deadline or not any(mistakes(*key, *found) for key, found in missing.items()):
                return missing
            time.sleep(1)

    def has_data(self, server, target, system):
        expression = grafana.substitute(target["expr"], replayed_systems.variables(system))
        # A figure recorded over all hosts has no instance: then data of either system counts for both.
        now = time.time()
        if target["instant"]:
            return bool(server.api("query", query=expression)["result"])
        return bool(server.api("query_range", query=expression, start=now - 30, end=now, step=1)["result"])

    def test_every_query_has_data(self):
        with replayed_systems.scraped() as server:
            missing = self.unanswered(server)
        for key, found in missing.items():
            with self.subTest(key):
                self.assertEqual(mistakes(*key, *found), [])

    def test_the_daemon_dashboard_has_data_with_native_histograms(self):
        """A Prometheus that stores them does not store the classic series as well."""
        asked = [(panel, target) for panel, target in grafana.queries(grafana.dashboards()["daemon"]) if "_seconds" in target["expr"]]
        self.assertGreater(len([target for _, target in asked if "histogram_" in target["expr"]]), 2)
        config = prometheus_server.CONFIG.replace("5s", "1s").replace("memstatd\n", "memstatd\n    relabel_configs: [{{target_label: instance, replacement: Linux}}]\n", 1)
        with program.temporary_directory() as directory:
            capture = edited_capture.write(os.path.join(directory, "linux"))
            with program.Daemon("--replay", capture, "--replay-loop", "--replay-speed", "4") as daemon, \
                    prometheus_server.Prometheus(directory, None, "--enable-feature=native-histograms",
                                                 config=config.format(target=f"{daemon.host}:{daemon.port}")) as server:
                for panel, target in asked:
                    program.wait_until(lambda target=target: self.has_data(server, target, "Linux"), f"data of {panel['title']}: {target['expr']}")
                self.assertEqual(server.query("count(memstat_poll_duration_seconds_bucket)"), [], "it stores classic series")
                self.assertTrue(server.api("query", query="memstat_poll_duration_seconds")["result"])


if __name__ == "__main__":
    program.main()
