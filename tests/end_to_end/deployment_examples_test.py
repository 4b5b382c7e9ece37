#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: runs each example of a deployment
"""The examples in dashboards/examples: memstatd and Prometheus accept their own parts, control groups of real container runtimes get the
labels of their pod and container and from these their names, and files name only what exists. Kubernetes objects are checked against the
schemas of Kubernetes and the Prometheus operator (from npm); VictoriaMetrics' own tools (Debian) check its example and the rules. Alloy
and the OpenTelemetry Collector are neither in Debian nor on npm: only the structure of their own parts is checked."""
import copy
import json
import os
import re
import shutil
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
import node_packages  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402

DIRECTORY = os.path.join(program.SOURCE_DIR, "dashboards", "examples")
UID, CONTAINER = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "ab" * 32
GROUPS = (  # systemd's and cgroupfs' names, by three runtimes
    f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice/cri-containerd-{CONTAINER}.scope",
    f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{UID.replace('-', '_')}.slice/crio-{CONTAINER}.scope",
    f"/kubepods/burstable/pod{UID}/{CONTAINER}",
)


def documents(*path):
    with open(os.path.join(DIRECTORY, *path), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


class Examples(unittest.TestCase):
    def test_the_configuration_of_the_daemon_set_is_taken_and_reaches_containers(self):
        _, config_map, daemon_set = documents("kubernetes", "daemonset.yaml")
        text = config_map["data"]["memstatd.yaml"]
        with program.temporary_directory() as directory:
            path = captures.write_file(os.path.join(directory, "memstatd.yaml"), text)
            done = subprocess.run([program.MEMSTATD, "--check-config", "--config", path], capture_output=True, text=True,
                                  timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for group in GROUPS:
            self.assertRegex(group, f'^({yaml.safe_load(text)["groups"]["names"]})$')
        spec = daemon_set["spec"]["template"]["spec"]
        self.assertEqual(daemon_set["spec"]["selector"]["matchLabels"], daemon_set["spec"]["template"]["metadata"]["labels"])
        self.assertEqual({mount["name"] for mount in spec["containers"][0]["volumeMounts"]}, {volume["name"] for volume in spec["volumes"]})

    def test_every_selector_matches_what_is_here(self):
        """Namespaces, labels and ports that the examples look for are those of the DaemonSet's pods, and the operator finds its objects."""
        namespace, _, daemon_set = documents("kubernetes", "daemonset.yaml")
        monitor, rules = documents("kubernetes", "podmonitor.yaml")[0], documents("kubernetes", "prometheusrule.yaml")[0]
        pod = daemon_set["spec"]["template"]
        self.assertEqual({item["metadata"]["namespace"] for item in documents("kubernetes", "daemonset.yaml")[1:] + [monitor, rules]}, {namespace["metadata"]["name"]})
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), pod["metadata"]["labels"].items())
        self.assertIn("memstat", pod["metadata"]["labels"][monitor["spec"]["jobLabel"]])  # the name of the job, which alerts use
        ports = {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
        self.assertLessEqual({endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]}, ports)
        self.assertEqual(monitor["metadata"]["labels"]["release"], rules["metadata"]["labels"]["release"])
        with open(os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "scrape", "kubernetes.yml"), encoding="utf-8") as file:
            scraped = yaml.safe_load(file)
        job = next(job for job in scraped["scrape_configs"] if job["job_name"] == "memstatd")
        found = job["kubernetes_sd_configs"][0]
        self.assertEqual(found["namespaces"]["names"], [namespace["metadata"]["name"]])
        for selector in found["selectors"]:
            name, _, value = selector["label"].partition("=")
            self.assertEqual(pod["metadata"]["labels"].get(name), value)
        self.assertTrue(scraped["alerting"]["alertmanagers"])
        # Without this, the namespace refuses the pod's requests; and pods are replaced a few nodes at a time.
        self.assertEqual(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged")
        self.assertTrue(pod["spec"]["hostNetwork"] and pod["spec"]["hostPID"] and pod["spec"]["hostIPC"] and pod["spec"]["priorityClassName"])
        self.assertIn("maxUnavailable", daemon_set["spec"]["updateStrategy"]["rollingUpdate"])
        dropped = [rule["regex"] for endpoint in monitor["spec"]["podMetricsEndpoints"] for rule in endpoint["relabelings"] if rule.get("action") == "labeldrop"]
        self.assertTrue(any(re.fullmatch(expression, "pod") and re.fullmatch(expression, "container") for expression in dropped))

    def test_pods_and_containers_become_labels(self):
        endpoint = documents("kubernetes", "podmonitor.yaml")[0]["spec"]["podMetricsEndpoints"][0]
        for label in ("type", "group"):
            rules = [rule for rule in endpoint["metricRelabelings"] if rule["sourceLabels"] == [label]]
            for group in GROUPS:
                found = {}
                for rule in rules:
                    match = re.fullmatch(rule["regex"], group)
                    if match:
                        found[rule["targetLabel"]] = match.expand(re.sub(r"\$(\d)", r"\\\1", rule.get("replacement", "$1")))
                self.assertEqual(found, {"pod_uid": UID, "container_id": CONTAINER}, group)
            for other in ("/system.slice/sshd.service", "dentry", "/kubepods.slice"):
                self.assertFalse([rule for rule in rules if re.fullmatch(rule["regex"], other)], other)

    @prometheus_server.needs_promtool
    def test_promtool_takes_what_is_prometheus_in_them(self):
        collector = documents("otel-collector.yaml")[0]
        victoria = documents("victoriametrics.yml")[0]
        rules = documents("kubernetes", "prometheusrule.yaml")[0]
        with program.temporary_directory() as directory:
            for name, config, what in (("otel", collector["receivers"]["prometheus"]["config"], "config"), ("victoria", victoria, "config"),
                                       ("rules", {"groups": rules["spec"]["groups"]}, "rules")):
                path = captures.write_file(os.path.join(directory, name + ".yml"), yaml.safe_dump(config))
                done = subprocess.run(["promtool", "check", what, path], capture_output=True, text=True, timeout=program.PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for pipeline in collector["service"]["pipelines"].values():
            for kind in ("receivers", "processors", "exporters"):
                self.assertLessEqual(set(pipeline[kind]), set(collector[kind]))

    def test_pods_and_containers_get_names(self):
        """From kube-state-metrics, which identifies pods by UID and containers by runtime and ID."""
        groups = {group["name"]: group for group in documents("kubernetes", "prometheusrule.yaml")[0]["spec"]["groups"]}
        group = groups["memstat-kubernetes"]
        alert = next(rule for rule in groups["memstat-groups"]["rules"] if rule["alert"] == "MemstatControlGroupKernelMemory")
        alert = {**alert, "for": "0m", "annotations": {"description": alert["annotations"]["description"]}}
        pod, container = GROUPS[0].rpartition("/")[0], GROUPS[0]
        series = [(f'memstat_type_bytes{{allocator="memcg",type="{pod}",pod_uid="{UID}",job="memstatd",instance="n1"}}', 300),
                  (f'memstat_type_bytes{{allocator="memcg",type="{container}",pod_uid="{UID}",container_id="{CONTAINER}",job="memstatd",instance="n1"}}', 200),
                  ('memstat_type_bytes{allocator="memcg",type="/system.slice",job="memstatd",instance="n1"}', 900),
                  (f'memstat_memcg_kernel_bytes{{group="{pod}",pod_uid="{UID}",job="memstatd",instance="n1"}}', 30),
                  (f'memstat_memcg_kernel_bytes{{group="{container}",pod_uid="{UID}",container_id="{CONTAINER}",job="memstatd",instance="n1"}}', 20),
                  (f'memstat_type_limit_bytes{{allocator="memcg",type="{container}",job="memstatd",instance="n1"}}', 25),
                  # Two instances of kube-state-metrics have the same series.
                  *((f'kube_pod_info{{uid="{UID}",namespace="shop",pod="cart-7d9",node="n1",instance="{ksm}"}}', 1) for ksm in ("k1", "k2")),
                  (f'kube_pod_container_info{{uid="{UID}",namespace="shop",pod="cart-7d9",container="app",container_id="containerd://{CONTAINER}",instance="k1"}}', 1)]
        names = 'instance="n1",job="memstatd",namespace="shop",pod="cart-7d9"'
        expected = {f'namespace_pod:memstat_type_bytes:max{{{names},type="{pod}"}}': 300,
                    f'namespace_pod:memstat_memcg_kernel_bytes:max{{{names},group="{pod}"}}': 30,
                    f'namespace_pod_container:memstat_type_bytes:max{{{names},container="app",type="{container}"}}': 200,
                    f'namespace_pod_container:memstat_memcg_kernel_bytes:max{{{names},container="app",group="{container}"}}': 20}
        test = {"rule_files": ["rules.yml"], "tests": [{
            "input_series": [{"series": name, "values": f"{value}x5"} for name, value in series],
            "promql_expr_test": [{"expr": name.partition("{")[0], "eval_time": "3m", "exp_samples": [{"labels": name, "value": value}]}
                                 for name, value in expected.items()],
            "alert_rule_test": [{"alertname": alert["alert"], "eval_time": "3m", "exp_alerts": [{
                "exp_labels": {"job": "memstatd", "instance": "n1", "group": container, "pod_uid": UID, "container_id": CONTAINER, **alert["labels"]},
                "exp_annotations": {"description": f"n1: 80% of the limit of control group {container} (container app of pod shop/cart-7d9) is memory that the "
                                    "kernel uses for it (slab, page tables, sockets), which sizes of its programs do not show."}}]}]}]}
        self.assertEqual({rule["record"] for rule in group["rules"]}, {name.partition("{")[0] for name in expected})
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (Debian package prometheus)")
        with program.temporary_directory() as directory:
            captures.write_file(os.path.join(directory, "rules.yml"), yaml.safe_dump({"groups": [group, {"name": "alert", "rules": [alert]}]}))
            captures.write_file(os.path.join(directory, "test.yml"), yaml.safe_dump(test))
            done = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=directory, capture_output=True, text=True, timeout=2 * program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_objects_keep_the_schemas_of_kubernetes(self):
        objects = [found for name in ("daemonset", "podmonitor", "prometheusrule") for found in documents("kubernetes", name + ".yaml")]
        self.assertEqual([found["kind"] for found in objects], ["Namespace", "ConfigMap", "DaemonSet", "PodMonitor", "PrometheusRule"])
        directory = node_packages.installed("kubernetes")

        def complaints(found):
            done = subprocess.run(["node", "validate.mjs"], cwd=directory, input=json.dumps(found), capture_output=True, text=True, timeout=2 * program.PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        self.assertEqual(complaints(objects), "")
        spoiled = copy.deepcopy(objects)
        spoiled[2]["spec"]["template"]["spec"]["containers"][0]["image"] = 3
        spoiled[3]["spec"]["podMetricsEndpoints"][0]["interval"] = "often"
        del spoiled[4]["spec"]["groups"][0]["rules"][0]["expr"]
        self.assertRegex(complaints(spoiled), "(?s)DaemonSet memstatd: .*image.*PodMonitor memstatd: .*interval.*PrometheusRule memstatd: .*expr")

    @unittest.skipUnless(shutil.which("vmagent") and shutil.which("vmalert"), "vmagent and vmalert are not installed (Debian package victoria-metrics)")
    def test_victoria_metrics_takes_its_example_and_the_rules(self):
        rules = [os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", name) for name in ("recording_rules.yml", "alerts.yml")]
        with program.temporary_directory() as directory:
            for command in (["vmagent", "-dryRun", "-promscrape.config=" + os.path.join(DIRECTORY, "victoriametrics.yml"), "-remoteWrite.url=http://127.0.0.1:1",
                             "-remoteWrite.tmpDataPath=" + directory], ["vmalert", "-dryRun", *("-rule=" + path for path in rules)]):
                done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=2 * program.PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    program.main()
