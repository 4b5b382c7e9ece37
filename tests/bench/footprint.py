#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The resources that memstatd takes, in one run and one table: footprint.py BUILD [--warm S] [--seconds S] [--skip PART...]

BUILD is a tree with memstatd. Needs root, cc and strace for the polls, Debian's package prometheus-node-exporter for the comparison with
it; a part that lacks something is a row that says so. The parts, one after the other, so that none disturbs the next:

  process   threads with their names, descriptors, resident memory after --warm seconds with default sources, and what grows of
            the kernel's memory for open files (kmalloc-cg-4k of /proc/slabinfo, which other processes share)
  poll      poll_cost.py: CPU and switches of a poll compared with a plain C program that reads the same files
  scrape    scrape_bench.py: a scrape on a new and on a kept connection beside node_exporter
  attack    front_attack.py: each attack over IPv4, IPv6 and a unix socket

On an idle machine it takes about seven minutes."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
PARTS = ("process", "poll", "scrape", "attack")


def row(figure, value, more=""):
    print(f"| {figure} | {value} | {more} |", flush=True)


def output_of(name, *command):
    """Standard output; None if the command fails, which then has its own row."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        row(name, "not measured", str(error))
        return None
    if done.returncode == 0:
        return done.stdout
    why = (done.stderr or done.stdout).strip().splitlines()
    row(name, "not measured", why[-1] if why else f"exit status {done.returncode}")
    return None


def kernel_files_kib():
    """Bytes of the cache of the kernel's buffers for files in /proc."""
    with open("/proc/slabinfo", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[0] == "kmalloc-cg-4k":
                return int(words[2]) * int(words[3]) // 1024
    return 0


def process(build, options):
    before = kernel_files_kib()
    with subprocess.Popen([build / "bin/memstatd", "--listen", "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            time.sleep(options.warm)
            directory = pathlib.Path(f"/proc/{server.pid}")
            names = collections.Counter((task / "comm").read_text().strip() for task in (directory / "task").iterdir())
            status = dict(re.findall(r"^(\w+):\s+(\d+) kB", (directory / "status").read_text(), re.MULTILINE))
            row("threads", sum(names.values()), ", ".join(f"{count} {name}" for name, count in sorted(names.items())))
            row("descriptors", len(list((directory / "fd").iterdir())))
            row(f"resident memory after {options.warm:g} s, MB", f"{int(status['VmRSS']) * 1024 / 1e6:.1f}",
                f"anonymous {int(status['RssAnon']) * 1024 / 1e6:.1f}, files {int(status['RssFile']) * 1024 / 1e6:.1f}; "
                f"the kernel's kmalloc-cg-4k {kernel_files_kib() - before:+d} kB")
        finally:
            server.terminate()


def poll(build, options):
    text = output_of("polls", sys.executable, str(HERE / "poll_cost.py"), "--seconds", str(options.seconds), f"memstatd={build / 'bin/memstatd'}")
    for line in (text or "").splitlines():
        found = re.match(r"(.*?) +polls +(\d+)  ms: least (\S+)  quartiles \S+ (\S+) \S+  mean (\S+)(?:  switches (\S+))?", line)
        if not found:
            row("files", line)
            continue
        name, polls, least, median, mean, switches = found.groups()
        row(f"CPU of a poll, ms: {name}", median, f"{polls} polls, least {least}, mean {mean}{f', {switches} voluntary switches a poll' if switches else ''}")


def scrape(build, _options):
    text = output_of("scrapes compared with node_exporter", sys.executable, str(HERE / "scrape_bench.py"), str(build / "bin/memstatd"))
    if text is None:
        return
    cpu = json.loads(text)["cpu_us_per_scrape"]
    for words, suffix in (("new connection, gzip", "_fresh"), ("kept connection", ""), ("kept connection, gzip", "_gzip")):
        ours, theirs = cpu["memstatd" + suffix], cpu["node_exporter" + suffix]
        row(f"CPU of a scrape on a {words}: node_exporter / memstatd", f"{theirs / ours:.1f}", f"{theirs:,.0f} us / {ours:,.0f} us")


def attack(build, options):
    text = output_of("attacks", sys.executable, str(HERE / "front_attack.py"), str(build / "bin/memstatd"), str(options.attack_seconds), "--on", "all", "--json")
    for each in map(json.loads, (text or "").splitlines()):
        row(f"{each['attack']} over {each['over']}", f"{each['answered_percent']:.2f} %",
            f"{each['scrapes']} scrapes, p95 {each['p95_ms']:.0f} ms, longest {each['longest_ms']:.0f} ms, at most {each['resident_mb']:.1f} MB, "
            f"{each['connections']} connections")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--warm", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=60, help="of polls")
    parser.add_argument("--attack-seconds", type=float, default=20, help="of each attack")
    parser.add_argument("--skip", nargs="*", choices=PARTS, default=[])
    options = parser.parse_args()
    release = os.uname()
    print(f"{os.cpu_count()} CPUs, {release.sysname} {release.release}, {time.strftime('%Y-%m-%d %H:%M')}, load {os.getloadavg()[0]:.1f}\n")
    print("| figure | measured | |\n|---|---|---|", flush=True)
    for part in PARTS:
        if part not in options.skip:
            globals()[part](options.build.resolve(), options)


if __name__ == "__main__":
    main()
