# SPDX-License-Identifier: BSD-2-Clause
"""Captures of machines on which something is killed or runs out, for the tests of incidents."""
import os
import re

import captures

MIB = 1 << 20
LIMIT = 64 * MIB
HEADER = "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name"
KILL_LINES = ["text Memory cgroup out of memory: Killed process 31050 (stress) total-vm:82368kB, anon-rss:40960kB, file-rss:1000kB, shmem-rss:0kB, UID:0 pgtables:176kB oom_score_adj:996",
              "more stress invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=996",
              "more memory: usage 65536kB, limit 65536kB, failcnt 70",
              "more oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/app,task_memcg=/app,task=stress,pid=31050,uid=0",
              f"more {HEADER}",
              "more [  31001]     0 31001    20592    12288    12288        0         0   180224        0          -998 keeper",
              "more [  31050]     0 31050    20592    10240    10240        0         0   180224        0           996 stress"]


def poll(open_files=500, kills=0, group_bytes=20 * MIB, available=1_500_000, program_kills=0):
    """A poll of a machine with 1000 files at most, and the group /app with a limit of 64 MiB, in which so many processes were killed."""
    log = [f"count oom_kill {kills}", *(line for _ in range(min(kills, 8)) for line in ["event oom_kill -", *(line.replace("31050", str(31049 + kills)) for line in KILL_LINES)])]
    journal = [f"count program_kill {program_kills}", *(line for n in range(program_kills) for line in [
        "event program_kill -", f'text earlyoom: sending SIGTERM to process {100 + n} uid 1000 "hog": badness 900, VmRSS 4096 MiB',
        "more low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%"])]
    table = lambda lines: "\n".join(["kernel_log 1", "lost 0", *lines, "end", ""]).encode()  # noqa: E731
    group = "fs/sys/fs/cgroup/app/"
    return {"fs/proc/sys/fs/file-nr": f"{open_files}\t0\t1000\n".encode(),
            "fs/proc/meminfo": f"MemTotal: 2000000 kB\nMemFree: 900000 kB\nMemAvailable: {available} kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n".encode(),
            "fs/proc/vmstat": f"oom_kill {kills}\nallocstall_normal 0\n".encode(),
            "fs/sys/fs/cgroup/cgroup.controllers": b"memory pids\n", "fs/sys/fs/cgroup/cgroup.subtree_control": b"memory pids\n",
            group + "memory.current": f"{group_bytes}\n".encode(), group + "memory.max": f"{LIMIT}\n".encode(), group + "memory.high": b"max\n",
            group + "memory.peak": f"{LIMIT if kills else group_bytes}\n".encode(), group + "memory.stat": b"anon 1\n",
            group + "memory.events": f"low 0\nhigh 0\nmax {70 * kills}\noom {kills}\noom_kill {kills}\n".encode(),
            "source/linux_kernel_log": table(log), "source/linux_service_log": table(journal)}


def many_groups(number, count=500):
    """The files of so many groups, which change at each poll; /app is one of the 256 that are read."""
    stat = "".join(f"{name} {4096 * number}\n" for name in ("anon", "file", "kernel", "slab", "sock", "shmem", "inactive_file", "active_file")) + "".join(
        f"unread_key_of_newer_kernels_{key} {number}\n" for key in range(30))
    files = {"memory.current": f"{MIB + 4096 * number}\n", "memory.max": "max\n", "memory.high": "max\n", "memory.stat": stat,
             "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"}
    return {f"fs/sys/fs/cgroup/{'a' if group < 200 else 'b'}{group:03}/{name}": text.encode() for group in range(count) for name, text in files.items()}


def write(directory, polls, apart_ns=300_000_000, back=()):
    """A capture whose polls are `apart_ns` apart, also in the time of day, but for those of the indexes `back`, which are five minutes earlier."""
    captures.write_capture(directory, polls, apart_ns=apart_ns)
    for index in range(len(polls)):
        path = os.path.join(directory, f"{index:06d}", "poll.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        milliseconds = index * apart_ns // 1_000_000 + (0 if index in back else 300_000)
        time = f"2026-11-20T15:{milliseconds // 60000:02}:{milliseconds // 1000 % 60:02}.{milliseconds % 1000:03}Z"
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub("(?m)^realtime: .*", f"realtime: {time}", text))
    return directory


def two_incidents(directory):
    """A capture in which a group is at its limit, and then the table of open files is full."""
    grown = [poll(group_bytes=use * MIB, available=1_500_000 - 10_000 * use) for use in (20, 35, 50)]
    after = {"kills": 1, "group_bytes": 2 * MIB, "available": 1_400_000}
    return write(directory, [*grown, poll(kills=1, group_bytes=4 * MIB, available=1_300_000), poll(**after), poll(open_files=1000, **after),
                             poll(open_files=1000, **after)])
