#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Dumps as kdump writes them: a real kernel crashes in QEMU, a second one that kexec loaded before saves /proc/vmcore.

    tests/guests/dump_kdump.py [KERNEL] [--keep DIRECTORY] [--memory 512] [--reserved 256]

The guest loads the second kernel with Debian's kexec, prints /proc/slabinfo and crashes by /proc/sysrq-trigger. The second kernel copies
/proc/vmcore to a disk as it is, and lets Debian's makedumpfile write it in four more forms. From all of them memstatctl must read the same
types, of each cache as many objects one by one as its counters say, and the caches of slabinfo; their objects may differ by what the guest
did until it crashed, which is printed. KERNEL is one of tests/guests/kernels.py; the tools are those of dump_tools.py. Exit status 77:
something of it is missing. MEMSTATCTL in the environment: the program, by default build/bin/memstatctl.
"""
import argparse
import pathlib
import re
import shutil
import sys
import tempfile
import time

import dump_linux
import dump_tools
import kernels
import machine

PATIENCE = 600  # s; two boots of an emulated machine, and four conversions
DRIVERS = ("virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk")
MOVED_OBJECTS = 1000  # of one cache; what running kexec's shell, printing and crashing take
FORMS = {"vmcore": None, "zlib": "-c -d 1", "lzo": "-l -d 17", "zstd": "-z -d 31"}
BEGIN = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /proc /sys /tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
"""
FIRST = BEGIN + """i=0
while [ $i -lt 300 ]; do echo >/tmp/file$i; i=$((i + 1)); done
find /sys /proc -maxdepth 4 >/dev/null 2>&1
kexec -p -s /crash/vmlinuz --initrd=/crash/initrd --append="console=ttyS0 quiet panic=-1 nr_cpus=1 irqpoll rdinit=/init"
echo LOADED $(cat /sys/kernel/kexec_crash_loaded)
cat /proc/slabinfo >/dev/null
echo VERSION $(cat /proc/version)
echo BEGIN slabinfo
cat /proc/slabinfo
echo END slabinfo
sleep 1
echo c >/proc/sysrq-trigger
"""
SECOND = BEGIN + """mount -t tmpfs -o size=75% tmpfs /tmp
echo SECOND KERNEL, $(stat -c %s /proc/vmcore) bytes of vmcore
for driver in DRIVERS; do [ -f /$driver.ko ] && insmod /$driver.ko; done
save() {  # DISK FILE
  cat $2 >/dev/$1 && sync && echo SAVED $1 $(stat -c %s $2)
}
WRITE
echo END of it
reboot -f
"""


def write_commands():
    """The second kernel's commands for each form, one disk each."""
    lines = []
    for number, options in enumerate(FORMS.values()):
        disk = "vd" + "abcdefgh"[number]
        if options is None:
            lines.append(f"save {disk} /proc/vmcore")
            continue
        lines.append(f"makedumpfile {options} /proc/vmcore /tmp/dump 2>/tmp/said && save {disk} /tmp/dump || tail -n 8 /tmp/said; rm -f /tmp/dump")
    return "\n".join(lines)


def busybox_with(init, files):
    busybox = pathlib.Path(machine.BUSYBOX).read_bytes()
    return machine.cpio({"dev/console": (0o20600, b"", (5, 1)), "bin/busybox": (0o100755, busybox), "init": (0o100755, init.encode()), **files})


def run_guest(work, kernel, options):
    """Boots, crashes and saves. Returns (the serial output, {form: file})."""
    drivers = {path.name: (0o100644, path.read_bytes()) for path in map(kernel.module, DRIVERS) if path}
    if "virtio_blk.ko" not in drivers:
        dump_linux.skip(f"kernel {kernel.name} was downloaded without its module virtio_blk; remove {kernels.CACHE / kernel.name}")
    second = SECOND.replace("DRIVERS", " ".join(DRIVERS)).replace("WRITE", write_commands())
    crash = {"crash/vmlinuz": (0o100644, kernel.image.read_bytes()),
             "crash/initrd": (0o100644, busybox_with(second, drivers | dump_tools.files_of(["usr/bin/makedumpfile"])))}
    devices, files = [], {}
    for form in FORMS:
        files[form] = work / form.replace(" ", "-")
        with open(files[form], "wb") as file:
            file.truncate(options.memory << 20)
        devices += ["-drive", f"file={files[form]},format=raw,if=virtio,cache=unsafe"]
    shape = machine.Shape(cpus=2, memory=options.memory, append=f"crashkernel={options.reserved}M", patience=PATIENCE, devices=tuple(devices))
    initrd = busybox_with(FIRST, crash | dump_tools.files_of(["usr/sbin/kexec"]))
    serial = machine.boot(kernel, [initrd], shape).console.replace("\r", "")
    saved = {f"vd{'abcdefgh'[number]}": form for number, form in enumerate(FORMS)}
    sizes = {saved[disk]: int(size) for disk, size in re.findall(r"SAVED (\w+) (\d+)", serial)}
    for form, path in files.items():
        with open(path, "r+b") as file:
            file.truncate(sizes.get(form, 0))
    return serial, {form: files[form] for form in FORMS if sizes.get(form)}


