#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's files as proc(5) and the kernel's Documentation/ describe them: which the checker reads, and what is in them.

Shares nothing with memstatd: a mistake in its parsers must not be repeated here.
"""
import functools
import glob
import re

PAGE_SIZES = (4096, 16384, 65536)

# Shell patterns, also of the guest's shell: no braces.
PATTERNS = """
/proc/cgroups /proc/slabinfo /proc/vmallocinfo /proc/allocinfo /proc/zoneinfo /proc/buddyinfo /proc/pagetypeinfo /proc/vmstat
/proc/pressure/memory /proc/pressure/io /proc/meminfo /proc/net/protocols /proc/net/sockstat /proc/net/sockstat6 /proc/net/netstat /proc/net/snmp
/proc/net/snmp6 /proc/net/packet /proc/net/netlink /proc/sys/net/ipv4/tcp_mem /proc/sys/net/ipv4/udp_mem /proc/sys/net/sctp/sctp_mem
/proc/sys/net/ipv4/ipfrag_high_thresh /proc/sys/net/ipv6/ip6frag_high_thresh /proc/sys/net/ipv4/tcp_max_orphans
/proc/sys/net/ipv4/tcp_max_tw_buckets /proc/sys/net/ipv4/neigh/default/gc_thresh[23] /proc/sys/net/ipv6/neigh/default/gc_thresh[23]
/proc/net/stat/nf_conntrack /proc/net/stat/arp_cache /proc/net/stat/ndisc_cache /proc/sys/net/netfilter/nf_conntrack_count
/proc/sys/net/netfilter/nf_conntrack_max /proc/sys/fs/file-nr /proc/sys/fs/inode-state /proc/sys/fs/dentry-state /proc/sys/kernel/dmesg_restrict /proc/sys/fs/aio-nr
/proc/sys/fs/aio-max-nr /proc/sys/fs/epoll/max_user_watches /proc/sys/fs/inotify/max_user_* /proc/sys/fs/fanotify/max_user_*
/proc/spl/kstat/zfs/arcstats /proc/sys/vm/overcommit_memory /proc/sys/vm/max_map_count /proc/sys/net/core/somaxconn /proc/sys/net/core/[rw]mem_max
/proc/loadavg /proc/stat /proc/sys/kernel/threads-max /proc/sys/kernel/pid_max /proc/sys/kernel/pty/nr /proc/sys/kernel/pty/max
/proc/sys/kernel/shm* /proc/sys/kernel/sem /proc/sys/kernel/msgmni /proc/sys/kernel/tainted /proc/sys/kernel/osrelease /proc/key-users
/proc/sys/vm/overcommit_memory /proc/sysvipc/* /proc/[0-9]*/statm /proc/[0-9]*/comm
/sys/kernel/slab/*/slabs /sys/kernel/slab/*/partial /sys/kernel/slab/*/cpu_slabs /sys/kernel/slab/*/object_size
/sys/kernel/slab/*/order /sys/kernel/slab/*/total_objects /sys/kernel/slab/*/sanity_checks /sys/kernel/slab/*/red_zone
/sys/kernel/slab/*/poison /sys/kernel/slab/*/store_user /sys/kernel/slab/*/alloc_*path /sys/kernel/slab/*/free_*path
/sys/kernel/slab/*/alloc_cpu_sheaf /sys/kernel/slab/*/free_rcu_sheaf
/sys/kernel/warn_count /sys/kernel/oops_count /sys/kernel/debug/kfence/stats /sys/kernel/debug/percpu_stats
/sys/kernel/debug/zswap/* /sys/kernel/mm/ksm/pages_shar* /sys/module/damon_stat/parameters/* /sys/kernel/mm/transparent_hugepage/*/stats/*a[ln][ol]* /sys/kernel/tracing/buffer_total_size_kb /sys/kernel/mm/cma/*/*_pages* /sys/kernel/mm/hugepages/*/*hugepages
/sys/block/zram[0-3]/mm_stat /sys/devices/system/node/node[0-9]*/hugepages/*/*hugepages /sys/module/zswap/parameters/*
/var/log/pods/*/*/*.log
""".split() + [f"/sys/fs/cgroup{'/*' * depth}/{file}" for depth in range(8) for file in ("memory.*", "cgroup.stat", "pids.*")]

SKIPPED = re.compile(r"/(memory\.(reclaim|numa_stat|force_empty|pressure_level)|memory\.kmem\.slabinfo)$")


class Reading:
    """What the files held at one time: {path: text}. `refused` are those that were there and could not be read."""

    def __init__(self, files, refused=()):
        self.files = files
        self.refused = set(refused)

    @classmethod
    def live(cls):
        files, refused = {}, []
        for pattern in PATTERNS:
            for path in sorted(glob.glob(pattern)):
                if SKIPPED.search(path):
                    continue
                try:
                    with open(path, encoding="utf-8", errors="surrogateescape") as file:
                        files[path] = file.read()
                except OSError as error:
                    if error.errno in (1, 13):
                        refused.append(path)
        return cls(files, refused)

    @classmethod
    def recorded(cls, paths, lines, errors):
        """From a guest: the list of paths, and what grep -H '' printed of them in that order."""
        wanted = paths.split("\n")
        files = {}
        at = 0
        for line in lines.split("\n"):
            for place in range(at, len(wanted)):
                if wanted[place] and line.startswith(wanted[place] + ":"):
                    at = place
                    files.setdefault(wanted[at], []).append(line[len(wanted[at]) + 1:])
                    break
        refused = re.findall(r"(/\S+): (?:Permission denied|Operation not permitted)", errors)
        failed = set(re.findall(r"(/\S+): ", errors))
        empty = {path: "" for path in wanted if path and path not in files and path not in failed}
        return cls({path: "\n".join(text) + "\n" for path, text in files.items()} | empty, refused)

    @classmethod
    def captured(cls, files, poll):
        """Of one poll of a capture: {path in the capture: bytes, or a str for a symbolic link}."""
        start = f"{poll}/fs"
        found = {path[len(start):]: content for path, content in files.items() if path.startswith(start + "/")}
        links = {path: f"{path.rpartition('/')[0]}/{target}" for path, target in found.items() if isinstance(target, str)}
        for link, target in links.items():
            found = {link + path[len(target):]: content for path, content in found.items() if path.startswith(target + "/")} | found
        refused = re.findall(r"path: (/\S+), errno: (?:1|13)\b", files.get(f"{poll}/errors.yaml", b"").decode())
        return cls({path: content.decode("utf-8", "surrogateescape") for path, content in found.items() if isinstance(content, bytes)},
                   refused)

    @functools.cached_property
    def page_size(self):
        """MemTotal is the managed pages of all zones; where neither is there, or does not fit, pages have 4 KiB."""
        total, managed = self.meminfo().get("MemTotal", 0), sum(zone.get("managed", 0) for zone in self.zones())
        return next((size for size in PAGE_SIZES if managed and abs(total - managed * size) < 0.02 * total), PAGE_SIZES[0])

    def __contains__(self, path):
        return path in self.files

    def text(self, path):
        return self.files.get(path, "")

    def lines(self, path):
        return self.text(path).splitlines()

    def words(self, path):
        return self.text(path).split()

    def number(self, path, place=0):
        words = self.words(path)
        return int(words[place]) if len(words) > place else None

    def below(self, directory):
        """{path below the directory: text}"""
        return {path[len(directory):]: text for path, text in self.files.items() if path.startswith(directory)}

    def keyed(self, path, separator=None):
        """{first word: second word as a number} of each line."""
        found = {}
        for line in self.lines(path):
            words = line.replace(":", " ").split(separator)
            if len(words) >= 2 and words[1].isdigit():
                found.setdefault(words[0], int(words[1]))
        return found

    def pressure(self, path):
        """{kind: seconds lost}"""
        found = re.findall(r"^(some|full) .*total=(\d+)", self.text(path), re.M)
        return {kind: int(microseconds) / 1e6 for kind, microseconds in found}

    def meminfo(self):
        """Bytes by the names of the lines; numbers of pages have no unit there."""
        found = {}
        for line in self.lines("/proc/meminfo"):
            name, _, rest = line.partition(":")
            words = rest.split()
            found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
        return found

    def paired(self, path, prefix):
        """Of files in which a line of names stands over a line of numbers, both behind a prefix."""
        lines = [line.split()[1:] for line in self.lines(path) if line.startswith(prefix + ":")]
        return dict(zip(lines[0], map(int, lines[1]))) if len(lines) == 2 else {}

    def columns(self, path, base):
        """Rows of a file whose first line names the columns: [{name: number}]."""
        lines = self.lines(path)
        if not lines:
            return []
        names = lines[0].split()
        return [{name: int(word, base) for name, word in zip(names, line.split()) if re.fullmatch(r"-?[0-9a-fA-F]+", word)}
                for line in lines[1:] if line.strip()]

    def zones(self):
        """Of /proc/zoneinfo: [{node, zone, figures by name, cpus: {cpu: pages}}]."""
        zones = []
        cpu = None
        for line in self.lines("/proc/zoneinfo"):
            if match := re.match(r"Node (\d+), zone\s+(\S+)", line):
                zones.append({"node": match[1], "zone": match[2], "cpus": {}})
                continue
            if match := re.match(r"\s+cpu: (\d+)", line):
                cpu = match[1]
            elif match := re.match(r"\s+count:\s+(\d+)", line):
                zones[-1]["cpus"][cpu] = int(match[1])
            elif match := re.match(r"\s+(?:pages )?(\w+):?\s+(\d+)$", line):
                zones[-1].setdefault(match[1], int(match[2]))
        return zones

    def buddies(self):
        """{(node, zone): [free blocks by order]} of /proc/buddyinfo."""
        found = {}
        for line in self.lines("/proc/buddyinfo"):
            if match := re.match(r"Node (\d+), zone\s+(\S+)\s+(.*)", line):
                found[match[1], match[2]] = list(map(int, match[3].split()))
        return found

    def migrate_types(self):
        """[(node, zone, type, order, blocks)] of the first table of /proc/pagetypeinfo; more than 100000 stand there as >100000."""
        found = []
        for line in self.lines("/proc/pagetypeinfo"):
            if match := re.match(r"Node\s+(\d+), zone\s+(\S+), type\s+(\S+)\s+(.*)", line):
                for order, blocks in enumerate(match[4].split()):
                    found.append((match[1], match[2], match[3], order, int(blocks.lstrip(">"))))
        return found


def placed(text, letter):
    """(total, {place: number}) of "12 N0=7 N1=5"."""
    words = text.split()
    rest = dict(re.findall(rf"\b{letter}(\d+)=(\d+)", text))
    return int(words[0]), {place: int(number) for place, number in rest.items()}
