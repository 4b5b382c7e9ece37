#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: computes all rules of a day in a real Prometheus
"""No rule fails through labels: PromQL fails for all hosts if two series of one have the same labels where they are joined. A real Prometheus
has hosts of every captured kernel, tier and limit of series, with siblings, duplicates, other jobs, other labels of targets, without some
labels or metrics, with values that are not numbers, and of another version. Each rule is computed, at its interval."""
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
try:
    import yaml  # noqa: F401  # the rules are read with it
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import captures  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
import rule_clock  # noqa: E402

SEED = 20261128
START = 1_800_000_000
DAY = 86400
SERIES = re.compile(r'^(memstat_\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
KERNELS = ("linux-6.18-container", "linux-7.2-2cpu-2nodes-pools", "linux-5.10-2cpu", "linux-6.18-cgroup-v1", "freebsd-15.0-amd64-2cpu-limits")
POD = "/kubepods.slice/kubepods-pod4b9f.slice"


def page(kernel, *options):
    """[(metric, labels, value)] of a memstatd on that kernel."""
    text = program.run("--once", "--replay", captures.fixtures()[kernel], *options).stdout.decode()
    return [(match.group(1), dict(LABEL.findall(match.group(2) or "")), float(match.group(3))) for match in map(SERIES.match, text.splitlines()) if match]


def pod(page_of_host, with_ids):
    """With two containers of a pod, and the pod's own group, at their limits."""
    added = []
    for name, ids in (("", {}), ("/cri-1.scope", {"container_id": "1"}), ("/cri-2.scope", {"container_id": "2"})):
        labels = {"pod_uid": "4b9f", **ids} if with_ids else {}
        for metric, key in (("type_failures_total", "type"), ("type_limit_hits_total", "type"), ("type_bytes", "type"), ("type_limit_bytes", "type"),
                            ("memcg_kernel_bytes", "group"), ("memcg_anonymous_bytes", "group"), ("memcg_tasks", "group"), ("memcg_tasks_limit", "group")):
            added.append((f"memstat_{metric}", {**({"allocator": "memcg"} if key == "type" else {}), key: POD + name, **labels}, 1e6))
    return page_of_host + added


class Hosts:
    """The series of all hosts; counters and sizes grow with time."""

    def __init__(self):
        self.random = random.Random(SEED)
        self.series = {}
        pages = [page(kernel) for kernel in KERNELS]
        pages += [page(KERNELS[0], "--tier", tier) for tier in ("minimal", "full")]
        with program.temporary_directory() as directory:
            for limit in (100, 400):
                captures.write_file(os.path.join(directory, "few.yaml"), f"series_limit: {limit}\n")
                pages.append(page(KERNELS[1], "--config", os.path.join(directory, "few.yaml")))
        for number, one in enumerate(pages):
            self.add(one, instance=f"plain{number}:8947")
        for with_ids in (True, False):
            self.add(pod(pages[0], with_ids), instance=f"pod{with_ids}:8947")
        for second in ({"pod": "a"}, {"pod": "b"}, {"node": "n1"}, {"job": "node-memstat"}, {"datacenter": "a"}, {"datacenter": "b"}, {"cluster": "c"}, {"severity": "x"}):
            self.add(pod(pages[0], True), instance="same:8947", **second)
        labels = sorted({label for one in pages for _, own, _ in one for label in own})
        for label in labels:
            self.add([(metric, {key: value for key, value in own.items() if key != label}, number) for metric, own, number in pages[0] + pages[-3]],
                     instance=f"without-{label}:8947")
        metrics = sorted({metric for one in pages for metric, _, _ in one})
        for number in range(6):
            kept = set(self.random.sample(metrics, len(metrics) // 2))
            self.add([series for series in pages[number % len(KERNELS)] if series[0] in kept], instance=f"half{number}:8947")
        self.add([(metric, own, float("nan")) for metric, own, _ in pages[0]], instance="nan:8947")
        self.add([(metric, {**own, "new": "label"}, number) for metric, own, number in pages[0]], instance="newer:8947")
        self.add(pages[0], instance="newer:8947")

    def add(self, page_of_host, **target):
        for metric, own, value in page_of_host + [("up", {}, 1)]:
            labels = {"job": "memstatd", **own, **target, "__name__": metric}
            self.series[tuple(sorted((key, text) for key, text in labels.items() if text))] = value

    def at(self, now):
        grown = 1 + (now - START) / 3600
        return {labels: value * grown + (1e6 * grown if dict(labels)["__name__"].endswith("_total") else 0) for labels, value in self.series.items()}


@prometheus_server.needs_prometheus
class RuleLabels(unittest.TestCase):
    maxDiff = None

    def compute(self, groups):
        """The rules that fail."""
        hosts, failed = Hosts(), {}

        class Clock(rule_clock.RuleClock):
            def compute(self, number, group, now):
                for rule in group["rules"]:
                    try:
                        super().compute((number, rule.get("record") or rule["alert"]), {**group, "rules": [rule]}, now)
                    except AssertionError as error:
                        failed[rule.get("record") or rule["alert"]] = str(error)
        with program.temporary_directory() as directory:
            clock = Clock(directory, groups, hosts.at, {}, scrape_interval=240)
            try:
                clock.run(START, START + 2400)
                clock.run(START + DAY - 1200, START + DAY + 1260)
            finally:
                clock.stop()
        return failed

    def test_every_rule_is_computed_whatever_the_labels(self):
        self.assertEqual(self.compute(rule_clock.shipped_groups()), {})

    def test_a_label_that_is_replaced_before_series_are_merged_is_found(self):
        rule = {"alert": "MemstatOld", "labels": {}, "for": "0m",
                "expr": 'max by (instance, type) (label_replace(memstat_type_failures_total{allocator="memcg"}, "type", "$1", "type", "(.*kubepods.*[/-]pod[^/]+)/.+"))'}
        self.assertIn("same labelset", self.compute([{"name": "old", "interval": "10m", "rules": [rule]}])["MemstatOld"])


if __name__ == "__main__":
    program.main()
