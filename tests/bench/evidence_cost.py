#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What each value of issue 37's evidence costs on this machine: its file, microseconds a poll, and series.

    tests/bench/evidence_cost.py [--memstatd PROGRAM] [--before PROGRAM] [--polls N] [--rounds N]

A file's time is the median of 300 reads of it as memstatd makes them: of a descriptor that is kept open, or with open and close, and
of the files that are read in turn their part of it. With --before, an older memstatd and the new one poll in pairs of short turns, each
pair in the other order, and the last line compares what the kernel charges both for a poll. What else the machine does then disturbs
both alike, and the median of the pairs hardly at all. Run it as root.
"""
import argparse
import glob
import os
import re
import statistics
import subprocess
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GROUPS = ["/sys/fs/cgroup", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/sys/fs/cgroup/memory/*", "/sys/fs/cgroup/memory/*/*"]
# Name, metrics, files, whether they are kept open, read every N polls; no files: they were read before.
VALUES = (
    ("swap traffic, refaults, scans, thresholds", r"memstat_(paged_pages|refaulted_pages|lru_\w+|throttled_written_pages|zswap_pages)_total", [], True, 1),
    ("swap, commit, locked, dirty", r"memstat_(swap_\w+|commit\w+|locked|unevictable|anonymous_huge|dirty\w*|writeback|free_whole_block)_bytes|memstat_page_pins", [], True, 1),
    ("full queues of listeners", r'memstat_socket_events_total{.*kind="(ListenOverflows|TCPReqQ\w+)"|memstat_socket_allocated_objects', [], True, 1),
    ("io pressure", "memstat_io_pressure_stall_seconds_total", ["/proc/pressure/io"], True, 1),
    ("packet sockets", r'memstat_socket_\w+{type="PACKET"', ["/proc/net/packet"], False, 4),
    ("netlink sockets", r'memstat_socket_\w+{type="NETLINK"', ["/proc/net/netlink"], False, 4),
    ("System V segments", "memstat_sysv_shm_", [], True, 1),
    ("zram", "memstat_zram_bytes", ["/sys/block/zram[0-3]/mm_stat"], True, 1),
    ("tmpfs mounts", "memstat_tmpfs_", ["/proc/self/mountinfo"], True, 3),
    ("commit limit's mode", "memstat_overcommit_mode", ["/proc/sys/vm/overcommit_memory"], True, 1),
    ("limits of a listener, process or socket", r'memstat_type_\w+{allocator="table",type="(accept_queues|process_maps|socket_\w+_buffers|committed)"', ["/proc/sys/vm/max_map_count", "/proc/sys/net/core/somaxconn", "/proc/sys/net/core/[rw]mem_max"], False, 4),
    ("stuck orphans", r'memstat_table_soft_limit_objects{type="tcp_orphans"', [], True, 1),
    ("kernel's log", "memstat_kernel_log_", [], True, 1),
    ("groups: pressure", "memstat_memcg_pressure_", ["memory.pressure"], False, 4),
    ("groups: swap", r"memstat_memcg_(swap_\w+|memory_and_swap\w+)", ["memory.swap.current", "memory.swap.max", "memory.swap.events", "memory.memsw.usage_in_bytes", "memory.memsw.limit_in_bytes", "memory.memsw.failcnt"], False, 4),
    ("groups: events of their own", "memstat_memcg_local_events_total", ["memory.events.local"], False, 4),
    ("groups: dying", "memstat_memcg_dying_descendants", ["cgroup.stat"], False, 4),
    ("groups: version 1", "memstat_memcg_(oom_waiting|kernel_limit_hits_total)", ["memory.kmem.failcnt"], False, 4),
)


def files_of(patterns):
    """Files of groups: those of the groups with memory figures."""
    paths = set()
    for pattern in patterns:
        if pattern.startswith("/"):
            paths.update(glob.glob(pattern))
        else:
            for group in GROUPS:
                paths.update(path for path in glob.glob(f"{group}/{pattern}") if glob.glob(os.path.dirname(path) + "/memory.*usage_in_bytes")
                             or os.path.exists(os.path.dirname(path) + "/memory.current"))
    return sorted(paths)


def microseconds(path, is_kept):
    times = []
    descriptor = os.open(path, os.O_RDONLY)
    for _ in range(300):
        begin = time.perf_counter_ns()
        one = descriptor if is_kept else os.open(path, os.O_RDONLY)
        os.pread(one, 65536, 0)
        if not is_kept:
            os.close(one)
        times.append(time.perf_counter_ns() - begin)
    os.close(descriptor)
    return statistics.median(times) / 1e3


def page_of(program, tier):
    return subprocess.run([program, "--once", "--tier", tier], check=False, capture_output=True, text=True, timeout=120).stdout.splitlines()


class Daemon:
    """A memstatd that polls by itself; its CPU time is read from /proc."""

    def __init__(self, program, directory, port):
        path = os.path.join(directory, f"{port}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'listen: ["127.0.0.1:{port}"]\npoll: {{interval: 10s, on_scrape: 1ms}}\nevents: {{mode: off}}\nuser: root\n')
        self.process = subprocess.Popen([program, "--config", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{port}/-/healthy"
        self.page = f"http://127.0.0.1:{port}/metrics?allocator[]=percpu"
        while True:
            try:
                urllib.request.urlopen(self.page, timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)

    def charged(self):
        """Seconds of CPU of the process and its children: memstatd and its helpers."""
        total = 0
        for task in glob.glob(f"/proc/{self.process.pid}/task/*/children"):
            with open(task, encoding="utf-8") as file:
                total += sum(self.of(child) for child in file.read().split())
        return total + self.of(self.process.pid)

    @staticmethod
    def of(pid):
        total = 0
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            with open(path, encoding="utf-8") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def polls(self, count):
        """Milliseconds of CPU per poll; each request makes one, because no poll is younger than a millisecond."""
        before = self.charged()
        for _ in range(count):
            time.sleep(0.002)
            with urllib.request.urlopen(self.page, timeout=60) as answer:
                answer.read()
        return (self.charged() - before) / count * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memstatd", default=os.path.join(ROOT, "build/bin/memstatd"))
    parser.add_argument("--before")
    parser.add_argument("--polls", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    pages = {tier: page_of(options.memstatd, tier) for tier in ("default", "full")}
    print(f"{'value':46} {'file':34} {'us a poll':>9} {'series: default':>15} {'full':>5}")
    cost = 0
    for what, metrics, patterns, is_kept, every in VALUES:
        paths = files_of(patterns)
        spent = sum(microseconds(path, is_kept) for path in paths) / every
        cost += spent
        series = {tier: sum(re.match(metrics, line) is not None for line in page) for tier, page in pages.items()}
        where = (patterns[0] + (f" x {len(paths)}" if len(paths) > 1 else "")) if patterns else "(read before)"
        print(f"{what:46} {where:34} {spent:9.1f} {series['default']:15} {series['full']:5}")
    print(f"all files together: {cost:.0f} us a poll")
    if options.before:
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            port = 20000 + os.getpid() % 20000
            daemons = [Daemon(options.before, directory, port), Daemon(options.memstatd, directory, port + 1)]
            try:
                for daemon in daemons:
                    daemon.polls(options.polls)
                rounds = []
                for number in range(options.rounds):
                    turns = {daemon: daemon.polls(options.polls) for daemon in (daemons if number % 2 else daemons[::-1])}
                    rounds.append([turns[daemon] for daemon in daemons])
            finally:
                for daemon in daemons:
                    daemon.process.terminate()
                    daemon.process.wait()
        before, after = (statistics.median(figures) for figures in zip(*rounds))
        ratios = sorted(new / old for old, new in rounds)
        print(f"a poll: {before:.2f} ms of CPU before, {after:.2f} ms now; ratio {statistics.median(ratios):.3f} "
              f"(median of {options.rounds} pairs of {options.polls} polls; half of them {ratios[len(ratios) // 4]:.3f} to {ratios[3 * len(ratios) // 4]:.3f})")


if __name__ == "__main__":
    main()
