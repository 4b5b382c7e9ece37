#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The share of findings in the CPU of a poll: findings_share.py MEMSTATD [RUNS [SECONDS]]. Needs root and perf (Debian: linux-perf).

memstatd polls this machine each 200 ms with its default configuration. perf samples the stacks of the two threads of polls by CPU time, so other load
of the machine counts little. Findings are what makes the evidence, looks for causes, damps them and publishes their series; growth, which is looked
for each five minutes and takes 2 % of the time of polls at most, is not included. Prints a line for each run, and the median."""
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = {"memstatd-poll", "memstatd-read"}
OF_FINDINGS = re.compile(r"\bmemstat::(Poller::(note_evidence_and_select|publish_findings|note_urgent)|EvidenceBuilder::update|find_causes|complete_findings|ActiveFindings::\w+)\b")
NOT_FINDINGS = re.compile(r"\bmemstat::(Selection::choose|Snapshot::keep_rows)\b")
MOST = 3.0


def stacks(directory, pid, seconds):
    """[(thread, functions)] of each sample."""
    path = os.path.join(directory, "perf.data")
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-c", "250000", "--call-graph", "dwarf,16384", "-o", path, "-p", str(pid), "--", "sleep", str(seconds)], check=True)
    text = subprocess.run(["perf", "script", "-i", path, "-F", "comm,ip,sym", "--no-inline"], check=True, capture_output=True, text=True).stdout
    for sample in text.split("\n\n"):
        lines = sample.strip().splitlines()
        if lines:
            yield lines[0].strip(), lines[1:]


def share(memstatd, seconds):
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen([memstatd, "--interval", "200ms", "--listen", "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(5)
            counts = collections.Counter()
            for thread, functions in stacks(directory, process.pid, seconds):
                if thread in THREADS:
                    is_finding = any(map(OF_FINDINGS.search, functions)) and not any(map(NOT_FINDINGS.search, functions))
                    counts["findings" if is_finding else "rest"] += 1
        finally:
            process.kill()
            process.wait()
    return 100 * counts["findings"] / sum(counts.values()), sum(counts.values())


def main():
    memstatd, runs, seconds = sys.argv[1], int((sys.argv[2:] or ["5"])[0]), int((sys.argv[3:] or ["30"])[0])
    shares = []
    for _ in range(runs):
        part, samples = share(memstatd, seconds)
        shares.append(part)
        print(f"{part:.2f} % of {samples} samples; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"findings: median {statistics.median(shares):.2f} % of a poll, at most {max(shares):.2f}; {MOST} wanted")
    return 0 if statistics.median(shares) <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
