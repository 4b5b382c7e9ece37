#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPU of a poll with the default configuration, compared with a plain C program that reads the same files: poll_cost.py [--seconds N]
[--interval S] [--configuration TEXT] [--slabinfo] NAME=MEMSTATD... Needs root, cc and strace.

All memstatds and the plain program run at the same time, so that the machine's other work is the same for all. The CPU of a poll
is the run time of its two threads between two sleeps (/proc/PID/task/*/schedstat), so scrapes are not included. The plain program reads
the same files as the first memstatd, as observed by strace, and keeps them open or reopens them as memstatd does. It cannot use memstatd's BPF
programs; with `+slabinfo` it reads /proc/slabinfo instead, which has less. With --slabinfo no memstatd has BPF programs (events.mode off), so
both read /proc/slabinfo and nothing differs. Prints a line for each: minimum CPU time of a poll, quartiles, mean, and voluntary context
switches per poll."""
import argparse
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = ("memstatd-poll", "memstatd-read")
POLLS_SEEN = 12  # settings are read at every fourth
CALL = re.compile(r"^\d+\s+(?:\+\S+ )?(openat|read|pread64|bpf|close)\((.*)")


def start(memstatd, directory, options, interval, prefix=()):
    path = os.path.join(directory, f"{os.path.basename(memstatd)}-{time.monotonic_ns()}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        events = "events: {mode: off}\n" if options.slabinfo else ""
        file.write(f'poll: {{interval: {interval:g}s}}\n{events}{options.configuration}\n')
    return subprocess.Popen([*prefix, memstatd, "--config", path, "--listen", "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def reads_of(lines, slabinfo):
    """What each steady poll reads, as lines for plain_poll. A poll begins with the pass over the slab caches: the bpf call, or /proc/slabinfo."""
    polls, poll, opened = [], None, False
    for line in lines:
        call = CALL.match(line)
        if not call:
            continue
        name, rest = call.groups()
        if re.search(r"</proc/slabinfo>.*, 0\)\s+=", rest) if slabinfo else name == "bpf" and "ITER_CREATE" in rest:
            poll = []
            polls.append(poll)
        if poll is None:
            continue
        path = re.match(r"\d+<([^>]*)>", rest)
        if name == "openat":
            path = re.match(r'(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, "([^"]*)"', rest)
            opened = path is not None and " = -1" not in rest and "O_DIRECTORY" not in rest
            if opened:
                poll.append("o " + os.path.join(path.group(1) or "/", path.group(2)))
        elif name == "close":
            opened = False
        elif path and path.group(1).startswith("/") and not opened and re.search(r", 0\)\s+=|, 0\) = ", rest):
            poll.append("k " + path.group(1))
    # Any process can read its own /proc/PID/net instead of the daemon's. The daemon's BPF programs have no files that
    # another program could read.
    polls = [[re.sub(r"/proc/\d+/net/", "/proc/self/net/", line) for line in poll if "/fdinfo/" not in line] for poll in polls]
    return [poll for poll in polls[-POLLS_SEEN - 1:-1] if poll]


def see_reads(memstatd, directory, options):
    trace = os.path.join(directory, "strace")
    process = start(memstatd, directory, options, 1, ("strace", "-f", "-y", "-s", "0", "-e", "trace=openat,read,pread64,bpf,close", "-o", trace))
    time.sleep(POLLS_SEEN + 6)
    traced = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    for pid in traced:
        os.kill(int(pid), signal.SIGTERM)
    process.wait()
    with open(trace, encoding="utf-8", errors="replace") as file:
        polls = reads_of(file, options.slabinfo)
    if not polls:
        sys.exit("poll_cost: strace shows no poll; is linux_slab_bpf up? (--slabinfo: linux_slabinfo)")
    return polls


def now_of(pid):
    """CPU in ns and voluntary switches of the threads of polls."""
    cpu = switches = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() in THREADS:
            cpu += int((task / "schedstat").read_text().split()[0])
            switches += int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text()).group(1))
    return cpu, switches


def report(name, values, more=""):
    values = sorted(value / 1e6 for value in values)
    at = [values[int(part * (len(values) - 1))] for part in (0, 0.25, 0.5, 0.75)]
    print(f"{name:24} polls {len(values):4}  ms: least {at[0]:.3f}  quartiles {at[1]:.3f} {at[2]:.3f} {at[3]:.3f}  mean {statistics.mean(values):.3f}{more}", flush=True)


def watch(servers, options):
    """The CPU of each poll, and all switches, of each server."""
    last = {name: now_of(process.pid) for name, process in servers}
    first, before, polls = dict(last), {}, {name: [] for name, _ in servers}
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        time.sleep(options.interval / 10)
        for name, process in servers:
            now = now_of(process.pid)
            if now != last[name]:
                before.setdefault(name, last[name])
            elif name in before:
                polls[name].append(now[0] - before.pop(name)[0])
            last[name] = now
    return {name: (polls[name], last[name][1] - first[name][1]) for name, _ in servers}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--interval", type=float, default=1)
    parser.add_argument("--configuration", default="")
    parser.add_argument("--slabinfo", action="store_true")
    parser.add_argument("memstatd", nargs="+", metavar="NAME=MEMSTATD")
    options = parser.parse_args()
    binaries = [(name, os.path.abspath(path)) for name, _, path in (each.partition("=") for each in options.memstatd)]
    for name, path in binaries:
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            parser.error(f"give NAME=MEMSTATD, a name and the path of a program: {name} names none that can be run")
    directory = tempfile.mkdtemp()
    processes = []
    try:
        plain = os.path.join(directory, "plain_poll")
        subprocess.run(["cc", "-O2", "-o", plain, str(pathlib.Path(__file__).with_name("plain_poll.c"))], check=True)
        polls = see_reads(binaries[0][1], directory, options)
        print(f"files a poll: {statistics.mean(map(len, polls)):.0f}, of which opened by name {statistics.mean(sum(line[0] == 'o' for line in poll) for poll in polls):.0f}")
        outputs = {}
        for name, more in [("plain", [])] + ([] if options.slabinfo else [("plain +slabinfo", ["k /proc/slabinfo"])]):
            listed = os.path.join(directory, name)
            pathlib.Path(listed).write_text("".join("".join(line + "\n" for line in poll + more) + "\n" for poll in polls), encoding="utf-8")
            outputs[name] = os.path.join(directory, name + ".out")
            with open(outputs[name], "wb") as out:
                processes.append(subprocess.Popen([plain, listed, str(options.interval)], stdout=out))
        servers = [(name, start(path, directory, options, options.interval)) for name, path in binaries]
        processes += [process for _, process in servers]
        time.sleep(5 * options.interval + 3)
        results = watch(servers, options)
        for name, (costs, switches) in results.items():
            report(name, costs, f"  switches {switches / max(len(costs), 1):.1f}")
        for name, output in outputs.items():
            report(name, [int(line) for line in pathlib.Path(output).read_text(encoding="ascii").split()[2:]])
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
