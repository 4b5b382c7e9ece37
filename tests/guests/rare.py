#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Kernels that Debian does not build: without one of the options that memstatd's sources need, booted in QEMU.

    tests/guests/rare.py [VARIANT]...     without: base and all of --list; base is built in any case, as what the others differ from
    tests/guests/rare.py --list

Each is a small kernel of Debian's linux-source-6.12, which is downloaded once with apt, as is what builds it: gcc, make, flex, bison, bc,
libelf-dev. The page is held against the kernel's files as tests/guests/run does, and the sources against those of the base: what the
option takes away must be absent, and no other source may differ. Exit status: 0 all good, 1 something is wrong, 77 what it needs is
not there. A kernel takes some minutes, so this is not part of CI.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import checker
import guest_tests
import kernels
import machine
from kernel_files import PATTERNS
from rounds import check_rounds

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/guests/rare"
SUITE, PACKAGE = "bookworm-backports", "linux-source-6.12"
# What memstatd, busybox and the guest's serial lines need; allnoconfig leaves out all else, ACPI, block devices and IPv6 for example.
NEEDED = """64BIT SMP X86_MPPARSE X86_LOCAL_APIC PRINTK TTY SERIAL_8250 SERIAL_8250_CONSOLE BLK_DEV_INITRD BINFMT_ELF BINFMT_SCRIPT PROC_FS
PROC_SYSCTL SYSFS PROC_PAGE_MONITOR DEVTMPFS TMPFS SHMEM FUTEX EPOLL SIGNALFD TIMERFD EVENTFD POSIX_TIMERS FILE_LOCKING MULTIUSER UNIX NET
INET CGROUPS SECCOMP SECCOMP_FILTER DEBUG_KERNEL DEBUG_FS MEMFD_CREATE HIGH_RES_TIMERS ADVISE_SYSCALLS MEMBARRIER INOTIFY_USER KEYS SYSVIPC AIO
HUGETLBFS COMPACTION TRANSPARENT_HUGEPAGE BUG UNIX98_PTYS USER_NS NAMESPACES VMAP_STACK EXPERT CC_OPTIMIZE_FOR_PERFORMANCE"""
# What variants leave out.
BASE = ("NUMA", "MEMCG", "VM_EVENT_COUNTERS", "SLUB_DEBUG")
TINY = "SLUB_TINY"


@dataclasses.dataclass
class Variant:
    name: str
    without: tuple = ()
    absent: tuple = ()       # the sources that are then absent


VARIANTS = (
    Variant("base"),
    Variant("slub_tiny", without=("SLUB_DEBUG",), absent=("linux_slabinfo", "linux_slab_sysfs")),
    Variant("no_slub_debug", without=("SLUB_DEBUG",), absent=("linux_slabinfo", "linux_slab_sysfs")),
    Variant("no_numa", without=("NUMA",)),
    Variant("no_memcg", without=("MEMCG",), absent=("linux_memcg",)),
    Variant("no_vm_events", without=("VM_EVENT_COUNTERS",), absent=("linux_oom",)),
    Variant("bare", without=BASE, absent=("linux_slabinfo", "linux_slab_sysfs", "linux_memcg", "linux_oom")),
)
SCRIPT = "memstatd --selftest >/out/selftest 2>&1\n" + guest_tests.ROUNDS


def unpack_source():
    with tempfile.TemporaryDirectory(prefix="memstat-source-") as directory:
        work = pathlib.Path(directory)
        apt = kernels.apt_for(work, SUITE)
        kernels.run("apt-get", *apt, "update")
        kernels.run("apt-get", *apt, "download", PACKAGE, cwd=work)
        for package in work.glob("*.deb"):
            kernels.run("dpkg-deb", "-x", str(package), str(work / "tree"))
        archive = next((work / "tree/usr/src").glob("linux-source-*.tar.xz"))
        kernels.run("tar", "xf", str(archive), "-C", str(work))
        PLACE.mkdir(parents=True, exist_ok=True)
        shutil.move(work / PACKAGE, PLACE / PACKAGE)


def configure(variant, build):
    """Writes the configuration. A setting that it ignores is an error: an option has another name, or lacks one that it depends on."""
    wanted = [*NEEDED.split(), *(option for option in BASE if option not in variant.without), *([TINY] if variant.name == "slub_tiny" else [])]
    unwanted = [*variant.without, *([] if variant.name == "slub_tiny" else [TINY])]
    given = build / "wanted.config"
    given.write_text("".join(f"CONFIG_{option}=y\n" for option in wanted), encoding="ascii")
    kernels.run("make", "-s", "-C", str(PLACE / PACKAGE), f"O={build}", f"KCONFIG_ALLCONFIG={given}", "allnoconfig")
    taken = (build / ".config").read_text(encoding="ascii")
    lost = [option for option in wanted if f"CONFIG_{option}=y\n" not in taken]
    kept = [option for option in unwanted if f"CONFIG_{option}=y\n" in taken]
    if lost or kept:
        raise kernels.Missing(f"{variant.name}: not accepted: {' '.join(lost)}; not left out: {' '.join(kept)}")


