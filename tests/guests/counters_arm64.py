#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Hardware counters in an emulated arm64 guest: QEMU counts cycles and retired instructions when it runs with -icount.

    tests/guests/counters_arm64.py [--kernel VMLINUZ]

A loop of known length must give that many instructions within 1 %. Needs Debian's qemu-system-arm and g++-aarch64-linux-gnu; without
--kernel, Debian's kernel for arm64 is downloaded (tests/guests/kernels.py). Exit status 77: something that it needs is missing.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import kernels
import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/guests"
LOOPS = 5_000_000  # of counters_arm64.c
PATIENCE = 540     # s; an emulated machine on a busy host


def skip(reason):
    print(reason)
    sys.exit(77)


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def build_init(work):
    sources = [path for directory in ("core/counters", "core/kernel", "core/base") for path in sorted((ROOT / directory).glob("*.cpp"))]
    run("aarch64-linux-gnu-gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-O1", "-I", ROOT / "core/include", "-c",
        HERE / "counters_arm64.c", "-o", work / "main.o")
    objects = []
    for path in sources:
        objects.append(work / (path.parent.name + "_" + path.stem + ".o"))
        run("aarch64-linux-gnu-g++", "-std=c++20", "-O1", "-ffunction-sections", "-I", ROOT, "-c", path, "-o", objects[-1])
    run("aarch64-linux-gnu-g++", "-static", "-Wl,--gc-sections", work / "main.o", *objects, "-o", work / "init")
    return work / "init"


def check(lines):
    """The errors in the guest's results."""
    found = {}
    for line in lines:
        words = line.split()
        found.setdefault(" ".join(words[:2]) if words[0] not in ("counters", "overflow") else words[0], []).append(words)
    wrong = []

    def near(value, wanted, share):
        return abs(int(value) - wanted) <= wanted * share

    if "end" not in [line.strip() for line in lines]:
        wrong.append("the guest did not finish")
    counters = int(found.get("counters", [["", "0"]])[0][1])
    if counters < 2:
        wrong.append(f"{counters} counters")
    for name in ("instructions 1", "PAPI_tot_ins 1", "r8 1"):
        words = found.get(name, [[]])[0]
        if len(words) != 5 or not near(words[2], 2 * LOOPS, 0.01) or words[3] != words[4]:
            wrong.append(f"{name}: {words}, wanted {2 * LOOPS} within 1 %, counted without interruption")
    words = found.get("cpu-cycles 1", [[]])[0]
    if len(words) != 5 or int(words[2]) == 0:
        wrong.append(f"cpu-cycles: {words}")
    many = found.get(f"instructions {counters + 2}", [])
    if not many or many[0][2] != "refused":
        wrong.append(f"a set that does not fit was not refused although exactness was requested: {many[:1]}")
    scaled = [words for words in many if len(words) == 5]
    if len(scaled) != counters + 2 or not any(int(words[4]) < int(words[3]) for words in scaled):
        wrong.append(f"a set that does not fit was not multiplexed: {scaled}")
    for words in scaled:
        if not near(words[2], 40 * LOOPS, 0.1):
            wrong.append(f"scaled: {words}, wanted {40 * LOOPS} within 10 %")
    # QEMU checks for overflows only occasionally, so the signals come late, and each starts the counter again.
    words = found.get("overflow", [[]])[0]
    if len(words) != 3 or not 1 <= int(words[1]) <= 10 or words[2] != "1":
        wrong.append(f"overflow: {words}, wanted 1 to 10 signals in {2 * LOOPS} instructions, at least 1,000,000 each")
    return wrong


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kernel", help="a kernel image for arm64")
    options = arguments.parse_args()
    for program, package in (("qemu-system-aarch64", "qemu-system-arm"), ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")):
        if not shutil.which(program):
            skip(f"{program} is not installed (Debian's {package})")
    with tempfile.TemporaryDirectory(prefix="memstat-guest-") as directory:
        work = pathlib.Path(directory)
        try:
            kernel = options.kernel or str(kernels.find(kernels.ARM64).image)
        except kernels.Missing as reason:
            skip(reason)
        init = build_init(work)
        content = {"proc": (0o40755, b""), "sys": (0o40755, b""), "dev/console": (0o20600, b"", (5, 1)), "init": (0o100755, init.read_bytes())}
        (work / "initrd").write_bytes(machine.cpio(content))
        done = subprocess.run(
            ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-icount", "shift=1", "-m", "512", "-nographic",
             "-no-reboot", "-nodefaults", "-serial", "stdio", "-kernel", kernel, "-initrd", str(work / "initrd"), "-append",
             "console=ttyAMA0 quiet panic=-1 rdinit=/init"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    lines = re.findall(r"^RESULT (.*?)\r?$", done.stdout, re.M)
    print("\n".join(lines) if lines else done.stdout[-3000:] + done.stderr[-2000:])
    wrong = check(lines) if lines else ["the guest printed no result"]
    for text in wrong:
        print("WRONG:", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
