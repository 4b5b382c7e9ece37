#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The formats that makedumpfile itself writes, compared with the original dump: types and objects must be the same.

    tests/guests/dump_formats.py DUMP

DUMP is an ELF dump of a guest of less than 1 GiB, as dump_linux.py --keep leaves it. Its headers are first laid out as /proc/vmcore has
them, which is what makedumpfile reads: program headers right behind the file's, with the kernel's addresses. makedumpfile is that of
dump_tools.py; it may know no kernel as new as that of the dump: what it refuses is printed with its reason and is no failure. MEMSTATCTL in
the environment: the program, by default build/bin/memstatctl. Exit status 77: makedumpfile is missing.
"""
import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import dump_tools
import kernels

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = {"zlib": ["-c"], "lzo": ["-l"], "zstd": ["-z"], "plain": [],
           "no zero pages": ["-c", "-d", "1"], "no caches": ["-c", "-d", "7"],
           "no free and user pages": ["-c", "-d", "31"], "ELF, no zero pages": ["-E", "-d", "1"],
           "ELF, no free and user pages": ["-E", "-d", "31"]}
CACHES = ("dentry", "kmalloc-64", "task_struct", "inode_cache")


def as_vmcore(dump, path, direct):
    """Writes the dump with the headers of /proc/vmcore; `direct` is where the kernel maps all memory."""
    with open(dump, "rb") as source, open(path, "wb") as target:
        header = bytearray(source.read(64))
        offset, = struct.unpack_from("<Q", header, 32)
        count, = struct.unpack_from("<H", header, 56)
        source.seek(offset)
        programs = [list(struct.unpack("<IIQQQQQQ", source.read(56))) for _ in range(count)]
        struct.pack_into("<Q", header, 32, 64)
        struct.pack_into("<Q", header, 40, 0)
        struct.pack_into("<HHHHH", header, 54, 56, count, 0, 0, 0)
        at = (64 + 56 * count + 4095) & ~4095
        places = []
        for program in programs:
            kind, _, begin, _, physical, size, _, _ = program
            places.append((begin, at, size))
            program[2:4] = at, direct + physical if kind == 1 else 0
            at = (at + size + 4095) & ~4095
        target.write(header + b"".join(struct.pack("<IIQQQQQQ", *program) for program in programs))
        for begin, to, size in places:
            source.seek(begin)
            target.seek(to)
            target.write(source.read(size))


def convert(dump, path, options):
    """"" or why makedumpfile did not write it."""
    program = dump_tools.command("usr/bin/makedumpfile")
    if "-F" in options:
        with open(path, "wb") as file:
            done = subprocess.run([*program, *options, str(dump)], stdout=file, stderr=subprocess.PIPE, check=False)
        said = done.stderr
    else:
        done = subprocess.run([*program, *options, str(dump), str(path)], capture_output=True, check=False)
        said = done.stdout + done.stderr
    if done.returncode == 0:
        return ""
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip() and "Copying" not in line]
    return "; ".join(lines[-4:]) or f"status {done.returncode}"


def ask(dump, *arguments):
    program = os.environ.get("MEMSTATCTL", str(ROOT / "build/bin/memstatctl"))
    done = subprocess.run([program, *arguments, "--from", str(dump), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr
    return json.loads(done.stdout), done.stderr


def answers_of(dump):
    """What memstatctl prints about a dump: {question: (output, messages)}."""
    found = {"types": ask(dump, "types")}
    for cache in CACHES:
        found[cache] = ask(dump, "objects", "slab/" + cache, "--limit", "1000000")
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("dump", type=pathlib.Path)
    dump = arguments.parse_args().dump
    try:
        dump_tools.find()
    except kernels.Missing as reason:
        print(reason)
        return 77
    wanted = answers_of(dump)
    print(f"ELF: {dump.stat().st_size >> 20} MiB, {len(wanted['types'][0]['types'])} types,",
          f"{sum(wanted[cache][0]['allocated'] for cache in CACHES)} objects of {', '.join(CACHES)}")
    different = read = 0
    gigabyte = 1 << 30
    direct = int(wanted["dentry"][0]["objects"][0]["address"], 16) // gigabyte * gigabyte
    with tempfile.TemporaryDirectory(prefix="memstat-formats-", dir=dump.parent) as directory:
        vmcore = pathlib.Path(directory) / "vmcore"
        as_vmcore(dump, vmcore, direct)
        print("as /proc/vmcore:", "the same" if answers_of(vmcore) == wanted else "DIFFERENT")
        for name, options in FORMATS.items():
            path = pathlib.Path(directory) / "converted"
            path.unlink(missing_ok=True)
            refused = convert(vmcore, path, options)
            if refused:
                print(f"{name} ({' '.join(options)}): makedumpfile refused: {refused}")
                continue
            read += 1
            found = answers_of(path)
            unlike = [question for question, answer in wanted.items() if found[question] != answer]
            different += bool(unlike)
            print(f"{name} ({' '.join(options)}): {path.stat().st_size >> 10} KiB,", "the same" if not unlike else f"DIFFERENT: {unlike}")
            for question in unlike:
                print("  complaints:", found[question][1][:500])
    return 1 if different or not read else 0


if __name__ == "__main__":
    sys.exit(main())
