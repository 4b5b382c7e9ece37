# SPDX-License-Identifier: BSD-2-Clause
"""A FreeBSD and a Linux in trouble, replayed by memstatd in a loop and scraped by a real Prometheus that evaluates the shipped rules, for
tests of the dashboards."""
import contextlib
import os

import captures
import edited_capture
import program
import prometheus_server
import shipped_rules

MEMSTATD = """
poll: {interval: 1s}
per_cpu: {allocators: [uma, malloc, page], types: [".*"]}
sources: {linux_vmalloc: {interval: 1s}, linux_allocinfo: {enabled: auto}}
limits: [{allocator: slab, type: kmalloc-1k, bytes: 4MiB}]
"""
PROMETHEUS = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: {rules}
scrape_configs:
  - job_name: memstatd
    static_configs:
      - {{targets: ["{freebsd}"], labels: {{instance: FreeBSD}}}}
      - {{targets: ["{linux}"], labels: {{instance: Linux}}}}
  - job_name: memstatd-percpu
    metrics_path: /metrics/percpu
    static_configs:
      - {{targets: ["{freebsd}"], labels: {{instance: FreeBSD}}}}
      - {{targets: ["{linux}"], labels: {{instance: Linux}}}}
"""
SYSTEMS = ("FreeBSD", "Linux")


def variables(system):
    """Grafana's values of the dashboards' variables for this system, with everything selected."""
    return {"cluster": ".*", "job": "memstatd", "instance": system, "__interval": "10s", "allocator": ".+", "type": ".+", "namespace": ".+", "pod": ".+", "__rate_interval": "10s", "__range": "60s"}


@contextlib.contextmanager
def scraped():
    """The Prometheus, from its first scrape on."""
    with program.temporary_directory() as directory:
        rules = shipped_rules.write(directory)
        captures.write_file(os.path.join(directory, "memstatd.yaml"), MEMSTATD)
        edited_capture.write(os.path.join(directory, "linux"))
        os.mkdir(os.path.join(directory, "prometheus"))
        options = ("--config", os.path.join(directory, "memstatd.yaml"), "--tier", "full", "--replay-loop", "--replay-speed", "4")
        freebsd = captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]
        with program.Daemon("--replay", freebsd, *options) as one, \
                program.Daemon("--replay", os.path.join(directory, "linux"), *options) as other:
            config = PROMETHEUS.format(rules=rules, freebsd=f"{one.host}:{one.port}",
                                       linux=f"{other.host}:{other.port}")
            with prometheus_server.Prometheus(os.path.join(directory, "prometheus"), None, config=config) as server:
                yield server
