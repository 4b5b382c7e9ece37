#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The summary of memory under load: a guest uses memory in one way after another. Unaccounted memory on the page must stay within 1 % of
the memory and 16 MiB, or be memory that no kernel file counts according to the runbook."""
import dataclasses
import pathlib
import re

RUNBOOK = pathlib.Path(__file__).resolve().parents[2] / "dashboards/runbooks.md"
MIB = 1 << 20


@dataclasses.dataclass
class Load:
    name: str
    take: str          # a line of shell
    is_provoked: bool = True  # whether `take` is arguments of provoke, which keeps what it allocated until it is killed
    undo: str = ":"
    runbook_name: str = ""   # its name in the runbook, if no kernel file has it


BALLOON = ("virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_balloon")  # in the order of insmod

LOADS = (
    Load("page cache", "tail -f /dev/null </dev/ram0 & dd if=/dev/ram0 of=/dev/null bs=1M count=128", is_provoked=False,  # until the last close
         undo="killall tail"),
    Load("tmpfs", "mkdir -p /shm; mount -t tmpfs tmpfs /shm; dd if=/dev/zero of=/shm/file bs=1M count=128", is_provoked=False, undo="umount /shm"),
    Load("huge pages", "echo 64 >/proc/sys/vm/nr_hugepages", is_provoked=False, undo="echo 0 >/proc/sys/vm/nr_hugepages"),
    Load("transparent huge pages", "thp 64"),
    Load("locked memory", "locked 128"),
    Load("vmalloc (BPF arrays)", "bpf_map 128"),
    Load("TCP sockets", "tcp_unread 10"),
    Load("Unix sockets", "unread_unix 128", runbook_name="Unix sockets"),
    Load("pipes", "full_pipe 128", runbook_name="pipes"),
    Load("packet rings", "packet_ring 16", runbook_name="packet rings"),
    Load("a thousand processes", "process 1000", runbook_name="upper levels of page tables"),
    Load("ftrace", "echo 65536 >/sys/kernel/tracing/buffer_size_kb", is_provoked=False, undo="echo 64 >/sys/kernel/tracing/buffer_size_kb"),
    Load("zswap", "for module in lzo lzo_rle; do insmod /modules/$module.ko; done; cd /sys/module/zswap/parameters; echo zsmalloc >zpool; echo 1 >enabled; "
         "mkswap /dev/ram0; swapon /dev/ram0; mkdir -p /sys/fs/cgroup/swapped; cd /sys/fs/cgroup/swapped; "
         "sh -c 'echo $$ >cgroup.procs; exec provoke half_random 160' >/tmp/filled & until [ -s /tmp/filled ]; do sleep 1; done; "
         "echo 16M >/sys/fs/cgroup/swapped/memory.high; grep -i swap /proc/meminfo", is_provoked=False,
         undo="swapoff /dev/ram0; echo 0 >/sys/module/zswap/parameters/enabled"),
    Load("balloon", f"for module in {' '.join(BALLOON)}; do insmod /modules/$module.ko; done; echo RESULT monitor balloon 896 >/dev/console; sleep 5",
         is_provoked=False, undo="echo RESULT monitor balloon 1024 >/dev/console; sleep 3"),
    Load("RAM disk", "dd if=/dev/zero of=/dev/ram1 bs=1M count=128 conv=fsync; echo 3 >/proc/sys/vm/drop_caches", is_provoked=False,
         undo="rmmod brd", runbook_name="RAM disks"),
    Load("zram", "for module in lz4_compress lz4hc_compress zram; do insmod /modules/$module.ko; done; echo 256M >/sys/block/zram0/disksize; "
         "[ -b /dev/zram0 ] && dd if=/dev/urandom of=/dev/zram0 bs=1M count=96 conv=fsync; "
         "echo 3 >/proc/sys/vm/drop_caches", is_provoked=False, undo="rmmod zram"),
)


def script():
    lines = ["mkdir -p /out/account; insmod /modules/brd.ko rd_nr=2 rd_size=262144; start_memstatd || return 0", "sleep 3", "page /out/account/idle"]
    for number, load in enumerate(LOADS):
        name = f"/out/account/{number}"
        if load.is_provoked:
            lines += [f"provoke {load.take} >{name}.said 2>&1 &",
                      f"for _ in $(seq 60); do [ -s {name}.said ] && break; kill -0 $! 2>/dev/null || break; sleep 1; done"]
        else:
            lines.append(f"({load.take}) >{name}.said 2>&1")
        lines += ["sleep 4", f"page {name}.page || result wrong {number}: no page", "killall provoke 2>/dev/null",
                  "for _ in $(seq 60); do pidof provoke >/dev/null || break; sleep 1; done", f"{load.undo} 2>/dev/null", "sleep 2"]
    return "\n".join(lines) + "\n"


def account(page):
    """({part: bytes}, bytes unaccounted, bytes of memory)"""
    parts = {part: float(value) for part, value in re.findall(r'^memstat_accounted_bytes\{part="([^"]+)"\} (\S+)', page, re.M)}
    found = [re.search(rf"^memstat_{name}_bytes (\S+)", page, re.M) for name in ("unaccounted", "memory_total")]
    return parts, *(float(one[1]) if one else float("nan") for one in found)


def check(outcome):
    """Returns the errors, and prints the table of tests/README.md."""
    idle, resting, whole = account(outcome.files.get("account/idle", b"").decode())
    runbook = RUNBOOK.read_text(encoding="utf-8").partition("## MemstatUnaccountedGrowth")[2].partition("\n## ")[0]
    wrong = []
    for number, load in enumerate(LOADS):
        parts, rest, total = account(outcome.files.get(f"account/{number}.page", b"").decode())
        bound = 0.01 * total + 16 * MIB
        taken = (sum(parts.values()) + rest - sum(idle.values()) - resting + whole - total) / MIB  # a balloon's memory is no longer the kernel's
        grown = sorted(((value - idle.get(part, 0)) / MIB, part) for part, value in parts.items())[-2:]
        words = ", ".join(f"{part} {amount:+.0f}" for amount, part in reversed(grown) if amount >= 4)
        verdict = "within" if abs(rest) <= bound else f"runbook: {load.runbook_name}" if load.runbook_name else "WRONG"
        print(f"  | {load.name} | {taken:.0f} | {words or 'none'} | {(rest - resting) / MIB:+.1f} | {rest / MIB:.1f} of {bound / MIB:.1f} | {verdict} |")
        if not abs(rest) <= bound and not (load.runbook_name and load.runbook_name in runbook):
            wrong.append(f"{load.name}: {rest / MIB:.1f} MiB are unaccounted, {bound / MIB:.1f} may be")
        if not taken > 32:
            said = outcome.files.get(f"account/{number}.said", b"").decode().strip().splitlines()[-1:]
            wrong.append(f"{load.name}: only {taken:.0f} MiB were taken, so nothing is shown {said}")
    return wrong
