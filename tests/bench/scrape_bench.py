#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPU of one scrape of this machine's slab caches: memstatd against Debian's prometheus-node-exporter with only its slabinfo
collector, in one run, interleaved. Usage: scrape_bench.py MEMSTATD [ROUNDS]. Needs root and the package
prometheus-node-exporter. Prints one JSON object.

One memstatd polls at every scrape (`poll.on_scrape`), so its scrapes in a loop have a pause of 2 ms between them. EvidenceInput these there
are scrapes ten a second, which find the caches of the processor cold; there the kernel's own walk over its slabs, which all
have to pay, is most of the cost.

EvidenceInput scrapes of this client there are those of the real Prometheus (if Debian's package is installed), which asks for gzip and
keeps its connection, and scrapes on a connection of its own each, as Prometheus makes them to a server that does not keep one.

CPU is the sum over a server's threads of the time on a processor (/proc/PID/task/*/schedstat), which does not depend on what
else the machine does. Scrapes go over one kept connection, uncompressed where it is not said otherwise.
"""
import glob
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SCRAPES = 200
PACE = 0.1


def cpu_seconds(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            pass  # a thread that ended
    return total / 1e9


def peak_resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, arguments, port):
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while True:
            try:
                self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                self.scrape()
                return
            except (OSError, http.client.HTTPException, RuntimeError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def scrape(self, coding="identity"):
        try:
            response = self.ask(coding)
        except http.client.RemoteDisconnected:  # an idle connection is closed after a while
            self.connection.close()
            response = self.ask(coding)
        body = response.read()
        if response.status != 200 or response.getheader("Content-Encoding", "identity") != coding:
            raise RuntimeError(f"status {response.status}, {response.getheaders()}")
        return body

    def ask(self, coding):
        self.connection.request("GET", "/metrics", headers={"Accept-Encoding": coding})
        return self.connection.getresponse()

    def series(self):
        return sum(1 for line in self.scrape().splitlines() if line and not line.startswith(b"#"))

    def cpu_of_scrapes(self, count, coding="identity", pause=0):
        before = cpu_seconds(self.process.pid)
        for _ in range(count):
            time.sleep(pause)
            self.scrape(coding)
        return (cpu_seconds(self.process.pid) - before) / count * 1e6

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)


def cpu_of_paced_scrapes(server, count):
    """One scrape every PACE seconds: the server wakes with cold caches, as in practice."""
    before = cpu_seconds(server.process.pid)
    begin = time.monotonic()
    for i in range(count):
        server.scrape()
        time.sleep(max(0.0, begin + (i + 1) * PACE - time.monotonic()))
    return (cpu_seconds(server.process.pid) - before) / count * 1e6


def cpu_of_fresh_scrapes(server, port, count):
    """Each scrape on its own connection, with gzip, as Prometheus requests."""
    before = cpu_seconds(server.process.pid)
    for _ in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip", "Connection": "close"})
        connection.getresponse().read()
        connection.close()
    return (cpu_seconds(server.process.pid) - before) / count * 1e6


def scrapes_of_prometheus(port):
    """The number of scrapes of each target by the Prometheus on this port."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(int(count) for count in re.findall(r"^prometheus_target_interval_length_seconds_count\S* (\d+)", text, re.M))


def cpu_of_prometheus(servers, ports, seconds=10):
    """CPU in us of a scrape by the real Prometheus, PACE apart, for each of the servers; None without Prometheus."""
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        config = os.path.join(directory, "prometheus.yml")
        targets = "".join(f"  - job_name: job{port}\n    static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n" for port in ports)
        with open(config, "w", encoding="ascii") as file:
            file.write(f"global: {{scrape_interval: {PACE * 1000:.0f}ms, scrape_timeout: {PACE * 1000:.0f}ms}}\nscrape_configs:\n{targets}")
        own = free_port()
        process = subprocess.Popen([prometheus, f"--config.file={config}", f"--storage.tsdb.path={directory}/data",
                                    f"--web.listen-address=127.0.0.1:{own}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    if scrapes_of_prometheus(own) >= 10 * len(servers):
                        break
                except OSError:
                    pass
                if time.monotonic() > deadline:
                    raise RuntimeError("Prometheus does not scrape")
                time.sleep(0.1)
            before = [cpu_seconds(server.process.pid) for server in servers]
            counted = scrapes_of_prometheus(own)
            time.sleep(seconds)
            counted = (scrapes_of_prometheus(own) - counted) / len(servers)
            return [(cpu_seconds(server.process.pid) - was) / counted * 1e6 for server, was in zip(servers, before)]
        finally:
            process.terminate()
            process.wait(30)


def only_slab_caches(memstatd):
    """A configuration with only this source."""
    listed = subprocess.run([memstatd, "--list-sources"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[1:]
    names = [line.split("\t")[0] for line in listed]
    return "sources: {" + ", ".join(f"{name}: {{enabled: off}}" for name in names if name != "linux_slabinfo") + "}\n"


def main():
    memstatd, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    exporter = shutil.which("prometheus-node-exporter")
    if exporter is None or os.geteuid() != 0:
        print("skipped: needs root and Debian's package prometheus-node-exporter", file=sys.stderr)
        sys.exit(77)
    ports = [free_port() for _ in range(4)]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:  # only the same caches as node_exporter
        config.write(only_slab_caches(memstatd))
        config.flush()
        ours = Server([memstatd, "--config", config.name, "--listen", f"127.0.0.1:{ports[0]}", "--interval", "1h"], ports[0])
        config.write("poll: {on_scrape: 1ms}\nevents: {mode: off}\n")
        config.flush()
        polling = Server([memstatd, "--config", config.name, "--listen", f"127.0.0.1:{ports[1]}"], ports[1])
    whole = Server([memstatd, "--listen", f"127.0.0.1:{ports[3]}"], ports[3])
    theirs = Server([exporter, "--collector.disable-defaults", "--collector.slabinfo",
                     f"--web.listen-address=127.0.0.1:{ports[2]}"], ports[2])
    try:
        figures = {"memstatd": [], "memstatd_gzip": [], "node_exporter_gzip": [], "memstatd_with_poll": [], "node_exporter": [], "memstatd_with_poll_paced": [],
                   "node_exporter_paced": [], "memstatd_fresh": [], "node_exporter_fresh": []}
        for _ in range(rounds):
            figures["memstatd"].append(ours.cpu_of_scrapes(SCRAPES))
            figures["node_exporter"].append(theirs.cpu_of_scrapes(SCRAPES))
            figures["memstatd_gzip"].append(ours.cpu_of_scrapes(SCRAPES, "gzip"))
            figures["node_exporter_gzip"].append(theirs.cpu_of_scrapes(SCRAPES, "gzip"))
            figures["memstatd_fresh"].append(cpu_of_fresh_scrapes(ours, ports[0], SCRAPES))
            figures["node_exporter_fresh"].append(cpu_of_fresh_scrapes(theirs, ports[2], SCRAPES))
            figures["memstatd_with_poll"].append(polling.cpu_of_scrapes(SCRAPES, pause=0.002))
            figures["memstatd_with_poll_paced"].append(cpu_of_paced_scrapes(polling, 50))
            figures["node_exporter_paced"].append(cpu_of_paced_scrapes(theirs, 50))
        medians = {name: statistics.median(values) for name, values in figures.items()}
        by_prometheus = cpu_of_prometheus([ours, theirs], [ports[0], ports[2]])
        if by_prometheus is not None:
            medians["memstatd_prometheus"], medians["node_exporter_prometheus"] = by_prometheus
        print(json.dumps({
            "cpu_us_per_scrape": {name: round(value, 1) for name, value in medians.items()},
            "series": {"memstatd": ours.series(), "node_exporter": theirs.series()},
            "peak_resident_kib": {"memstatd": peak_resident_kib(ours.process.pid),
                                  "memstatd_with_poll": peak_resident_kib(polling.process.pid),
                                  "memstatd_all_sources": peak_resident_kib(whole.process.pid),
                                  "node_exporter": peak_resident_kib(theirs.process.pid)},
        }))
    finally:
        for server in (ours, whole, polling, theirs):
            server.stop()


if __name__ == "__main__":
    main()