def build_kernel(variant):
    build = PLACE / variant.name
    image = build / "arch/x86/boot/bzImage"
    if not image.exists():
        build.mkdir(parents=True, exist_ok=True)
        configure(variant, build)
        compiler = ["CC=ccache gcc"] if shutil.which("ccache") else []
        kernels.run("make", "-s", f"-j{os.cpu_count()}", "-C", str(PLACE / PACKAGE), f"O={build}", *compiler, "bzImage")
    release = (build / "include/config/kernel.release").read_text(encoding="ascii").strip()
    return kernels.Kernel(variant.name, release, image, build)


def states(selftest):
    """{source: (state, where, or why not)} of what --selftest printed."""
    rows = re.findall(r"^(linux_\w+)  +(\S.*?)  +(\S+)  +(\S.*)$", selftest, re.M)
    return {name: (state, why) for name, state, _, why in rows}


def boot(kernel, programs):
    extra = {"patterns": "\n".join(PATTERNS).encode(), "modules/order": b"",
             "memstatd.yaml": checker.CONFIGURATION.format(port=8947, user="nobody", migrate_types="on").encode()}
    test = machine.test_archive(SCRIPT.encode(), {"LEAVE": "reboot"}, extra, [])  # no ACPI to switch off by
    return machine.boot(kernel, [programs, test], machine.Shape(cpus=2, patience=300))


def judge(variant, outcome, base):
    """Returns the errors of a guest; prints the row of tests/README.md and each source that differs from the base."""
    wrong = [line for line in outcome.lines if line.startswith("wrong")] + ([] if outcome.ended else ["the guest did not finish"])
    found = states(outcome.files.get("selftest", b"").decode())
    if len(found) < 10:
        wrong.append("no self-test")
    for name, (state, why) in sorted(found.items()):
        before = base[name][0] if name in base else state
        if before == state and name not in variant.absent:
            continue
        print(f"  {name}: {before}, here {state}: {why}")
        if name not in variant.absent or state != "absent":
            wrong.append(f"{name}: {before}, here {state}")
    _, verdicts = check_rounds(outcome, {})
    bad = checker.report(verdicts, 12)
    exact, ranges = (sum(verdict[0] == word for verdict in verdicts.values()) for word in ("exact", "range"))
    print(f"  | {variant.name} | {exact} | {ranges} | {bad} |")
    if bad or not exact:
        wrong.append("wrong values")
    return wrong, found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("variants", nargs="*", metavar="VARIANT", help=argparse.SUPPRESS)
    arguments.add_argument("--list", action="store_true", help="print the variants and exit")
    arguments.add_argument("--verbose", action="store_true", help="print the console")
    options = arguments.parse_args()
    if options.list:
        for variant in VARIANTS:
            print(f"{variant.name:16} {' '.join('no ' + name for name in variant.without)}")
        return 0
    names = options.variants or [variant.name for variant in VARIANTS]
    unknown = set(names) - {variant.name for variant in VARIANTS}
    if unknown:
        print(f"no such variant: {', '.join(unknown)}; --list has them")
        return 2
    reason = machine.missing() or next((f"{tool} is not installed" for tool in ("gcc", "make", "flex", "bison", "bc") if not shutil.which(tool)), "")
    files = [ROOT / "build/bin" / name for name in ("memstatd", "memstatctl")]
    if not reason and not all(file.exists() for file in files):
        reason = "build/bin has no memstatd and memstatctl"
    good, base = True, {}
    try:
        if reason:
            raise kernels.Missing(reason)
        if not (PLACE / PACKAGE).exists():
            unpack_source()
        programs = machine.programs_archive(files)
        for variant in VARIANTS:
            if variant.name not in names and variant.name != "base":
                continue
            outcome = boot(build_kernel(variant), programs)
            print(f"KERNEL {variant.name}: booted in {outcome.boot_seconds:.1f} s")
            wrong, found = judge(variant, outcome, base)
            base = base or found
            if options.verbose or wrong:
                print(outcome.console[-6000:])
            for text in wrong:
                print(f"  wrong {text}")
            print(f"{'WRONG' if wrong else 'OK'} {variant.name}", flush=True)
            good = good and not wrong
    except kernels.Missing as missing:
        print(missing)
        return 77
    return 0 if good else 1


if __name__ == "__main__":
    os.nice(10)
    sys.exit(main())
