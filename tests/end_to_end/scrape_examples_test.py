#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples in dashboards/prometheus/scrape: promtool accepts them, and Prometheus creates the expected targets.
fleet_test.py runs the one for agents."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402

DASHBOARDS = os.path.join(program.SOURCE_DIR, "dashboards")
DIRECTORY = os.path.join(DASHBOARDS, "prometheus", "scrape")
INSTALLED = "/usr/share/memstatd/dashboards"
# Debian's Prometheus is built without Kubernetes; these labels replace what it would discover there.
DISCOVERED = """static_configs:
      - targets: ["10.0.0.7:8080"]
        labels: {__meta_kubernetes_pod_phase: Running, __meta_kubernetes_pod_container_init: "false",
                 __meta_kubernetes_pod_ip: 10.0.0.7, __meta_kubernetes_pod_node_name: node7}
      - targets: ["10.0.0.7:9999"]
        labels: {__meta_kubernetes_pod_phase: Running, __meta_kubernetes_pod_container_init: "false",
                 __meta_kubernetes_pod_ip: 10.0.0.7, __meta_kubernetes_pod_node_name: node7}
      - targets: ["10.0.0.8:8080"]
        labels: {__meta_kubernetes_pod_phase: Failed, __meta_kubernetes_pod_container_init: "false",
                 __meta_kubernetes_pod_ip: 10.0.0.8, __meta_kubernetes_pod_node_name: node8}
      - targets: ["10.0.0.9:8080"]
        labels: {__meta_kubernetes_pod_phase: Running, __meta_kubernetes_pod_container_init: "true",
                 __meta_kubernetes_pod_ip: 10.0.0.9, __meta_kubernetes_pod_node_name: node9}
"""


def example(name):
    """An example as used, with the rules of this tree and without Kubernetes."""
    with open(os.path.join(DIRECTORY, name), encoding="utf-8") as file:
        text = file.read().replace(INSTALLED, DASHBOARDS)
    text, count = re.subn(r"kubernetes_sd_configs:\n(?: {6}.*\n)+", DISCOVERED, text)
    return text, count


