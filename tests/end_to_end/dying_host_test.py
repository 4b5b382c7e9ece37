#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: cuts recordings at many places
"""A Linux that dies after its kernel memory has grown for hours: memstatd shows it, Debian's Prometheus evaluates the shipped rules, all
problems are in the API of Debian's Alertmanager, and the shipped example of inhibition makes them one notification."""
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import alertmanager  # noqa: E402
import captures  # noqa: E402
import dying_capture  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
import shipped_rules  # noqa: E402

# Waits for late pages, because a missing one makes alerts start over.
CONFIG = """
global: {{scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 1s}}
rule_files: {rules}
alerting: {{alertmanagers: [{{static_configs: [{{targets: ["{alertmanager}"]}}]}}]}}
scrape_configs:
  - job_name: memstatd
    static_configs: [{{targets: ["{memstatd}"], labels: {{instance: "lin1:8947"}}}}]
"""
# What the dying host shows, by type where there is one.
DYING = {("MemstatMemoryVeryLow", None), ("MemstatMemoryLow", None), ("MemstatMemoryPressureHigh", None), ("MemstatMemoryPressure", None),
         ("MemstatZoneBelowMin", "node 0 DMA32"), ("MemstatCompactionFails", None), ("MemstatKernelShareHigh", None),
         ("MemstatKernelMemoryGoneInFourHours", None), ("MemstatKernelMemoryGoneInADay", None), ("MemstatCheckerBug", None), ("MemstatKernelOops", None), ("MemstatBadPage", None),
         ("MemstatMachineCheck", None), ("MemstatCorruptedMemory", None), ("MemstatNegativeDentries", None),
         ("MemstatSocketPressure", "TCP"), ("MemstatUserQuota", "keys")}
FINDING = "MemstatFinding"
NOT_NEWS = {"MemstatMemoryLow", "MemstatMemoryPressure", "MemstatMemoryPressureHigh", "MemstatZoneBelowMin", "MemstatCompactionFails", "MemstatKernelShareHigh",
            "MemstatKernelMemoryGoneInFourHours", "MemstatKernelMemoryGoneInADay", "MemstatNegativeDentries", "MemstatSocketPressure", "MemstatUserQuota"}


def write_history(directory):
    """Five hours in which the kernel of lin1 grew by 100 MiB: the recorded series, as blocks of Prometheus."""
    now = int(time.time())
    lines = [f'{name}{{job="memstatd",instance="lin1:8947"}} {(180 + 80 * (1 - back / 300)) * 2**20:.0f} {now - back * 60}\n'
             for name, step in (("instance:memstat_kernel_held_bytes:sum", 1), ("instance:memstat_kernel_held_bytes:median30m", 10))
             for back in range(300, 0, -step)]
    captures.write_file(os.path.join(directory, "history"), "".join(lines) + "# EOF\n")
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", os.path.join(directory, "history"), os.path.join(directory, "data")],
                   check=True, stdout=subprocess.DEVNULL, timeout=program.PATIENCE)


@alertmanager.needs_alertmanager
@prometheus_server.needs_prometheus
class DyingHost(unittest.TestCase):
    @prometheus_server.needs_promtool
    def test_a_host_that_dies_is_one_notification(self):
        with program.temporary_directory() as directory, alertmanager.Receiver() as receiver:
            rules = shipped_rules.write(directory, 0.2)
            capture = dying_capture.write(os.path.join(directory, "capture"))
            write_history(directory)
            # Every alert comes within the time that Alertmanager waits for the host's others.
            with alertmanager.Alertmanager(directory, alertmanager.example(receiver, "30s")) as manager, \
                    program.Daemon("--replay", capture, "--replay-speed", "10") as daemon:
                config = CONFIG.format(rules=rules, alertmanager=manager.address, memstatd=f"{daemon.host}:{daemon.port}")
                with prometheus_server.Prometheus(directory, None, config=config):
                    found = self.gathered(manager)
                    program.wait_until(lambda: any(name == "night" for name, _ in receiver.notifications), manager.log)
        # On a busy machine a page may be late, so that memstatd is missing for a moment. Findings repeat what the thresholds show.
        thresholds = {name for (name, _), alert in found.items() if alert["labels"]["cause"] != "daemon" and not name.startswith(FINDING)}
        self.assertEqual(thresholds, {name for name, _ in DYING})
        self.assertIn(FINDING + "Critical", {name for name, _ in found})
        self.assertRegex(found["MemstatMemoryVeryLow", None]["annotations"]["description"],
                         r"^lin1:8947: only 2% of the memory is available, of which the kernel itself holds [23]\d\d(\.\d+)?MiB\. Programs will be killed if this continues\.$")
        self.assertLessEqual(NOT_NEWS, {name for (name, _), alert in found.items() if alert["status"]["state"] == "suppressed"})
        sent = [(name, {labels["alertname"] for labels in alerts if labels["cause"] != "daemon"}) for name, alerts in receiver.notifications]
        # The findings keep back the thresholds that they repeat.
        self.assertEqual([(name, alerts) for name, alerts in sent if alerts], [("night", {FINDING + "Critical"})])

    def gathered(self, manager):
        """The alerts in the API once all of DYING were there: {(alert, type): its last state}."""
        found = {}

        def ask():
            found.update({(alert["labels"]["alertname"], alert["labels"].get("type")): alert for alert in manager.alerts()})
            waiting = {key for key, alert in found.items() if key[0] in NOT_NEWS and alert["status"]["state"] != "suppressed"}
            return DYING <= set(found) and not waiting
        program.wait_until(ask, lambda: f"{DYING - set(found)}; there are {sorted(map(str, found))}")
        return found


if __name__ == "__main__":
    program.main()
