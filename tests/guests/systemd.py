#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd's Debian package under a real systemd: a Debian 12 that QEMU boots, without KVM, with systemd as its first process.

    tests/guests/systemd.py [--part service|installed|kills] [--kernel KERNEL] [--rounds N] [--verbose]

Makes the package of build/ (memstatd and memstatctl must be built), and with mmdebstrap a root with systemd and what the package depends on, which is
kept below build/guests/systemd. In the guest a script installs the package with dpkg and prints an answer for each thing that it looks at. Part service
(systemd_guest.sh): the account, READY, RELOADING, STATUS, STOPPING, the watchdog, reads that hang, restarts, addresses, exposure, upgrade, purge. Part
installed (systemd_installed.sh): what the service may read as installed and with the drop-ins that ship as examples, whether an alert of the shipped rules
fires in a Prometheus outside, and scrapes from another network namespace. Part kills (systemd_kills.sh): in each of N rounds, which take a minute or
two, five kills by the kernel, earlyoom, nohang or systemd-oomd, and their incidents. What is wrong is printed with the end of the journal. Needs mmdebstrap,
qemu-system-x86 and busybox-static. Exit status: 0 all good, 1 something is wrong, 77 what it needs is not there. It takes some minutes, so it is not part of tests/run.
"""
import argparse
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import re
import shutil
import statistics
import sys
import tarfile
import tempfile

import kernels
import machine
import systemd_outside

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import bare_system  # noqa: E402

ROOT = HERE.parents[1]
PLACE = ROOT / "build/guests/systemd"
BASE = ("systemd", "systemd-sysv", "iproute2")
PARTS = {"service": "systemd_guest.sh", "installed": "systemd_installed.sh", "kills": "systemd_kills.sh"}
KILLERS = ("earlyoom", "nohang", "systemd-oomd", "python3-minimal")
MODULES = ("e1000", "veth", "brd")
LEFT_OUT = ("usr/share/doc/", "usr/share/locale/", "usr/share/man/", "usr/share/zoneinfo/", "var/cache/apt/", "var/lib/apt/")
CONSOLE_PRINTS_ANSWERS_ONLY = "systemd.show_status=no systemd.log_target=journal"
SHAPE = machine.Shape(cpus=2, memory=1536, append=CONSOLE_PRINTS_ANSWERS_ONLY, patience=6000)
SHAPES = {"service": SHAPE, "installed": SHAPE, "kills": dataclasses.replace(SHAPE, memory=2048, nodes=2)}
INIT = b"#!/bin/sh\nexec /lib/systemd/systemd\n"
TEST_UNIT = b"""[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /systemd_test.sh
"""
RELAY_SOCKET = f"[Socket]\nListenStream={systemd_outside.RELAY_PORT}\n".encode()
RELAY = b"[Service]\nExecStart=/lib/systemd/systemd-socket-proxyd 127.0.0.1:8947\n"
NO_RATE_LIMIT = b"[Journal]\nRateLimitBurst=0\nStorage=volatile\n"


def make_package(directory):
    """memstatd's package of build/, and the names of its dependencies."""
    kernels.run("cpack", "--config", str(ROOT / "build/CPackConfig.cmake"), "-G", "DEB", "-B", str(directory), "-D", "CPACK_COMPONENTS_ALL=daemon")
    package = next(directory.glob("memstatd_*.deb"))
    depends = kernels.run("dpkg-deb", "-f", str(package), "Depends")
    return package, sorted({re.split(r"[ (|]", word.strip())[0] for word in depends.split(",")})


def make_library(directory):
    """The library that makes reads of /proc/slabinfo hang."""
    library = directory / "hanging_read.so"
    kernels.run("cc", "-shared", "-fPIC", "-O1", "-I", str(ROOT), "-o", str(library), str(ROOT / "tests/support/hanging_read.c"), "-ldl")
    return library


def make_root(names):
    """The path of a tar with Debian 12, systemd and these packages; made once for the same names."""
    names = [*BASE, *names]
    target = PLACE / f"root-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:12]}.tar"
    return pathlib.Path(bare_system.make_base(str(target), names))


def files_of(tar):
    """The argument of machine.cpio(), from a tar."""
    files = {}
    with tarfile.open(tar) as archive:
        for member in archive:
            name = member.name.removeprefix("./").rstrip("/")
            if name in ("", ".") or name.startswith(LEFT_OUT):
                continue
            if member.isdir():
                files[name] = (0o40000 | member.mode, b"")
            elif member.issym():
                files[name] = (0o120777, member.linkname.encode())
            elif member.isreg() or member.islnk():  # a hard link becomes a separate file
                files[name] = (0o100000 | member.mode, archive.extractfile(member).read())
    return files


def additions(package, library, part, kernel, rounds, work):
    """The files that the test adds to the root directory."""
    units, masked = "etc/systemd/system", (0o120777, b"/dev/null")
    modules = {f"{name}.ko": (0o100644, path.read_bytes()) for name in MODULES if (path := kernel.module(name))}
    kills = {"hog": (0o100755, machine.provoke_program(work).read_bytes()), "rounds": (0o100644, b"%d\n" % rounds)} if part == "kills" else {}
    return modules | kills | {
        "usr/bin/busybox": (0o100755, pathlib.Path(machine.BUSYBOX).read_bytes()),
        "systemd_test.sh": (0o100755, (HERE / PARTS[part]).read_bytes()),
        "systemd_functions.sh": (0o100644, (HERE / "systemd_functions.sh").read_bytes()),
        f"{units}/relay.socket": (0o100644, RELAY_SOCKET),
        f"{units}/relay.service": (0o100644, RELAY),
        "memstatd.deb": (0o100644, package.read_bytes()),
        "hanging_read.so": (0o100755, library.read_bytes()),
        f"{units}/memstat-test.service": (0o100644, TEST_UNIT),
        f"{units}/default.target": (0o120777, b"/lib/systemd/system/multi-user.target"),
        f"{units}/multi-user.target.wants/memstat-test.service": (0o120777, b"../memstat-test.service"),
        f"{units}/serial-getty@ttyS0.service": masked,
        f"{units}/console-getty.service": masked,
        f"{units}/systemd-sysctl.service": masked,
        f"{units}/systemd-modules-load.service": masked,
        "etc/systemd/journald.conf.d/test.conf": (0o100644, NO_RATE_LIMIT),
    }


def table_of_kills(lines):
    """A line for each killer: how often its kills were made, and named rightly, with the quartiles of the time until they were on disk."""
    kills = {}
    for line in lines:
        found = re.match(r"kill \d+ by (.+?): (?:\d\S*-(\S+?)\.tar\S* after (\d+) ms; by (\S+), holder (\w+): .*|.*)", line)
        if found:
            kills.setdefault(f"{found[1]}, {found[2] or 'no incident'}", []).append(found)
    for name, found in kills.items():
        times = sorted(int(one[3]) for one in found if one[3])
        quartiles = ", ".join(f"{one:.0f}" for one in statistics.quantiles(times, method="inclusive")) if len(times) > 1 else ", ".join(map(str, times))
        killer = sum(one[4] == one[1].replace(" ", "_") for one in found)
        holder = sum(one[5] == "right" for one in found)
        yield f"{name}: {len(found)} kills, killer right {killer}, holder right {holder}, on disk within 2 s {sum(time <= 2000 for time in times)}; quartiles {quartiles or '-'} ms"


class Progress:
    """Prints the guest's answers when they come."""
    devices = ()

    @staticmethod
    def hear(line):
        if line.startswith("RESULT "):
            print(f"  {line.removeprefix('RESULT ').strip()}", flush=True)


def run_guest(kernel, tar, added, part):
    """(the console, a description of the system)."""
    files = files_of(tar) | added | {"init": (0o100755, INIT), "dev/console": (0o20600, b"", (5, 1))}
    with systemd_outside.outside() if part == "installed" else contextlib.nullcontext(Progress()) as watch:
        outcome = machine.boot(kernel, [machine.cpio(files)], SHAPES[part], watch)
    return outcome.console, f"{kernel.release}, booted in {outcome.boot_seconds:.0f} s, ended after {outcome.seconds:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.1", choices=kernels.SUITES)
    parser.add_argument("--part", default="service", choices=PARTS, help="what to test (service)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of five kills each (3)")
    parser.add_argument("--verbose", action="store_true", help="print the console")
    options = parser.parse_args()
    reason = machine.missing(options.kernel) or (systemd_outside.missing() if options.part == "installed" else "")
    for tool in ("mmdebstrap", "cpack", "dpkg-deb", "cc"):
        reason = reason or ("" if shutil.which(tool) else f"{tool} is not installed")
    if not reason and not all((ROOT / "build/bin" / name).exists() for name in ("memstatd", "memstatctl")):
        reason = "build/ has no memstatd and memstatctl: build them"
    if reason:
        print(reason)
        return 77
    with tempfile.TemporaryDirectory(prefix="memstat-systemd-", dir="/var/tmp") as directory:
        work = pathlib.Path(directory)
        try:
            package, names = make_package(work / "package")
            library = make_library(work)
            tar = make_root(sorted({*names, *(KILLERS if options.part == "kills" else ())}))
            kernel = kernels.find(options.kernel)
        except kernels.Missing as missing:
            print(missing)
            return 77
        added = additions(package, library, options.part, kernel, options.rounds, work)
        load = os.getloadavg()[1]
        console, what = run_guest(kernel, tar, added, options.part)
        what += f", load of this machine {load:.0f} and {os.getloadavg()[1]:.0f}"
    lines = re.findall(r"^RESULT (.*?)\r?$", console, re.M)
    answers = [line for line in lines if line.startswith(("ok ", "wrong "))]
    wrong = [line for line in answers if line.startswith("wrong ")]
    good = "end" in lines and answers and not wrong
    if options.verbose or not good:
        print(console)
    print("\n".join(f"  {line}" for line in [*(lines if options.part == "installed" else ()), *table_of_kills(lines)]))
    print(f"{'OK' if good else 'WRONG'} systemd {options.part}: {len(answers) - len(wrong)} ok, {len(wrong)} wrong{'' if 'end' in lines else ', and it did not finish'}; {what}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
