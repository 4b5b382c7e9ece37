#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts the instructions of a steady poll and of a scrape with callgrind; unlike time, they do not depend on the machine's load.
instructions.py BUILD_DIR prints them in the format of instructions.txt; tests/end_to_end/instructions_test.py compares."""
import os
import platform
import re
import subprocess
import sys
import tempfile

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORD = os.path.join(SOURCE_DIR, "tests", "bench", "instructions.txt")
CAPTURES = ("linux-6.12-4cpu", "freebsd-15.0-amd64-4cpu")
TIMES = {"poll": 20, "scrape": 50}
# The C library copies with the best instructions of the CPU; all CPUs have these. Sizes of caches then do not matter either.
SAME_ON_EVERY_CPU = ("glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-BMI1,-BMI2,-LZCNT,-MOVBE,"
                     "-RTM,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load:glibc.cpu.x86_non_temporal_threshold=0x40000000")


def settings(build_dir):
    """What the counts depend on: {name: value}."""
    with open(os.path.join(build_dir, "CMakeCache.txt"), encoding="utf-8") as file:
        cache = dict(re.findall(r"^([A-Za-z_]+):[A-Z]+=(.*)$", file.read(), re.MULTILINE))
    compiler = subprocess.run([cache["CMAKE_CXX_COMPILER"], "--version"], check=True, capture_output=True, text=True).stdout
    build_type = cache["CMAKE_BUILD_TYPE"]
    flags = f"{cache.get('CMAKE_CXX_FLAGS', '')} {cache.get(f'CMAKE_CXX_FLAGS_{build_type.upper()}', '')}".strip()
    return {"compiler": compiler.splitlines()[0], "build": f"{build_type} {flags}",
            "system": f"{platform.machine()} {' '.join(platform.libc_ver())}"}


def count(program, step, directory, times):
    environment = dict(os.environ, GLIBC_TUNABLES=SAME_ON_EVERY_CPU, LC_ALL="C")
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, step, directory, str(times)],
                         env=environment, capture_output=True, text=True, timeout=600, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found:
        raise RuntimeError(f"{step} of {directory}: exit status {run.returncode}\n{run.stderr}")
    return int(found.group(1))


def measure(program):
    """{"poll linux-6.12-4cpu": instructions of one}: of 2N minus those of N, so that start-up is not included."""
    counts = {}
    with tempfile.TemporaryDirectory(prefix="memstat-instructions-") as directory:
        for capture in CAPTURES:
            archive = os.path.join(SOURCE_DIR, "tests", "fixtures", "captures", capture + ".tar.zst")
            unpacked = os.path.join(directory, capture)
            os.mkdir(unpacked)
            with subprocess.Popen(["zstd", "-dc", archive], stdout=subprocess.PIPE) as zstd:
                subprocess.run(["tar", "-x", "--strip-components=1", "-C", unpacked], stdin=zstd.stdout, check=True)
            for step, times in TIMES.items():
                once, twice = (count(program, step, unpacked, factor * times) for factor in (1, 2))
                counts[f"{step} {capture}"] = (twice - once) // times
    return counts


def write(environment, counts, file):
    file.write("# Instructions of one steady poll (read, parse, commit, track, render the text page) and of one scrape (making the\n"
               "# answer) of a capture. UPDATE_GOLDEN=1 tests/run instructions_test writes this file anew.\n")
    for name, value in environment.items():
        file.write(f"{name}: {value}\n")
    for name, value in counts.items():
        file.write(f"{name}: {value}\n")


def read():
    """The recorded values: {name: text}, both settings and counts."""
    with open(RECORD, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(": ", 1) for line in file if not line.startswith("#"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: instructions.py BUILD_DIR")
    write(settings(sys.argv[1]), measure(os.path.join(sys.argv[1], "bin", "instructions")), sys.stdout)
