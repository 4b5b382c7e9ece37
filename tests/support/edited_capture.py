# SPDX-License-Identifier: BSD-2-Clause
"""A captured Linux in which something goes wrong: a second and a third poll derived by hand from the first, as noted in the capture's
manifest."""
import os
import re

import captures

BASE = "linux-7.2-profiling-4cpu-2nodes"
EDITS = """
  Poll 000000 is the captured one, but the control group g1 has a limit of 12 MiB (memory.max) and one of 64 threads, of which it has 55
  (pids.max), and there is /proc/pressure/memory, which the captured kernel lacks. Poll 000001 is made by hand from it: the slab cache kmalloc-1k grew by 200 slabs, g1 came near its
  limit, met it 900 times and ran out of memory 3 times, 5 processes were killed, allocations stalled, compacted and reclaimed, and
  tasks waited 2 s for memory. From then on it says that KFENCE found 2 errors, that the kernel printed 3 warnings and an oops and met
  a bad page, and that the user 1000 has 195 of 200 keys; the captured kernel has no KFENCE. Each poll has tables of CPU counters
  and of events of memory, which are those of no machine. Poll 000002 is poll 000001, but /proc/vmallocinfo could not be read (EIO)."""
GROUP = "fs/sys/fs/cgroup/g1/"
KFENCE = "enabled: 1\ncurrently allocated: 12\ntotal allocations: 400\ntotal frees: 388\nzombie allocations: 0\ntotal bugs: {}\n"
KEY_USERS = "    0:    10 10/10 8/1000000 400/25000000\n 1000: {0:5} {0}/{0} {0}/200 1000/20000\n"


def with_numbers(text, numbers):
    """A "name number" a line, with these numbers instead."""
    for name, number in numbers.items():
        text, count = re.subn(rf"^{name} \d+$".encode(), f"{name} {number}".encode(), text, flags=re.MULTILINE)
        if count != 1:
            raise AssertionError(f"{name} is not there to be edited")
    return text


def with_larger_cache(slabinfo, cache, slabs):
    """A cache with N more slabs, all of whose objects are in use."""
    def grown(match):
        name, active, objects, size, per_slab, rest, active_slabs, all_slabs, end = match.groups()
        more = slabs * int(per_slab)
        return b"%s %d %d %s %s %s %d %d%s" % (name, int(active) + more, int(objects) + more, size, per_slab, rest,
                                               int(active_slabs) + slabs, int(all_slabs) + slabs, end)
    text, count = re.subn(rf"^({cache})\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)(\s+\d+ : tunables.*: slabdata)\s+(\d+)\s+(\d+)(\s+\d+)$".encode(),
                          grown, slabinfo, flags=re.MULTILINE)
    if count != 1:
        raise AssertionError(f"{cache} is not there to be edited")
    return text


def pressure(some_us, full_us):
    line = "{} avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
    return (line.format("some", some_us) + line.format("full", full_us)).encode()


def integrity(tainted, warnings, oopses, bugs, keys):
    """The kernel's reports of errors that it found, and of a user's keys."""
    return {"fs/proc/sys/kernel/tainted": b"%d\n" % tainted, "fs/sys/kernel/warn_count": b"%d\n" % warnings,
            "fs/sys/kernel/oops_count": b"%d\n" % oopses, "fs/sys/kernel/debug/kfence/stats": KFENCE.format(bugs).encode(),
            "fs/proc/key-users": KEY_USERS.format(keys).encode()}


def gfp_classes(allocator, index):
    """Allocations by GFP class; those that may not sleep failed."""
    return [f"gfp {allocator} {word} {count * index} {failures * index}" for word, count, failures in (("atomic", 600, 30), ("nofs", 900, 0), ("kernel", 3500, 0))]


def vm_events(index):
    """The counts of memstatd with key events.mode counters."""
    counts = {"event oom_kill": 2, "event slab_failure": 40, "event page_failure": 90, "event kmalloc": 9000, "event page_alloc": 5000,
              "fault read": 800, "fault write": 1700, "fault minor": 2400, "fault major": 100, "victim": 2}
    lines = [f"{name} {count * index}" + (" shop" if name == "victim" else "") for name, count in counts.items()]
    for kind, faults, nanoseconds, bucket in (("minor", 2400, 800, 2), ("major", 100, 4000000, 15)):  # 2^-20 s and 2^-7 s at most
        counts_of_times = [0] * 28
        counts_of_times[bucket] = faults * index
        lines.append(" ".join(map(str, ["fault_times", kind, nanoseconds * faults * index, *counts_of_times])))
    lines += [f"cpu_{name} {cpu} {count * index // (cpu + 2)}" for name, count in counts.items() if name.startswith(("event page", "fault ")) for cpu in range(2)]
    lines += gfp_classes("page", index)
    lines.append(f"governor 1 1 {25000000 * index} 0 10000")  # 2.5 ms a second, of a budget of 1 %
    return (f"vm_events 1\nmissed {3 * index}\nby_cache 0\n" + "\n".join(lines) + "\nend\n").encode()


