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

    @unittest.skipUnless(shutil.which("jsonnet"), "jsonnet is not installed")
    def test_hosts_that_are_down_in_one_datacenter_hide_none_of_another(self):
        program_text = "((import 'mixin/mixin.libsonnet') + {{ _config+:: {{ clusterLabels: {} }} }}).alertmanagerConfig"
        for labels, hidden in (("['datacenter']", {"a": True, "b": False}), ("['cluster', 'site']", {"a": True, "b": True})):
            text = subprocess.run(["jsonnet", "-S", "-J", os.path.join(program.SOURCE_DIR, "dashboards"), "-e", program_text.format(labels)],
                                  check=True, capture_output=True, text=True, timeout=program.PATIENCE).stdout
            with program.temporary_directory() as directory, alertmanager.Alertmanager(directory, text) as manager:
                of_job = {"job": "memstatd", "datacenter": "a"}
                manager.post([{"alertname": "MemstatManyHostsDown", **of_job}, *({"alertname": "MemstatDaemonMissing", **of_job, "datacenter": name, "instance": name} for name in "ab")])
                def inhibited(manager=manager):
                    return {alert["labels"]["instance"]: bool(alert["status"]["inhibitedBy"]) for alert in manager.alerts() if "instance" in alert["labels"]}
                program.wait_until(lambda inhibited=inhibited, hidden=hidden: inhibited() == hidden, lambda inhibited=inhibited: f"{labels}: {inhibited()}")

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
                         r"^bsd1:8947: uma type mbuf_cluster is at its limit, and requests for more wait or fail(, .* a minute)?\.$")
        self.assertEqual(limit["annotations"]["runbook_url"], "http://bsd1:8947/runbooks/MemstatLimitHit")
        self.assertEqual(limit["annotations"]["runbook_command"], "curl -s http://127.0.0.1:8947/runbooks/MemstatLimitHit")
        self.assertNotIn("dashboard_url", limit["annotations"])
        # Types that fail routinely or are full by design raise no alert: bucket zones, and preallocated buffers.
        types = {kind for _, kind in found if kind}
        self.assertEqual({kind for kind in types if kind.endswith("Bucket") or kind in ("pbuf", "vnpbuf")}, set())


if __name__ == "__main__":
    program.main()
