#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A dump of a real Linux kernel, made in QEMU, compared with the files that the same guest printed just before.

    tests/guests/dump_linux.py [KERNEL] [--keep DIRECTORY] [--memory 128] [--cpus 2] [--nodes 1] [--owners] [--paging] [--large]
    tests/guests/dump_linux.py all [--again]

The guest prints /proc/slabinfo and the files of the page allocator (dump_memory.py) and stops; its memory is dumped by the monitor's
dump-guest-memory, with the VMCOREINFO that -device vmcoreinfo brings, once as an ELF file and once compressed by zlib. QEMU before 8.1
flattens what it compresses, so makedumpfile -R puts it in order;
memstatctl then reads both, which must be the same. Of each cache the allocated objects are counted one by one, which must be as many as
its counters say; with --owners the kernel keeps who allocated dentries, and each has a caller, a stack and an age; with --paging the ELF
file has virtual addresses; with --large, for guests of many GiB, there is the compressed dump only, and the objects of three caches are
counted. KERNEL is one of tests/guests/kernels.py, which downloads it. The compressed dump and the guest's files are left in
build/guests/dumps/KERNEL (KERNEL-large), and --again judges these without a guest; --keep leaves all and the ELF dump in a directory. Exit status 77:
something of it is missing. MEMSTATCTL in the environment: the program, by default build/bin/memstatctl.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import dump_memory
import dump_tools
import kernels
import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 300  # s; an emulated machine on a busy host
DUMPS = ROOT / "build/guests/dumps"  # of each kernel: its compressed dump, and its files as printed
LARGE_CACHES = ("dentry", "kmalloc-64", "task_struct")
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
for file in vmstat meminfo buddyinfo zoneinfo slabinfo; do
  echo BEGIN $file
  /bin/busybox cat /proc/$file
  echo END $file
done
echo "RESULT monitor @MONITOR@"
while :; do /bin/busybox sleep 1000; done
"""


def skip(reason):
    print(reason)
    sys.exit(77)


def run_guest(work, kernel, options):
    """Boots, reads the files over the serial line, dumps. Returns (version, {name: text})."""
    driver = kernel.module("qemu_fw_cfg")
    if driver is None:
        skip(f"kernel {kernel.name} was downloaded without its module qemu_fw_cfg; remove {kernels.CACHE / kernel.name}")
    dumps = [] if options.large else [f"dump-guest-memory {'-p ' if options.paging else ''}{work}/dump"]
    init = INIT.replace("@MONITOR@", "; ".join(("stop", *dumps, f"dump-guest-memory -z {work}/flattened", "quit")))
    content = {"dev/console": (0o20600, b"", (5, 1)), "bin/busybox": (0o100755, pathlib.Path(machine.BUSYBOX).read_bytes()),
               "init": (0o100755, init.encode()), "qemu_fw_cfg.ko": (0o100644, driver.read_bytes())}
    devices = ["-device", "vmcoreinfo"]
    if options.large:  # more than this machine may have
        devices += ["-object", f"memory-backend-ram,id=all,size={options.memory}M,reserve=off", "-machine", "memory-backend=all"]
    shape = machine.Shape(options.cpus, options.nodes, options.memory, append="slub_debug=U,dentry" if options.owners else "",
                          patience=PATIENCE, devices=tuple(devices))
    serial = machine.boot(kernel, [machine.cpio(content)], shape).console.replace("\r", "")
    if not (work / "flattened").exists():
        raise RuntimeError("the guest did not finish:\n" + serial[-3000:])
    dump_tools.find()
    with open(work / "flattened", "rb") as flattened:
        subprocess.run([*dump_tools.command("usr/bin/makedumpfile"), "-R", str(work / "compressed")], stdin=flattened, check=True)
    return re.search(r"VERSION (.*)", serial)[1], dict(re.findall(r"BEGIN (\w+)\n(.*?)END \1", serial, re.S))


def caches_of(slabinfo):
    """[(name, active objects, all objects, bytes held)], sorted."""
    rows = [line.split() for line in slabinfo.splitlines()[2:]]
    return sorted((words[0], int(words[1]), int(words[2]), int(words[14]) * int(words[5]) * 4096) for words in rows)


def read_dump(dump):
    """The same from memstatctl's reading of the dump; its messages; seconds, and maximum MiB of memory."""
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


def objects_of(dump, cache, *arguments):
    """memstatctl's list of the objects of a cache, and its messages."""
    program = os.environ.get("MEMSTATCTL", str(ROOT / "build/bin/memstatctl"))
    done = subprocess.run([program, "objects", "slab/" + cache, "--from", str(dump), "--json", *arguments], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout), done.stderr