class Examples(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())

    def write(self, name):
        text, _ = example(name)
        return captures.write_file(os.path.join(self.directory, name), text)

    @prometheus_server.needs_promtool
    def test_promtool_takes_them(self):
        names = sorted(name for name in os.listdir(DIRECTORY) if name.endswith(".yml"))
        self.assertEqual(names, ["agent.yml", "file_discovery.yml", "kubernetes.yml", "static.yml"])
        shutil.copytree(os.path.join(DIRECTORY, "targets"), os.path.join(self.directory, "targets"))
        for name in names:
            options = ["--agent"] if name == "agent.yml" else []
            done = subprocess.run(["promtool", "check", "config", *options, self.write(name)], capture_output=True, text=True,
                                  timeout=program.PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            if name != "agent.yml":
                self.assertRegex(done.stdout, r"\b[1-9]\d* rules found")

    def targets(self, name):
        """{instance: scraped address} of the targets that Prometheus makes of an example."""
        # Through a proxy that does not exist, so that no name is looked up and no server is contacted.
        config = example(name)[0].replace("job_name: memstatd\n", "job_name: memstatd\n    proxy_url: http://127.0.0.1:9\n", 1)
        self.assertIn("proxy_url", config)
        with prometheus_server.Prometheus(self.directory, None, config=config) as server:
            found = program.wait_until(lambda: [target for target in server.api("targets", state="active")["activeTargets"] if target["labels"]["job"] == "memstatd"],
                                       "targets")
        return {target["labels"]["instance"]: target["scrapeUrl"] for target in found}, found

    def add(self, *arguments):
        return subprocess.run(["sh", os.path.join(DASHBOARDS, "prometheus", "add_to_prometheus.sh"), *arguments], cwd=self.directory, capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)

    def lines_added(self, text):
        """Adds to a configuration with this text and returns (added lines, missing lines)."""
        path = captures.write_file(os.path.join(self.directory, "prometheus.yml"), text)
        script = os.path.join(self.directory, "add.sh")
        with open(os.path.join(DASHBOARDS, "prometheus", "add_to_prometheus.sh"), encoding="utf-8") as file:
            captures.write_file(script, file.read().replace(INSTALLED, DASHBOARDS))
        done = subprocess.run(["sh", script, "prometheus.yml"], cwd=self.directory, capture_output=True, text=True, timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            after = file.read().splitlines()
        before = text.splitlines()
        self.assertEqual([line for line in after if line in before], before)
        with open(path + ".before-memstatd", encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        os.remove(path + ".before-memstatd")
        return [line for line in after if line not in before]

    @prometheus_server.needs_promtool
    def test_a_configuration_that_is_there_gets_the_job_and_keeps_all(self):
        """Debian's own, one with other indentation, and one without rules; a second run changes nothing."""
        debian = ("global:\n  scrape_interval: 15s # each\nalerting:\n  alertmanagers:\n  - static_configs:\n    - targets: ['localhost:9093']\n\nrule_files:\n"
                  "  # - \"first_rules.yml\"\n\nscrape_configs:\n  # The job name\n  - job_name: 'prometheus'\n    static_configs:\n      - targets: ['localhost:9090']\n")
        flat = "scrape_configs:\n- job_name: node\n  static_configs:\n  - targets: [a]\nrule_files:\n- mine.yml\n"
        captures.write_file(os.path.join(self.directory, "mine.yml"), "groups: []\n")
        for text in (debian, flat, "global: {}\n"):
            added = "\n".join(self.lines_added(text))
            self.assertIn("- job_name: memstatd", added)
            self.assertIn("/alerts.yml", added)
        path = os.path.join(self.directory, "prometheus.yml")
        with open(path, encoding="utf-8") as file:
            before = file.read()
        done = self.add("prometheus.yml")
        with open(path, encoding="utf-8") as file:
            self.assertEqual((done.returncode, file.read()), (0, before))
        # Hosts that were added stay.
        with open(os.path.join(self.directory, "memstatd-targets.yml"), encoding="utf-8") as file:
            self.assertIn("127.0.0.1:8947", file.read())

    @prometheus_server.needs_promtool
    def test_every_example_and_the_script_limit_and_drop_the_same(self):
        added = self.lines_added("global: {}\n")
        configs = {"the script": yaml.safe_load("\n".join(added))}
        for name in os.listdir(DIRECTORY):
            if name.endswith(".yml"):
                configs[name] = yaml.safe_load(example(name)[0])
        kept = {}
        for name, config in configs.items():
            job = next(job for job in config["scrape_configs"] if job["job_name"] == "memstatd")
            drops = [rule for rule in job["metric_relabel_configs"] if rule["source_labels"] == ["__name__"]]
            kept[name] = {"interval": job.get("scrape_interval") or config["global"]["scrape_interval"], "drops": drops,
                          **{key: job[key] for key in ("sample_limit", "label_limit", "body_size_limit")}}
        self.assertEqual(len(kept), 5)
        for name, limits in kept.items():
            self.assertEqual(limits, kept["static.yml"], name)
        self.assertEqual(len(kept["static.yml"]["drops"]), 1)

    @prometheus_server.needs_promtool
    def test_a_configuration_that_it_does_not_understand_stays(self):
        path = os.path.join(self.directory, "prometheus.yml")
        for text in ("rule_files: [a.yml]\nscrape_configs: []\n", "nonsense: 1\n"):
            captures.write_file(path, text)
            done = self.add("prometheus.yml")
            with open(path, encoding="utf-8") as file:
                self.assertEqual((done.returncode, file.read()), (1, text))
            self.assertIn("stays as it was", done.stderr)
            self.assertEqual(os.listdir(self.directory), ["prometheus.yml"])
        self.assertEqual(self.add("/nowhere/prometheus.yml").returncode, 1)

    @prometheus_server.needs_prometheus
    def test_kubernetes_calls_hosts_by_their_node(self):
        self.assertEqual(example("kubernetes.yml")[1], 1)
        found, _ = self.targets("kubernetes.yml")
        self.assertEqual(found, {"node7": "http://10.0.0.7:8947/metrics"})

    @prometheus_server.needs_prometheus
    def test_files_name_hosts_with_or_without_port(self):
        shutil.copytree(os.path.join(DIRECTORY, "targets"), os.path.join(self.directory, "targets"))
        found, targets = self.targets("file_discovery.yml")
        self.assertEqual(found, {"web1.example": "http://web1.example:8947/metrics", "web2.example": "http://web2.example:8947/metrics",
                                 "db1.example": "http://db1.example:9947/metrics"})
        self.assertEqual({target["labels"]["site"] for target in targets}, {"north", "south"})


if __name__ == "__main__":
    program.main()