def slab_events(index):
    """The same for slab caches: a third of dentry's allocated bytes was not requested."""
    lines = ["type 192 dentry", f"cpu 0 {40 * index} {30 * index} {5120 * index} 0", f"cpu 1 {20 * index} {20 * index} {2560 * index} {index}",
             "type 1024 kmalloc-1k", f"cpu 0 {500 * index} {300 * index} {300000 * index} 0", *gfp_classes("slab", index)]
    return ("slab_events 1\nkmalloc_frees 1\ncounted_by_sysfs 0\nunplaced 0\nmissed 0\n"
            f"governor 1 1 {60000000 * index} 0 10000\n" + "\n".join(lines) + "\nend\n").encode()


def call_sites(index):
    """The counts of memstatd with key events.mode full: a program that creates files under new names all the time, and others."""
    sites = {"__d_alloc": (4000, 768000, 768000), "alloc_inode": (900, 950000, 1013760), "sock_alloc_send_pskb": (3000, 700000, 1536000),
             "nf_conntrack_alloc [nf_conntrack]": (200, 51200, 51200), "other": (7000, 900000, 1000000)}
    origins = {("dentry", "/g1", "state-keeper", "__d_alloc"): 700000, ("dentry", "other", "other", "other"): 68000,
               ("kmalloc-1k", "/g1", "shop", "sock_alloc_send_pskb"): 1400000}
    lines = [f"site {allocations * index} {requested * index} {got * index} {index if name.startswith('sock') else 0}\t{name}"
             for name, (allocations, requested, got) in sites.items()]
    lines += [f"group {9000 * index} {3000000 * index} {2500000 * index} {index}\t/g1", f"group {6000 * index} {1500000 * index} 0 0\tother"]
    lines += [f"origin {got // 200 * index} {got * index} 0\t" + "\t".join(names) for names, got in origins.items()]
    return (f"call_sites 1\nunplaced 0\nmissed 0\ngovernor 1 1 {40000000 * index} 0 10000\n" + "\n".join(lines) + "\nend\n").encode()


def counters(poll):
    """Counts of CPUs; on the second one, sets took turns for half of the time."""
    lines = [f"cpu {cpu} set memory enabled_ns 10000000000 running_ns {10000000000 // (cpu + 1)} cache-misses {5000 // (cpu + 1)} "
             f"{5000 * (poll + 1)} dTLB-load-misses {800 // (cpu + 1)} {800 * (poll + 1)} minor-faults {300 // (cpu + 1)} {300 * (poll + 1)} "
             f"context-switches {90 // (cpu + 1)} {90 * (poll + 1)}" for cpu in range(2)]
    return "".join(line + "\n" for line in ["left_out dTLB-walks: no event of this CPU is known that counts them", *lines, "end 2"]).encode()


def write(directory):
    """Writes the capture to a directory and returns its path."""
    files = captures.read_fixture(captures.fixtures()[BASE])
    first = {path.partition("/")[2]: content for path, content in files.items() if path.startswith("000000/")}
    first[GROUP + "memory.max"] = b"12582912\n"
    first |= {"fs/sys/fs/cgroup/cgroup.controllers": b"memory pids\n", GROUP + "pids.current": b"55\n", GROUP + "pids.max": b"64\n"}
    first["fs/proc/pressure/memory"] = pressure(1000000, 400000)
    first |= integrity(0, 0, 0, 0, 5)
    second = dict(first) | integrity(32, 3, 1, 2, 195)
    second["fs/proc/slabinfo"] = with_larger_cache(first["fs/proc/slabinfo"], "kmalloc-1k", 200)
    second[GROUP + "memory.current"] = b"12500992\n"
    second[GROUP + "memory.events"] = with_numbers(first[GROUP + "memory.events"], {"high": 40, "max": 900, "oom": 3, "oom_kill": 2})
    second["fs/proc/vmstat"] = with_numbers(first["fs/proc/vmstat"], {
        "oom_kill": 5, "allocstall_normal": 60, "compact_stall": 20, "compact_fail": 6, "pgscan_direct": 5000, "pgsteal_direct": 3000,
        "pgscan_kswapd": 9000, "pgsteal_kswapd": 8000})
    second["fs/proc/pressure/memory"] = pressure(3000000, 900000)
    third = dict(second)
    third["errors.yaml"] = b"- {path: /proc/vmallocinfo, errno: 5}\n"
    del third["fs/proc/vmallocinfo"]
    for index, poll in enumerate((first, second, third)):
        poll["source/cpu_counters"] = counters(index)
        poll["source/linux_vm_events"] = vm_events(index)
        poll["source/linux_slab_events"] = slab_events(index)
        poll["source/linux_call_sites"] = call_sites(index)
        for path, content in poll.items():
            if isinstance(content, str):
                place = os.path.join(directory, f"{index:06d}", path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                os.symlink(content, place)
            elif path != "poll.yaml":
                captures.write_file(os.path.join(directory, f"{index:06d}", path), content)
        captures.write_file(os.path.join(directory, f"{index:06d}", "poll.yaml"),
                            f"label: poll {index}\nrealtime: 2026-11-20T15:20:{index}0Z\nmonotonic_ns: {(index + 1) * captures.POLL_NS}\n")
    manifest = files["manifest.yaml"].decode()
    captures.write_file(os.path.join(directory, "manifest.yaml"), manifest.partition("edits:")[0] + "edits: >" + EDITS + "\n")
    return directory