def count_objects(dump, names):
    """Counts the objects of every cache one by one; returns how many caches disagree with their counters."""
    total = wrong = 0
    began = time.monotonic()
    for name in names:
        found, complaints = objects_of(dump, name, "--limit", "1")
        total += found["allocated"]
        if found["allocated"] != found["counted"] or complaints:
            wrong += 1
            print(f"OBJECTS of {name}: {found['allocated']} found, {found['counted']} counted; {complaints}")
    print(f"{total} objects of {len(names)} caches found one by one, {wrong} caches disagree with their counters,",
          f"{(time.monotonic() - began) / len(names):.2f} s each")
    return wrong


def check_owners(dump):
    """Whether each dentry has an owner; prints the most frequent stack."""
    found, complaints = objects_of(dump, "dentry", "--limit", "1000000")
    objects = found["objects"]
    whole = [one for one in objects if one.get("stack") and one["caller"] and 0 <= one.get("age_seconds", -1) < PATIENCE * 2]
    print(f"{len(whole)} of {len(objects)} dentries have a caller, a stack and an age; {complaints}")
    stacks = [";".join(one["stack"]) for one in whole]
    if stacks:
        print(f"of {stacks.count(max(stacks, key=stacks.count))} of them:", max(stacks, key=stacks.count))
    return len(objects) - len(whole) + (0 if objects else 1)


def judge(dump, compressed, files, options):
    """Whether memstatctl's output for the dump agrees with the guest's files, and is the same for the compressed dump."""
    types, complaints, seconds, most = read_dump(dump)
    again = types if compressed == dump else read_dump(compressed)[0]
    wrong = dump_memory.report(files, dump)
    caches = sorted({one["type"] for one in types if one["allocator"] == "slab"})
    wrong += count_objects(dump, LARGE_CACHES if options.large else caches)
    wrong += check_owners(dump) if options.owners else 0
    found = sorted((one["type"], one["objects"], one["objects"] + one["free_objects"], one["held_bytes"]) for one in types if one["allocator"] == "slab")
    wanted = caches_of(files["slabinfo"])
    different = sorted(set(wanted) ^ set(found))
    print(f"{len(wanted)} caches in the guest, {len(found)} in the dump, {len({row[0] for row in different})} different,",
          f"read in {seconds:.2f} s and {most:.0f} MiB")
    for name in sorted({row[0] for row in different}):
        print("DIFFERENT:", [row for row in wanted if row[0] == name], [row for row in found if row[0] == name])
    print(f"{len(types)} types of {len({one['allocator'] for one in types})} allocators,",
          "NOT THE SAME in the compressed dump" if again != types else "the same in the compressed dump")
    if complaints:
        print("COMPLAINTS:", complaints)
    return not (wrong or different or complaints or again != types or len(wanted) < 50)


def keep(place, work, files):
    """Keeps the compressed dump and the guest's output, and the ELF dump if there is one."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "dump.kdump").unlink(missing_ok=True)  # QEMU makes it readable only by its owner
    shutil.copy(work / "compressed", place / "dump.kdump")
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")


def run_one(name, options):
    """One kernel: boots it and judges its dump, or judges the kept one."""
    place = DUMPS / (f"{name}-large" if options.large else name)
    if options.again:
        if not (place / "dump.kdump").exists():
            skip(f"{place} has no dump: make it without --again")
        files = {path.name: path.read_text(encoding="utf-8") for path in place.iterdir() if path.name not in ("dump.kdump", "dump")}
        print(files["version"])
        return judge(place / "dump.kdump", place / "dump.kdump", files, options)
    with tempfile.TemporaryDirectory(prefix="memstat-guest-") as directory:
        work = pathlib.Path(directory)
        version, files = run_guest(work, kernels.find(name), options)
        print(version)
        files["version"] = version
        keep(place, work, files)
        if options.keep:
            keep(options.keep, work, files)
            if not options.large:
                shutil.copy(work / "dump", options.keep / "dump")
        return judge(work / ("compressed" if options.large else "dump"), work / "compressed", files, options)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kernel", nargs="?", default="6.1", help="one of " + ", ".join(kernels.SUITES) + ", or all")
    arguments.add_argument("--again", action="store_true", help="judge the dumps that earlier runs left, without a guest")
    arguments.add_argument("--keep", type=pathlib.Path, help="where the ELF dump is left, too")
    arguments.add_argument("--memory", type=int, default=128, help="MiB of the guest")
    arguments.add_argument("--cpus", type=int, default=2)
    arguments.add_argument("--nodes", type=int, default=1)
    arguments.add_argument("--paging", action="store_true", help="the ELF file has virtual addresses, which drgn needs")
    arguments.add_argument("--large", action="store_true", help="a guest of many GiB: the compressed dump only, with three caches")
    arguments.add_argument("--owners", action="store_true", help="the kernel keeps who allocated dentries")
    options = arguments.parse_args()
    if not options.again and machine.missing():
        skip(machine.missing())
    try:
        good = [run_one(name, options) for name in (kernels.SUITES if options.kernel == "all" else [options.kernel])]
    except kernels.Missing as reason:
        skip(reason)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
