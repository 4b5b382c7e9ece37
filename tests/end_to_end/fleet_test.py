#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: a real Prometheus and Alertmanager over many hosts
"""A fleet on one machine: fifty hosts show captured kernels. A Prometheus in agent mode scrapes them with the shipped example and writes
to another one, which evaluates the shipped rules and answers all queries of the fleet dashboard, at a cost that does not grow with the
number of types. Alerts fire for the hosts in trouble, and for no other captured kernel."""
import contextlib
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import edited_capture  # noqa: E402
import grafana  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
import shipped_rules  # noqa: E402

HOSTS = 50
RECEIVER = """
global: {{evaluation_interval: 2s}}
rule_files: {rules}
"""
VALUES = {"cluster": ".*", "job": "memstatd", "instance": ".+", "allocator": ".+", "type": ".+"}
# Hosts times allocators of a host, or types of all kernels; raw series of types would be some ten thousand.
MOST_SAMPLES = 3000


def kernels(directory):
    """(capture, options) for each memstatd: two with problems, in a loop, and all other kernels as recorded."""
    limits = captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]
    linux = edited_capture.write(os.path.join(directory, "linux"))
    # Whole kernels; the names of captures that hold some files only end in what these show.
    others = [path for name, path in captures.fixtures().items() if re.search(r"-\d+cpu(-\d+(nodes|domains)|-limits)?$", name)]
    busy = [(path, ["--replay-loop", "--replay-speed", "2"]) for path in (limits, linux)]
    return busy + [(path, ["--polls", "1"]) for path in others]


def agent_config(receiver):
    with open(os.path.join(shipped_rules.DIRECTORY, "scrape", "agent.yml"), encoding="utf-8") as file:
        text = file.read()
    for old, new in (("scrape_interval: 60s", "scrape_interval: 5s"), ("http://127.0.0.1:9090", f"http://{receiver}")):
        if old not in text:
            raise AssertionError(f"the example no longer says {old}")
        text = text.replace(old, new)
    return text


@prometheus_server.needs_prometheus
@unittest.skipIf(program.SANITIZER, "fifty daemons under a sanitizer take more memory than a machine for tests has")
class Fleet(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.directory = self.stack.enter_context(program.temporary_directory())

    def path(self, *parts):
        path = os.path.join(self.directory, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def start(self):
        """The receiving server. Many hosts share a kernel, shown by one memstatd, which is scraped once for each."""
        rules = shipped_rules.write(self.directory)
        daemons = [self.stack.enter_context(program.Daemon("--replay", capture, *options))
                   for capture, options in kernels(self.path("captures", ""))]
        receiver = self.stack.enter_context(prometheus_server.Prometheus(
            self.path("receiver", ""), None, "--web.enable-remote-write-receiver", config=RECEIVER.format(rules=rules)))
        hosts = {f"host{number}": daemons[number] if number < 2 else daemons[2 + number % (len(daemons) - 2)] for number in range(HOSTS)}
        targets = [{"targets": [f"{daemon.host}:{daemon.port}"], "labels": {"instance": host}} for host, daemon in hosts.items()]
        captures.write_file(self.path("agent", "targets", "fleet.json"), json.dumps(targets))
        self.stack.enter_context(prometheus_server.Prometheus(
            self.path("agent", ""), None, "--enable-feature=agent", config=agent_config(receiver.address)))
        return receiver

    def test_the_fleet_dashboard_is_answered(self):
        server = self.start()
        program.wait_until(lambda: server.query("sum(job:memstat_hosts:count)") == [({}, HOSTS)], server.log)
        asked = [(panel, grafana.substitute(target["expr"], VALUES)) for panel, target in grafana.queries(grafana.dashboards()["fleet"])]
        self.assertGreater(len(asked), 20)
        for panel, expression in asked:
            with self.subTest(panel=panel["title"]):
                # Queries that need a day of history, or a problem, have no result here, but must still be cheap.
                if re.search(r"growth1d|growing_hosts|memory_gone| [<>] [\d.]+\)", expression):
                    self.assertTrue(grafana.said(panel).strip())
                    server.query(expression)
                else:
                    program.wait_until(lambda expression=expression: server.query(expression), f"an answer to {expression}")
                stats = server.api("query", query=expression, stats="all")["stats"]["samples"]
                self.assertLess(stats["totalQueryableSamples"], MOST_SAMPLES, expression)
        self.check_alerts(server)

    def check_alerts(self, server):
        firing = 'ALERTS{alertstate="firing",alertname!="MemstatWatchdog"}'
        troubled = {"host0", "host1"}
        # If a busy machine answers a scrape too late, the host is missing for a moment.
        program.wait_until(lambda: {labels.get("instance", labels["alertname"]) for labels, _ in server.query(firing)} == troubled,
                           lambda: f"alerts of both hosts in trouble and no other, but {server.query(firing)}")


if __name__ == "__main__":
    program.main()
