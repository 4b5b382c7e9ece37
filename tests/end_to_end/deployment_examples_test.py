#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of dashboards/examples: what is in them for memstatd and Prometheus is taken by these, control groups of real container
runtimes get the labels of their pod and container, and files name what exists. Kubernetes, Alloy and the OpenTelemetry Collector are not in
Debian: of their own parts only the structure is looked at."""
import os
import re
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402

FOLDER = os.path.join(program.SOURCE_DIR, "dashboards", "examples")
UID, CONTAINER = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "ab" * 32
GROUPS = (  # systemd's and cgroupfs' names, by three runtimes
    f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice/cri-containerd-{CONTAINER}.scope",
    f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{UID.replace('-', '_')}.slice/crio-{CONTAINER}.scope",
    f"/kubepods/burstable/pod{UID}/{CONTAINER}",
)


def documents(*path):
    with open(os.path.join(FOLDER, *path), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


class Examples(unittest.TestCase):
    def test_the_configuration_of_the_daemon_set_is_taken_and_reaches_containers(self):
        config_map, daemon_set = documents("kubernetes", "daemonset.yaml")
        text = config_map["data"]["memstatd.yaml"]
        with program.temporary_folder() as folder:
            path = os.path.join(folder, "memstatd.yaml")
            captures.write_file(path, text)
            done = subprocess.run([program.MEMSTATD, "--check-config", "--config", path], capture_output=True, text=True,
                                  timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        depth = yaml.safe_load(text)["sources"]["linux_memcg"]["depth"]
        for group in GROUPS:
            self.assertLessEqual(group.count("/"), depth, group)
        spec = daemon_set["spec"]["template"]["spec"]
        self.assertEqual(daemon_set["spec"]["selector"]["matchLabels"], daemon_set["spec"]["template"]["metadata"]["labels"])
        self.assertEqual({mount["name"] for mount in spec["containers"][0]["volumeMounts"]}, {volume["name"] for volume in spec["volumes"]})

    def test_pods_and_containers_become_labels(self):
        endpoint = documents("kubernetes", "podmonitor.yaml")[0]["spec"]["podMetricsEndpoints"][0]
        for label in ("type", "group"):
            rules = [rule for rule in endpoint["metricRelabelings"] if rule["sourceLabels"] == [label]]
            for group in GROUPS:
                found = {}
                for rule in rules:
                    match = re.fullmatch(rule["regex"], group)
                    if match:
                        found[rule["targetLabel"]] = match.group(1).replace("_", "-")
                self.assertEqual(found, {"pod_uid": UID, "container_id": CONTAINER}, group)
            for other in ("/system.slice/sshd.service", "dentry", "/kubepods.slice"):
                self.assertFalse([rule for rule in rules if re.fullmatch(rule["regex"], other)], other)

    @prometheus_server.needs_promtool
    def test_promtool_takes_what_is_prometheus_in_them(self):
        collector = documents("otel-collector.yaml")[0]
        victoria = documents("victoriametrics.yml")[0]
        rules = documents("kubernetes", "prometheusrule.yaml")[0]
        with program.temporary_folder() as folder:
            for name, config, what in (("otel", collector["receivers"]["prometheus"]["config"], "config"), ("victoria", victoria, "config"),
                                       ("rules", {"groups": rules["spec"]["groups"]}, "rules")):
                path = os.path.join(folder, name + ".yml")
                captures.write_file(path, yaml.safe_dump(config))
                done = subprocess.run(["promtool", "check", what, path], capture_output=True, text=True, timeout=program.PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for pipeline in collector["service"]["pipelines"].values():
            for kind in ("receivers", "processors", "exporters"):
                self.assertLessEqual(set(pipeline[kind]), set(collector[kind]))

    def test_compose_runs_with_what_the_daemon_set_gives(self):
        service = documents("container", "compose.yaml")[0]["services"]["memstatd"]
        capabilities = documents("kubernetes", "daemonset.yaml")[1]["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]
        self.assertEqual((service["cap_drop"], service["cap_add"]), (capabilities["drop"], capabilities["add"]))

    def test_the_image_is_built_with_what_is_here(self):
        with open(os.path.join(FOLDER, "container", "Containerfile"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("daemon/run --build", text)
        self.assertTrue(os.access(os.path.join(program.SOURCE_DIR, "daemon", "run"), os.X_OK))
        self.assertEqual(text.count("\nFROM "), 2)


if __name__ == "__main__":
    program.main()
