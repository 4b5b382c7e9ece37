#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: a real Prometheus over duplicated targets
"""Two hosts with every problem are scraped twice or more, under each label that a shipped example can add, as happens while pods are
replaced. A real Prometheus evaluates the shipped rules: none fails, and every alert fires once for each of the hosts."""
import collections
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import program  # noqa: E402
import prometheus_server  # noqa: E402
import shipped_rules  # noqa: E402
import troubled_hosts  # noqa: E402

DASHBOARDS = os.path.join(program.SOURCE_DIR, "dashboards")
# What the Prometheus operator adds to targets of a PodMonitor or ServiceMonitor by itself.
OPERATOR = {"pod", "container", "endpoint", "namespace", "service", "node"}
HOST = {"cluster", "site", "job", "instance"}  # other hosts, if these differ


def labels_of_examples():
    """Labels that the examples add to targets, except those of a host and those made from metrics."""
    found = set(OPERATOR)
    for directory in ("examples", os.path.join("prometheus", "scrape")):
        for where, _, names in os.walk(os.path.join(DASHBOARDS, directory)):
            for name in names:
                with open(os.path.join(where, name), encoding="utf-8") as file:
                    text = re.sub(r"(?m)^( *)metric(R|_r)elabel.*\n(\1 +.*\n)*", "", file.read())
                found |= set(re.findall(r"target_?[lL]abel: (\w+)", text))
                for part in re.findall(r'labels"?[:=] *\{([^}]*)\}', text) if "prometheusrule" not in name else []:
                    found |= set(re.findall(r'"?([a-z_]+)"?[:=]', part))
    return sorted(label for label in found - HOST if not label.startswith("__"))


def config(rules, address):
    own = [{}] + [{label: "second"} for label in labels_of_examples()]
    down = [{"instance": f"down{number}", **labels} for number in range(3) for labels in ({}, {"pod": "second"})]
    answering = [{"instance": host, **labels} for host in troubled_hosts.HOSTS for labels in own]
    answering += [{"instance": "stuck", "__metrics_path__": "/stuck", **labels} for labels in ({}, {"pod": "second"})]
    # A parameter makes targets of one address different; memstatd ignores it.
    targets = [{"targets": [where], "labels": {**labels, "__param_n": str(number)}}
               for where, sets in ((address, answering), ("127.0.0.1:1", down)) for number, labels in enumerate(sets)]
    return yaml.safe_dump({"global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}, "rule_files": rules,
                           "scrape_configs": [{"job_name": "memstatd", "static_configs": targets}]})


@prometheus_server.needs_promtool
@prometheus_server.needs_prometheus
class ScrapedTwice(unittest.TestCase):
    def test_every_alert_fires_once_for_each_host(self):
        self.assertLessEqual({"pod", "namespace"}, set(labels_of_examples()))
        with program.temporary_directory() as directory, troubled_hosts.served() as page:
            rules = shipped_rules.write(directory, 0.05)
            with open(rules[1], encoding="utf-8") as file:
                names = {rule["alert"] for group in yaml.safe_load(file)["groups"] for rule in group["rules"] if "alert" in rule}
            troubled_hosts.write_history(directory, ["", *(f'{label}="second"' for label in labels_of_examples())])
            wanted = {(name, host) for name in names - troubled_hosts.OF_OTHERS for host in troubled_hosts.HOSTS}
            wanted |= {("MemstatWatchdog", None), ("MemstatJobAbsent", None), ("MemstatManyHostsDown", None), ("MemstatHostVanished", "vanished"), ("MemstatHostVanished", "lost"), ("MemstatPollStuck", "stuck")}
            wanted |= {("MemstatDaemonMissing", f"down{number}") for number in range(3)}
            with prometheus_server.Prometheus(directory, None, config=config(rules, page.address)) as server:
                self.fire(server, wanted)
                failures = re.findall(r'^prometheus_rule_evaluation_failures_total\{.*;(.*)"\} ([1-9]\S*)$', server.get("/metrics").decode(), re.MULTILINE)
                self.assertEqual(failures, [], server.log())

    def fire(self, server, wanted):
        def ask():
            self.found = collections.Counter((labels["alertname"], labels.get("instance")) for labels, _ in server.query('ALERTS{alertstate="firing"}'))
            return set(self.found) == wanted
        # If a busy machine answers a scrape too late, the host is missing for a moment.
        program.wait_until(ask, lambda: f"{sorted(map(str, wanted - set(self.found)))}, and not {sorted(map(str, set(self.found) - wanted))}; {server.log()}")
        # Each alert is about one thing of that host, except these, which are about several.
        several = {"MemstatLimitHit", "MemstatNearLimit", "MemstatLeakFast", "MemstatLeakSuspected", "MemstatControlGroupKernelGrowth", "MemstatAllocationFailures"}
        self.assertEqual({key: count for key, count in self.found.items() if count > 1 and key[0] not in several}, {})
        twice = server.query('count by (alertname, instance, type, group, source, kind, checker) (ALERTS{alertstate="firing"}) > 1')
        self.assertEqual(twice, [])


if __name__ == "__main__":
    program.main()
