#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What incidents cost, and how soon one is on disk: incident_bench.py MEMSTATD [KILLS [SECONDS]]. As root, with a hierarchy of groups that has the
memory controller. KILLS kills (20) at the limit of a group of 64 MiB while four processes compute, each by a memstatd that was just started, because one
cause has at most one incident in a minute: seconds from the end of the process to the file. Then four memstatds side by side for SECONDS (60), a poll each
200 ms, two that keep incidents and two that do not: CPU of a poll and resident memory."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
PARSER = argparse.ArgumentParser(usage=__doc__)
PARSER.add_argument("memstatd")
PARSER.add_argument("kills", type=int, nargs="?", default=20)
PARSER.add_argument("seconds", type=int, nargs="?", default=60)
ARGUMENTS = PARSER.parse_args()
os.environ["MEMSTATD"] = ARGUMENTS.memstatd
import control_group  # noqa: E402
import program  # noqa: E402

EATER = "import sys; sys.stdin.readline(); kept = bytearray(96 << 20); kept[::4096] = b'x' * len(kept[::4096])"
# include/linux/posix-timers.h: the clock of a process's CPU time. The ticks of /proc/PID/stat are 2 % of what is measured.
CPU_CLOCK_OF_PROCESS = 2


def configuration(directory, text):
    path = os.path.join(directory, "memstatd.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def seconds_to_disk(number):
    """Of one kill; the daemon polls only once an hour otherwise."""
    with program.temporary_directory() as directory:
        kept = os.path.join(directory, "incidents")
        path = configuration(directory, f"incidents: {{directory: {kept}}}\npoll: {{interval: 1h}}\n")
        group = control_group.ControlGroup(f"memstat-bench-{os.getpid()}-{number}", 64 << 20)
        with program.Daemon("--config", path) as daemon:
            daemon.wait_page(lambda now: True, "the first poll")
            eater = subprocess.Popen([sys.executable, "-c", EATER], stdin=subprocess.PIPE, preexec_fn=group.enter)
            eater.communicate(b"\n")
            killed = time.monotonic()
            program.wait_until(lambda: [name for name in os.listdir(kept) if not name.startswith(".")], "an incident")
            took = time.monotonic() - killed
        os.rmdir(group.directory)
        return took


def used(daemon):
    """CPU seconds, polls."""
    page = daemon.page()
    seconds = time.clock_gettime((~daemon.process.pid << 3) | CPU_CLOCK_OF_PROCESS)
    return seconds, page.number("memstat_poll_duration_seconds_count")


def main():
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        times = sorted(seconds_to_disk(number) for number in range(ARGUMENTS.kills))
    finally:
        for process in load:
            process.kill()
            process.wait()
    soon = sum(one <= 2 for one in times)
    print(f"{ARGUMENTS.kills} kills: on disk within 2 s {soon}; quartiles " + ", ".join(f"{one:.2f} s" for one in statistics.quantiles(times)) + f"; at most {times[-1]:.2f} s")
    with tempfile.TemporaryDirectory() as directory, program.temporary_directory() as kept:
        common = "poll: {interval: 200ms}\n"
        daemons = []
        # The order cancels what the first reader of a statistic pays for the others.
        for number, text in enumerate(("\"\"", f"{kept}/1", f"{kept}/2", "\"\"")):
            daemons.append(program.Daemon("--config", configuration(directory, f"incidents: {{directory: {text}}}\n" + common)))
            daemons[number].wait_page(lambda now: True, "the first poll")
        time.sleep(5)
        before = [used(daemon) for daemon in daemons]
        time.sleep(ARGUMENTS.seconds)
        after = [used(daemon) for daemon in daemons]
        costs = [(later[0] - first[0]) / (later[1] - first[1]) * 1000 for first, later in zip(before, after)]
        sizes = [int(program.status_of(daemon.process.pid)["VmRSS"].split()[0]) / 1024 for daemon in daemons]
        cost, resident = [((one[1] + one[2]) / 2, (one[0] + one[3]) / 2) for one in (costs, sizes)]
        print(f"a poll: {cost[0]:.3f} ms of CPU with incidents, {cost[1]:.3f} without ({100 * (cost[0] / cost[1] - 1):+.1f} %); resident {resident[0]:.1f} and {resident[1]:.1f} MiB")
        for daemon in daemons:
            daemon.terminate()


main()