def compare_caches(slabinfo, types):
    """How many caches are missing or moved by more than the guest's last steps explain."""
    wanted = {row[0]: row[1:] for row in dump_linux.caches_of(slabinfo)}
    found = {one["type"]: (one["objects"], one["objects"] + one["free_objects"], one["held_bytes"]) for one in types if one["allocator"] == "slab"}
    same = sum(wanted[name] == found.get(name) for name in wanted)
    moved = {name: abs(row[0] - found[name][0]) for name, row in wanted.items() if name in found and row != found[name]}
    most = max(moved, key=moved.get, default="none")
    lost = sorted(wanted.keys() ^ found.keys())
    print(f"{len(wanted)} caches in slabinfo, {len(found)} in the dump: {same} the same, {len(moved)} moved, by at most",
          f"{moved.get(most, 0)} objects ({most}); only in one: {', '.join(lost) or 'none'}")
    return len(lost) + sum(distance > MOVED_OBJECTS for distance in moved.values())


def is_excused(form, serial, complaints):
    """Whether the only errors are pages that makedumpfile omitted, after it reported that it does not support this kernel."""
    lines = complaints.splitlines()
    for line in lines[:5]:
        print(f"  {line}")
    left_out = [line for line in lines if line.endswith("was left out of the dump")]
    if not lines or "-d" not in (FORMS[form] or "") or "kernel version is not supported" not in serial or left_out != lines:
        return False
    print(f"  {len(lines)} notes: makedumpfile does not support this kernel and left out what is no free or user page")
    return True


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kernel", nargs="?", default="6.1", help="one of " + ", ".join(kernels.SUITES))
    arguments.add_argument("--keep", type=pathlib.Path, help="where the dumps and the guest's output are kept")
    arguments.add_argument("--memory", type=int, default=512, help="MiB of the guest")
    arguments.add_argument("--reserved", type=int, default=256, help="MiB of these for the second kernel")
    options = arguments.parse_args()
    if machine.missing():
        dump_linux.skip(machine.missing())
    try:
        kernel = kernels.find(options.kernel)
        dump_tools.find()
    except kernels.Missing as reason:
        dump_linux.skip(reason)
    with tempfile.TemporaryDirectory(prefix="memstat-kdump-") as directory:
        work = pathlib.Path(directory)
        began = time.monotonic()
        serial, dumps = run_guest(work, kernel, options)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / "serial").write_text(serial, encoding="utf-8")
            for path in dumps.values():
                shutil.copy(path, options.keep)
        if "vmcore" not in dumps:
            print("no dump was saved:\n" + serial[-3000:])
            return 1
        print(re.search(r"VERSION (.*)", serial)[1])
        print(f"crashed, and saved by {re.search(r'SECOND KERNEL.*', serial)[0]}, after {time.monotonic() - began:.0f} s")
        wrong = 0
        types = None
        for form, path in dumps.items():
            found, complaints, seconds, most = dump_linux.read_dump(path)
            types = types or found
            print(f"{form} ({FORMS[form] or 'as it is'}): {path.stat().st_size >> 10} KiB, {len(found)} types in {seconds:.2f} s and {most:.0f} MiB,",
                  "the same" if found == types else "DIFFERENT")
            wrong += not is_excused(form, serial, complaints) and (found != types or bool(complaints))
        for form in FORMS.keys() - dumps.keys():
            print(f"{form} ({FORMS[form]}): not written: {serial[-600:]}")
            wrong += 1
        wrong += compare_caches(re.search(r"BEGIN slabinfo\n(.*?)END slabinfo", serial, re.S)[1], types)
        wrong += dump_linux.count_objects(dumps["vmcore"], sorted({one["type"] for one in types if one["allocator"] == "slab"}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
