#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A dump of a real Linux kernel, made in QEMU, against the slabinfo that the same guest printed just before.

    tests/guests/dump_linux.py [KERNEL] [--keep DIRECTORY] [--memory 128] [--cpus 2] [--nodes 1]

The guest prints /proc/slabinfo and stops; its memory is dumped by the monitor's dump-guest-memory, with the VMCOREINFO that
-device vmcoreinfo brings, once as an ELF file and once compressed by zlib and flattened; memstatctl then reads both, which must be the
same. KERNEL is one of tests/guests/kernels.py, which downloads it. --keep
leaves dump and slabinfo there. Exit status 77: something of it is missing. MEMSTATCTL in the environment: the program, by default
build/bin/memstatctl.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import kernels
import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 300  # s; an emulated machine on a busy host
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox insmod /qemu_fw_cfg.ko || echo NO VMCOREINFO
/bin/busybox mount -t tmpfs tmpfs /tmp
i=0
while [ $i -lt 300 ]; do echo > /tmp/file$i; i=$((i + 1)); done
i=0
while [ $i -lt 150 ]; do /bin/busybox rm /tmp/file$((i * 2)); i=$((i + 1)); done
/bin/busybox find /sys /proc -maxdepth 4 > /dev/null 2>&1
/bin/busybox sleep 1
/bin/busybox cat /proc/version > /tmp/version
/bin/busybox cat /proc/slabinfo > /dev/null
echo VERSION $(/bin/busybox cat /tmp/version)
echo BEGIN SLABINFO
/bin/busybox cat /proc/slabinfo
echo END SLABINFO
while :; do /bin/busybox sleep 1000; done
"""


def skip(reason):
    print(reason)
    sys.exit(77)


def monitor(path, *commands):
    """Sends commands to QEMU's monitor, each after the one before has ended."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(path))
        answer = b""
        for command in (None, *commands):
            if command is not None:
                connection.sendall(command.encode() + b"\n")
                answer = b""
            while not answer.rstrip().endswith(b"(qemu)"):
                got = connection.recv(65536)
                if not got:
                    return
                answer += got
            if command and b"Error" in answer:
                raise RuntimeError(f"QEMU refused {command}: {answer.decode(errors='replace')}")


def run_guest(work, kernel, options):
    """Boots, reads slabinfo over the serial line, dumps. Returns (version, slabinfo)."""
    driver = kernel.module("qemu_fw_cfg")
    if driver is None:
        skip(f"kernel {kernel.name} was downloaded without its module qemu_fw_cfg; remove {kernels.CACHE / kernel.name}")
    content = {"dev/console": (0o20600, b"", (5, 1)), "bin/busybox": (0o100755, pathlib.Path(machine.BUSYBOX).read_bytes()),
               "init": (0o100755, INIT.encode()), "qemu_fw_cfg.ko": (0o100644, driver.read_bytes())}
    (work / "initrd").write_bytes(machine.cpio(content))
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(options.memory), "-smp", str(options.cpus),
               "-nographic", "-no-reboot", "-nodefaults", "-serial", f"file:{work}/serial", "-device", "vmcoreinfo", "-kernel",
               str(kernel.image), "-initrd", str(work / "initrd"), "-monitor", f"unix:{work}/monitor,server,nowait", "-append",
               "console=ttyS0 quiet panic=-1 rdinit=/init"]
    for node in range(options.nodes if options.nodes > 1 else 0):
        part = options.memory // options.nodes
        command += ["-object", f"memory-backend-ram,id=m{node},size={part}M", "-numa", f"node,nodeid={node},memdev=m{node}"]
    guest = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        serial = ""
        while "END SLABINFO" not in serial:
            if time.monotonic() > deadline or guest.poll() is not None:
                raise RuntimeError("the guest did not come to its end:\n" + serial[-3000:])
            time.sleep(0.1)
            if (work / "serial").exists():
                serial = (work / "serial").read_text(encoding="utf-8", errors="replace")
        monitor(work / "monitor", "stop", f"dump-guest-memory {work}/dump", f"dump-guest-memory -z {work}/compressed", "quit")
    finally:
        guest.kill()
        guest.wait()
    serial = serial.replace("\r", "")
    return re.search(r"VERSION (.*)", serial)[1], re.search(r"BEGIN SLABINFO\n(.*?)END SLABINFO", serial, re.S)[1]


def caches_of(slabinfo):
    """[(name, active objects, all objects, bytes held)], sorted."""
    rows = [line.split() for line in slabinfo.splitlines()[2:]]
    return sorted((words[0], int(words[1]), int(words[2]), int(words[14]) * int(words[5]) * 4096) for words in rows)


def read_dump(dump):
    """The same of memstatctl's reading of the dump; what it complained of; seconds, and MiB of memory at most."""
    program = os.environ.get("MEMSTATCTL", str(ROOT / "build/bin/memstatctl"))
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        began = time.monotonic()
        process = subprocess.Popen([program, "types", "--from", str(dump), "--json"], stdout=output, stderr=complaints)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        complaints.seek(0)
        if process.returncode != 0:
            raise RuntimeError(complaints.read())
        types = json.load(output)["types"]
        return types, complaints.read(), seconds, usage.ru_maxrss / 1024


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kernel", nargs="?", default="6.1", help="one of " + ", ".join(kernels.SUITES))
    arguments.add_argument("--keep", type=pathlib.Path, help="where dump and slabinfo are left")
    arguments.add_argument("--memory", type=int, default=128, help="MiB of the guest")
    arguments.add_argument("--cpus", type=int, default=2)
    arguments.add_argument("--nodes", type=int, default=1)
    options = arguments.parse_args()
    if machine.missing():
        skip(machine.missing())
    try:
        kernel = kernels.find(options.kernel)
    except kernels.Missing as reason:
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="memstat-guest-") as directory:
        work = pathlib.Path(directory)
        version, slabinfo = run_guest(work, kernel, options)
        types, complaints, seconds, most = read_dump(work / "dump")
        compressed, *_ = read_dump(work / "compressed")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(work / "dump", options.keep / "dump")
            (options.keep / "slabinfo").write_text(slabinfo, encoding="utf-8")
    found = sorted((one["type"], one["objects"], one["objects"] + one["free"], one["held"]) for one in types if one["allocator"] == "slab")
    wanted = caches_of(slabinfo)
    different = sorted(set(wanted) ^ set(found))
    print(version)
    print(f"{len(wanted)} caches in the guest, {len(found)} in the dump, read in {seconds:.2f} s and {most:.0f} MiB")
    for name in sorted({row[0] for row in different}):
        print("DIFFERENT:", [row for row in wanted if row[0] == name], [row for row in found if row[0] == name])
    print(f"{len(types)} types of {len({one['allocator'] for one in types})} allocators,",
          "the same in the compressed dump" if compressed == types else "NOT THE SAME in the compressed dump")
    if complaints:
        print("COMPLAINTS:", complaints)
    return 1 if different or complaints or compressed != types or len(wanted) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
