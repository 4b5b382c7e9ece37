#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs memstatd for hours at a hundred times its usual rate: polls every 0.1 s, four scrapers in all formats, reloads, floods and a
rotating recording, on this machine's kernel and, at the same time, on a replay of a constantly changing capture.

`python3 tests/support/soak.py HOURS [--busy]` with MEMSTATD and SOURCE_DIR in the environment. It fails if memory in use grows by more
than 2 MiB after the first fifth, if descriptors or threads leak, if an answer is wrong, and, without --busy,
if a poll is missed or the recording ends late, which may happen on a busy machine. SIGTERM ends it early. It appends a row to
tests/LEDGER.md."""
import argparse
import itertools
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time

import captures
import ledger
import page
import program

DRIFT_BYTES = 2 << 20
FLOOD = 100
ROUND_SECONDS = 2.0
ACCEPT = ("text/plain", "application/openmetrics-text;version=1.0.0",
          "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", "*/*")
CONFIGURATIONS = ("tier: default\n", "tier: full\nmin_bytes: 64KiB\n", "tier: minimal\nper_cpu: {allocators: [slab]}\n",
                  "tier: default\nfilters: {exclude: [{type: \"kmalloc-.*\"}]}\nseries_limit: 500\n")
REPLAYED = "linux-6.12-4cpu"


class Host:
    """One memstatd and its load."""

    def __init__(self, directory, name, arguments, settings):
        self.config = os.path.join(directory, f"{name}.yaml")
        self.settings = settings
        self.configure(CONFIGURATIONS[0])
        self.daemon = program.Daemon("--config", self.config, *arguments)
        self.name = name
        self.faults = []
        self.scrapes = 0
        self.stopping = threading.Event()
        self.seen = []  # (resident bytes, descriptors, threads) after each round
        self.scrapers = [threading.Thread(target=self.scrape, args=(accept,)) for accept in ACCEPT]
        self.missed = 0
        self.growth = self.descriptors = 0  # from the first fifth of the run to the last

    def configure(self, text):
        captures.write_file(self.config, self.settings + text)

    def begin(self):
        program.wait_until(lambda: self.daemon.request("/metrics")[0] == 200, "the first poll")
        for scraper in self.scrapers:
            scraper.start()

    def scrape(self, accept):
        for number in itertools.count():
            if self.stopping.wait(0.05):
                return
            path = ("/metrics", "/", "/api/v1/types", "/plain", "/metrics?type%5B%5D=dentry")[number % 5 if number % 3 == 0 else 0]
            try:
                coding = "gzip" if number % 2 else "identity"
                status, _, body = self.daemon.request(path, headers={"Accept": accept, "Accept-Encoding": coding})
            except OSError as error:
                self.faults.append(f"{path}: {error}")
                continue
            self.scrapes += 1
            if status not in (200, 400) or not body:  # 400: a filter may remove the requested type
                self.faults.append(f"{path}: status {status}")

    def round(self, number):
        self.configure(CONFIGURATIONS[number % len(CONFIGURATIONS)])
        self.daemon.process.send_signal(signal.SIGHUP)
        flood = []
        for place in range(FLOOD):
            client = socket.create_connection((self.daemon.host, self.daemon.port), timeout=program.PATIENCE)
            flood.append(client)
            client.sendall((b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0")[place % 4])
        time.sleep(ROUND_SECONDS)
        for client in flood:
            client.close()

    def state(self):
        fields = program.status_of(self.daemon.process.pid)
        return int(fields["VmRSS"].split()[0]) * 1024, len(os.listdir(f"/proc/{self.daemon.process.pid}/fd")), int(fields["Threads"])

    def settle(self):
        """The state after the connections of a round are gone: the fewest descriptors of several reads."""
        looks = []
        for _ in range(20):
            looks.append(self.state())
            time.sleep(0.02)
        return min(look[0] for look in looks), min(look[1] for look in looks), min(look[2] for look in looks)

    def end(self, busy):
        self.stopping.set()
        for scraper in self.scrapers:
            scraper.join()
        read, problems = page.check(self.daemon.request("/metrics")[2])
        self.faults += problems
        self.missed = int(read.number("memstat_poll_missed_total"))
        status = self.daemon.terminate()
        is_disk_late = busy and re.search(r"the recording is incomplete: .*timeout", self.daemon.log)
        if status != 0 and not is_disk_late:
            self.faults.append(f"it ended with status {status}; the end of its log:\n{self.daemon.log[-1500:]}")

    def verdict(self, busy):
        warm = max(1, len(self.seen) // 5)
        early, late = self.seen[warm:], self.seen[-warm:]
        self.growth = growth = min(state[0] for state in late) - max(state[0] for state in early[:warm] or early)
        self.descriptors = descriptors = min(state[1] for state in late) - min(state[1] for state in early)
        threads = min(state[2] for state in late) - max(state[2] for state in self.seen[:-warm] or early)
        print(f"{self.name}: {self.scrapes} scrapes, resident {self.seen[-1][0] / 1e6:.1f} MB, growth {growth / 1024:.0f} KiB, "
              f"descriptors {self.seen[-1][1]} ({descriptors:+d}), missed polls {self.missed}, {len(self.faults)} wrong answers")
        bad = list(self.faults[:20])
        if growth > DRIFT_BYTES:
            bad.append(f"memory grew by {growth} bytes: {[state[0] for state in self.seen[::max(1, len(self.seen) // 50)]]}")
        if descriptors > 0:
            bad.append(f"{descriptors} descriptors more than before: {[state[1] for state in self.seen[::max(1, len(self.seen) // 50)]]}")
        if threads > 0:  # one more for a hanging read comes and goes
            bad.append(f"{threads} threads more than before: {[state[2] for state in self.seen[::max(1, len(self.seen) // 50)]]}")
        if self.missed and not busy:
            bad.append(f"{self.missed} polls were missed")
        return [f"{self.name}: {text}" for text in bad]


def run(seconds, busy, stopping=None):
    """(problems, hosts) after a run of this length, or once the event `stopping` is set."""
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # to spare the disk
    with program.temporary_directory() as directory, tempfile.TemporaryDirectory(dir=in_memory) as shared:
        os.chmod(shared, 0o755)
        recording = os.path.join(shared, "recording")
        # The history is full within a minute: the usual 2 MiB take a day, and would look like a leak. So would control groups, which
        # other programs make meanwhile: 150 of them are 6 MB of series and pages.
        small = "history: 256KiB\nsources: {linux_memcg: {enabled: off}}\n"
        quick = small + "poll: {interval: 100ms}\n"
        hosts = [Host(directory, "live", (), quick + f"capture: {{record: {recording}, max_bytes: 32MiB}}\n"),
                 Host(directory, "replay", ("--replay", captures.fixtures()[REPLAYED], "--replay-loop", "--replay-speed", "100"), small)]
        for host in hosts:
            host.begin()
        deadline = time.monotonic() + seconds
        for number in itertools.count():
            for host in hosts:
                host.round(number)
                host.seen.append(host.settle())
            if time.monotonic() >= deadline or stopping and stopping.is_set():
                break
        for host in hosts:
            host.end(busy)
        return [problem for host in hosts for problem in host.verdict(busy)], hosts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("hours", type=float)
    parser.add_argument("--busy", action="store_true", help="missed polls are printed, but are no failure")
    arguments = parser.parse_args()
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    row, begun = ledger.Row(ledger.SOAKING), time.monotonic()
    problems, hosts = run(arguments.hours * 3600, arguments.busy, stopping)
    print("\n".join(problems))
    row.add(f"{(time.monotonic() - begun) / 3600:.2f}", ", ".join(f"{host.name} {host.growth / 1024:+.0f}" for host in hosts),
            ", ".join(f"{host.descriptors:+d}" for host in hosts), sum(len(host.faults) for host in hosts))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
