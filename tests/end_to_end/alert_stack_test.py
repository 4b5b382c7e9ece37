#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: a real Prometheus and Alertmanager
"""From the kernel to the pager: memstatd shows a FreeBSD with failing types and types at their limits, Debian's Prometheus evaluates the
shipped rules, and the alerts are in the API of Debian's Alertmanager, with host, allocator, type and figure in words."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import alertmanager  # noqa: E402
import captures  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
import shipped_rules  # noqa: E402

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: {rules}
alerting: {{alertmanagers: [{{static_configs: [{{targets: ["{alertmanager}"]}}]}}]}}
scrape_configs:
  - job_name: memstatd
    static_configs: [{{targets: ["{memstatd}"], labels: {{instance: "bsd1:8947"}}}}]
"""


@alertmanager.needs_alertmanager
@prometheus_server.needs_prometheus
class AlertStack(unittest.TestCase):
    def test_trouble_of_the_kernel_reaches_alertmanager(self):
        with program.temporary_directory() as directory:
            rules = shipped_rules.write(directory)
            capture = captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]
            with alertmanager.Alertmanager(directory) as manager, \
                    program.Daemon("--replay", capture, "--replay-loop", "--replay-speed", "4") as daemon:
                config = CONFIG.format(rules=rules, alertmanager=manager.address, memstatd=f"{daemon.host}:{daemon.port}")
                with prometheus_server.Prometheus(directory, None, config=config) as server:
                    found = self.wait_for(manager, {("MemstatAllocationFailures", "mbuf_jumbo_page"),
                                                    ("MemstatLimitHit", "mbuf_cluster"), ("MemstatLimitHit", "mbuf_jumbo_page")})
                    self.check_words(found)
                    daemon.terminate()
                    self.wait_for(manager, {("MemstatDaemonMissing", None)})
                    self.assertNotIn("err=", "\n".join(line for line in server.whole_log().splitlines() if "rule" in line.lower()))

    def test_many_hosts_that_do_not_answer_are_one_trouble(self):
        with program.temporary_directory() as directory, alertmanager.Receiver() as receiver:
            rules = shipped_rules.write(directory)
            down = [f"127.0.0.1:{program.free_port()}" for _ in range(3)]
            with alertmanager.Alertmanager(directory, alertmanager.example(receiver, "1s")) as manager, \
                    program.Daemon("--replay", captures.fixtures()["linux-7.2-2cpu"]) as daemon:
                targets = ",".join(f'"{address}"' for address in [f"{daemon.host}:{daemon.port}", *down])
                config = CONFIG.format(rules=rules, alertmanager=manager.address, memstatd="X").replace('["X"], labels: {instance: "bsd1:8947"}', f"[{targets}]")
                with prometheus_server.Prometheus(directory, None, config=config) as server:
                    def suppressed():
                        return {alert["labels"]["instance"] for alert in manager.alerts()
                                if alert["labels"]["alertname"] == "MemstatDaemonMissing" and alert["status"]["inhibitedBy"]}
                    program.wait_until(lambda: suppressed() == set(down), server.log)
                    program.wait_until(lambda: any(labels["alertname"] == "MemstatManyHostsDown" for name, alerts in receiver.notifications if name == "night" for labels in alerts),
                                       server.log)

    def test_a_finding_has_its_words_keeps_back_what_it_repeats_and_outlives_its_host(self):
        with program.temporary_directory() as directory, alertmanager.Receiver() as receiver:
            rules = shipped_rules.write(directory)
            with alertmanager.Alertmanager(directory, alertmanager.example(receiver, "3s", "1s")) as manager, \
                    program.Daemon("--replay", captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"], "--replay-loop", "--replay-speed", "4") as daemon:
                config = CONFIG.format(rules=rules, alertmanager=manager.address, memstatd=f"{daemon.host}:{daemon.port}")
                with prometheus_server.Prometheus(directory, None, config=config) as server:
                    found = self.wait_for(manager, {("MemstatFindingCritical", "mbuf_cluster"), ("MemstatLimitHit", "mbuf_cluster")})
                    self.check_finding(found["MemstatFindingCritical", "mbuf_cluster"])
                    program.wait_until(lambda: self.inhibited(manager, "MemstatLimitHit", "mbuf_cluster"),
                                       lambda: f"alerts that the finding repeats are kept back, but {manager.alerts()}")
                    self.assertFalse(self.inhibited(manager, "MemstatFindingCritical", "mbuf_cluster"))
                    program.wait_until(lambda: self.sent(receiver, "MemstatFindingCritical"), server.log)
                    daemon.terminate()
                    program.wait_until(lambda: self.sent(receiver, "MemstatDaemonMissing"), server.log)
                    self.assertIn("firing", {status for status, _ in self.sent(receiver, "MemstatFindingCritical")})
                    self.assertNotIn("resolved", {status for status, _ in self.sent(receiver, "MemstatFindingCritical")}, "the host died, which is no end of the problem")
                    self.assertNotIn("mbuf_cluster", {labels.get("type") for _, labels in self.sent(receiver, "MemstatLimitHit")})

    def sent(self, receiver, name):
        return [(alert["status"], alert["labels"]) for alert in receiver.alerts if alert["labels"]["alertname"] == name]

    def inhibited(self, manager, name, kind):
        return any(alert["status"]["inhibitedBy"] for alert in manager.alerts() if (alert["labels"]["alertname"], alert["labels"].get("type")) == (name, kind))

    def check_finding(self, alert):
        self.assertEqual({key: alert["labels"][key] for key in ("severity", "cause", "object", "allocator", "instance")},
                         {"severity": "critical", "cause": "mbuf_limit", "object": "uma/mbuf_cluster", "allocator": "uma", "instance": "bsd1:8947"})
        words = alert["annotations"]
        headline = r"Network buffers: zone mbuf_cluster is full: \d+ of 2200 \(\d+ %\).*"
        self.assertRegex(words["summary"], f"^bsd1:8947: {headline}\\. Next, on that host: `memstatctl who queues; sysctl kern\\.ipc\\.nmbufs .* kern\\.ipc\\.nmbjumbop`\\.$")
        self.assertEqual(words["runbook_url"], "http://bsd1:8947/runbooks/MemstatFindingCritical")

    @unittest.skipUnless(shutil.which("jsonnet"), "jsonnet is not installed")
    def test_what_happens_in_a_datacenter_hides_nothing_of_another(self):
        program_text = "((import 'mixin/mixin.libsonnet') + {{ _config+:: {{ clusterLabels: {} }} }}).alertmanagerConfig"
        full = {"instance": "h", "allocator": "table", "type": "conntrack"}
        sources = [{"alertname": "MemstatManyHostsDown"}, {"alertname": "MemstatFindingCritical", "cause": "conntrack_full", "object": "table/conntrack", **full},
                   {"alertname": "MemstatTwoHostsInOne", "instance": "two"}]
        targets = [{"alertname": "MemstatDaemonMissing", "instance": "down"}, {"alertname": "MemstatLimitHit", **full},
                   {"alertname": "MemstatFindingWarning", "cause": "conntrack_full", "object": "table/conntrack", **full}, {"alertname": "MemstatMemoryVeryLow", "instance": "two"}]
        others = [{"alertname": "MemstatLimitHit", **full, "type": "files"}, {"alertname": "MemstatLimitHit", **full, "instance": "other"}]  # of another type or host
        for labels, crosses in (("['datacenter']", False), ("['cluster', 'site']", True)):
            text = subprocess.run(["jsonnet", "-S", "-J", os.path.join(program.SOURCE_DIR, "dashboards"), "-e", program_text.format(labels)],
                                  check=True, capture_output=True, text=True, timeout=program.PATIENCE).stdout
            with program.temporary_directory() as directory, alertmanager.Alertmanager(directory, text) as manager:
                manager.post([{"job": "memstatd", "datacenter": "a", **one} for one in sources + targets + others] + [{"job": "memstatd", "datacenter": "b", **one} for one in targets])
                wanted = {self.identity(datacenter=name, **one): value for name, value, some in (("a", True, targets), ("b", crosses, targets), ("a", False, others)) for one in some}

                def inhibited(manager=manager, wanted=wanted):
                    found = {self.identity(**alert["labels"]): bool(alert["status"]["inhibitedBy"]) for alert in manager.alerts()}
                    return {key: is_inhibited for key, is_inhibited in found.items() if key in wanted}
                program.wait_until(lambda inhibited=inhibited, wanted=wanted: inhibited() == wanted, lambda inhibited=inhibited, labels=labels: f"{labels}: {inhibited()}")

    def identity(self, **labels):
        return tuple(labels.get(key) for key in ("datacenter", "alertname", "instance", "allocator", "type"))

    def wait_for(self, manager, wanted):
        """The alerts, once all that are expected fire: {(alert, type): alert}."""
        def ask():
            found = {(alert["labels"]["alertname"], alert["labels"].get("type")): alert for alert in manager.alerts()}
            return found if wanted <= set(found) else None
        return program.wait_until(ask, lambda: f"{wanted}, there are {[alert['labels'] for alert in manager.alerts()]}")

    def check_words(self, found):
        limit = found["MemstatLimitHit", "mbuf_cluster"]
        self.assertEqual({key: limit["labels"][key] for key in ("job", "instance", "allocator", "severity", "cause")},
                         {"job": "memstatd", "instance": "bsd1:8947", "allocator": "uma", "severity": "critical", "cause": "limit"})
        self.assertRegex(limit["annotations"]["description"],
                         r"^bsd1:8947: uma type mbuf_cluster is at its limit, and requests for more wait or fail(, .* a minute)?: \d+ of 2200\. `memstatctl limits`, on that host, names its setting\.$")
        self.assertEqual(limit["annotations"]["runbook_url"], "http://bsd1:8947/runbooks/MemstatLimitHit")
        self.assertEqual(limit["annotations"]["runbook_command"], "curl -s http://127.0.0.1:8947/runbooks/MemstatLimitHit")
        self.assertNotIn("dashboard_url", limit["annotations"])
        # Types that fail routinely or are full by design raise no alert: bucket zones, and preallocated buffers.
        types = {kind for _, kind in found if kind}
        self.assertEqual({kind for kind in types if kind.endswith("Bucket") or kind in ("pbuf", "vnpbuf")}, set())


if __name__ == "__main__":
    program.main()
