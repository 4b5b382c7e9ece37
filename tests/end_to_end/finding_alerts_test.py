#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The causes that the mixin knows are those of the program: each is in mixin/causes.libsonnet, and a finding keeps back the threshold alert
that the program names as its runbook. No inhibition crosses the labels of a cluster."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import program  # noqa: E402
from ctl import cause_names, run  # noqa: E402

# Causes whose object is not what the threshold alert of their runbook is about, so they cannot repeat it.
OF_ANOTHER_OBJECT = {"accept_queue_full", "file_leak", "huge_pages_short", "memory_error", "no_victim", "process_threads_full", "shared_memory_growth",
                     "syn_cache_full", "syn_cache_no_memory", "victim_stuck"}
CATEGORIES = {"memory", "integrity", "limit", "growth", "group"}
# No cause is about these: limits that the user of memstatd made up.
WITHOUT_CAUSE = {"MemstatConfiguredLimitExceeded"}


def evaluated(expression):
    done = subprocess.run(["jsonnet", "-J", os.path.join(program.SOURCE_DIR, "dashboards"), "-e", expression], check=True, capture_output=True, text=True, timeout=program.PATIENCE)
    return json.loads(done.stdout)


def causes_of_program():
    """{cause: the alert of its runbook, or ""}."""
    explanations = lambda name: json.loads(run("explain", name, "--json").stdout)["explanations"]  # noqa: E731
    explained = {name: next(one for one in explanations(name) if one["kind"] == "cause") for name in cause_names()}
    return {name: "".join(re.findall("see explain (Memstat.*)", one.get("growth", ""))) for name, one in explained.items()}


def problems(known, table, severities):
    """`known`: causes_of_program(); `table`: causes.libsonnet; `severities`: {alert: (category, severity)}."""
    named = {cause for causes in table["kinds"].values() for cause in causes}
    yield from (f"causes.libsonnet has no {cause}" for cause in sorted(set(known) - named))
    yield from (f"there is no cause {cause}" for cause in sorted((named | set(table["wakes"])) - set(known)))
    repeated = {}
    for one in table["repeated"]:
        for alert in one["alerts"]:
            repeated.setdefault(alert, set()).update(one["causes"])
    for alert, (category, _) in severities.items():
        if (category in CATEGORIES) != (alert in repeated) and alert not in WITHOUT_CAUSE:
            yield f"{alert}: whether a finding repeats it is not as its category says"
    yield from (f"there is no alert {alert}" for alert in sorted(set(repeated) - set(severities)))
    for cause, alert in known.items():
        if alert in repeated and cause not in repeated[alert] | set(table["kinds"]["alone"]) | OF_ANOTHER_OBJECT:
            yield f"{cause}: its runbook is {alert}, which it does not keep back"
    yield from (f"{cause} keeps nothing back, so it is one of `alone`" for cause in sorted(named - set().union(*repeated.values()) - set(table["kinds"]["alone"])))


@unittest.skipUnless(shutil.which("jsonnet"), "jsonnet is not installed")
class Causes(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.table = evaluated("import 'mixin/causes.libsonnet'")
        with open(os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "alerts.yml"), encoding="utf-8") as file:
            rules = [rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"] if "alert" in rule]
        cls.severities = {rule["alert"]: (rule["labels"].get("cause", "finding"), rule["labels"]["severity"]) for rule in rules}

    def test_they_are_those_of_the_program(self):
        self.assertEqual(list(problems(causes_of_program(), self.table, self.severities)), [])

    def test_each_kind_of_mistake_is_found(self):
        table = {"kinds": {"a": ["known", "gone"], "alone": []}, "wakes": [], "repeated": [{"alerts": ["MemstatOther", "MemstatB"], "causes": ["gone"]}]}
        found = "\n".join(problems({"known": "MemstatB", "new": ""}, table, {"MemstatA": ("limit", "warning"), "MemstatB": ("limit", "warning")}))
        for words in ("has no new", "no cause gone", "MemstatA: whether", "no alert MemstatOther", "does not keep back", "known keeps nothing back"):
            self.assertIn(words, found)

    def test_no_inhibition_crosses_the_labels_of_a_cluster(self):
        for labels in (["cluster", "site"], ["datacenter"], []):
            text = evaluated(f"((import 'mixin/mixin.libsonnet') + {{ _config+:: {{ clusterLabels: {labels} }} }}).alertmanagerConfig")
            rules = yaml.safe_load(text)["inhibit_rules"]
            self.assertGreater(len(rules), 30)
            for rule in rules:
                self.assertEqual(rule["equal"][:len(labels) + 1], [*labels, "job"], rule)

    def test_a_finding_keeps_back_nothing_more_severe(self):
        """Unless it is about a kill, and knows that the machine had memory left."""
        rank = {"critical": 0, "warning": 1, "info": 2}
        with open(os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "alertmanager.yml"), encoding="utf-8") as file:
            rules = yaml.safe_load(file)["inhibit_rules"]
        tried = 0
        for rule in rules:
            source, target = (" ".join(rule[f"{side}_matchers"]) for side in ("source", "target"))
            for finding in re.findall(r"MemstatFinding\w+", source):
                for alert in re.findall(r"Memstat\w+", target):
                    tried += 1
                    if alert != "MemstatOutOfMemoryKill" or "kill_requested" not in source:
                        self.assertLessEqual(rank[self.severities[finding][1]], rank[self.severities[alert][1]], rule)
        self.assertGreater(tried, 60)


if __name__ == "__main__":
    program.main()
