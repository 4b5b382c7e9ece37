#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: an hour of fifty hosts under all rules
"""No rule raises an alert on a healthy host: each captured kernel, at tiers default and full, is a host for an hour; its polls are
repeated in turn, and its counters continue at the recorded rate. A capture of a machine with a problem raises only the alerts named in
this file."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import captures  # noqa: E402
import healthy_hosts  # noqa: E402
import program  # noqa: E402

MINUTES = 60
# Alerts of captures of machines with a problem.
NOTABLE, FOUND = {"MemstatFindingInfo"}, {"MemstatFindingWarning"}
NOW = {"MemstatFindingCritical"}
FAILS = FOUND | NOW  # some fail soon or in part; what begins as failing now has no warning besides
FULL_SOCKETS = FAILS | NOTABLE | {"MemstatNearLimit", "MemstatSocketPressure"}  # TCP, UDP and conntrack were filled
HUGE_PAGES = NOTABLE | {"MemstatMemoryLow", "MemstatMemoryVeryLow"}  # nearly all memory was set aside for them
PROBLEMS = {
    "freebsd-15.0-amd64-2cpu-evidence": FAILS,  # files were refused, and an accept queue was full
    "freebsd-15.0-amd64-2cpu-limits": NOW | {"MemstatAllocationFailures", "MemstatLimitHit", "MemstatLimitWaits"},
    "freebsd-15.0-amd64-2cpu-files-full": NOW | {"MemstatFileHandles", "MemstatSoftLimit"},
    "freebsd-15.0-amd64-2cpu-pipes-full": NOW | {"MemstatNearLimit"},
    "freebsd-15.0-amd64-2cpu-tables-full": FAILS | NOTABLE | {"MemstatLimitHit", "MemstatNearLimit"},
    "freebsd-15.0-amd64-2cpu-dtmalloc-live": NOW | NOTABLE | {"MemstatLimitHit", "MemstatNearLimit"},  # segments and semaphores as in tables-full
    "freebsd-15.0-amd64-2cpu-killed": NOW | {"MemstatMemoryShortfall", "MemstatOutOfMemoryKill", "MemstatThrashing"},
    "freebsd-15.0-amd64-2cpu-scattered": FOUND | {"MemstatAllocationFailures", "MemstatMemoryShortfall"},
    "freebsd-15.0-jails": FOUND | {"MemstatNearLimit"},  # a jail has all the processes that it may have
    "linux-5.10-evidence-v1": NOTABLE,  # a group is full of programs
    "linux-6.1-evidence": FOUND | NOTABLE | {"MemstatControlGroupTasks"},  # a mount is full, and a group was refused a fork
    "linux-6.1-evidence-v1": FOUND | NOTABLE,
    "linux-6.12-evidence": FOUND | {"MemstatControlGroupTasks"},
    "linux-6.18-evidence-v1": FOUND,  # a group waits, because its kills are off
    "linux-6.18-kernel-log": NOTABLE,  # kills and a refused fork in the log
    "linux-6.18-program-kills": FOUND,  # kills by earlyoom and nohang
    "linux-7.3-evidence": NOTABLE,
    "linux-6.1-2cpu-tables": FULL_SOCKETS,
    "linux-7.2-2cpu-tables": FULL_SOCKETS,
    "linux-6.1-2cpu-pools": HUGE_PAGES,
    "linux-7.2-2cpu-2nodes-pools": HUGE_PAGES,
    "linux-6.18-cgroup-v1": FOUND | {"MemstatControlGroupOutOfMemory"},
}


def pages(path, tier):
    polls = {file.partition("/")[0] for file in captures.read_fixture(path) if file[:6].isdigit()}
    for count in range(1, len(polls) + 1):
        yield subprocess.run([program.MEMSTATD, "--replay", path, "--polls", str(count), "--once", "--tier", tier], check=True, capture_output=True, text=True, timeout=600).stdout


def main():
    if not shutil.which("promtool"):
        print("promtool is not installed (Debian package prometheus)")
        return 77
    fired, hosts = {}, 0
    for name, path in captures.shown_fixtures().items():
        # promtool refuses rules that need more than 10 000 samples.
        for tier in ("default", "full"):
            hosts += 1
            for (alert, _, about), minutes in healthy_hosts.alerts({name: healthy_hosts.host_series(name, list(pages(path, tier)), MINUTES, 6)}, MINUTES).items():
                fired.setdefault(name, set()).add(alert)
                print(f"{name} at tier {tier}: {alert} {about or ''} for {minutes:g} minutes")
    expected = {name: set(problems) for name, problems in PROBLEMS.items()}
    wrong = sorted(name for name in fired.keys() | expected.keys() if fired.get(name, set()) != expected.get(name, set()))
    print(f"{hosts} hosts, {len(fired)} captures with alerts, {len(wrong)} not as expected: {' '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
