#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fuzzes the parsers of Linux's text files against the slow, obvious ones in tests/guests, which share no code with them. Changes numbers
and blanks in captured files, and removes, duplicates and reorders lines. Each value on memstatd's page must equal what the checker
reads in the same files. A kernel could have written all of them; the other fuzzers cover impossible files.

`python3 tests/support/differential.py ROUNDS [SEED]` with MEMSTATD and SOURCE_DIR in the environment; prints the seed of each round
with a difference; ROUNDS 1 with that seed reproduces it."""
import io
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "guests")]
import captures  # noqa: E402
import checker  # noqa: E402
import program  # noqa: E402
from kernel_files import Reading  # noqa: E402

OPTIONS = {"processes": True, "migrate_types": True}
CHANGES = 60  # of a capture
NUMBER = re.compile(r"(?<![\w.:/+>-])\d+(?![\w.:/+%-])")
PLACE = re.compile(r"(^(Node|\s+cpu:|Page block order:)|^\s+(spanned|present|managed))\s+$")  # before a number that is not a value
PLACED = re.compile(r"(\d+)((?: [NC]\d+=\d+)*) ([NC]\d+)=(\d+)")
# Files whose lines are independent of each other, and the number of their header lines.
HEADER_LINES = {"/proc/slabinfo": 2, "/proc/vmallocinfo": 0, "/proc/allocinfo": 2, "/proc/vmstat": 0, "/proc/meminfo": 0,
                "/proc/net/protocols": 1}
MANY = ("/proc/vmallocinfo", "/proc/allocinfo")  # each of which may appear any number of times
# What kernels never write: a pool with more free pages than it has, fewer files open than free, a process with more memory than
# addresses, an order that no slab has, more partial slabs than slabs, switches that are neither 0 nor 1. Files of slab caches whose
# number has no parts stay as they are, since their parts would not add up.
NOT_FREE = re.compile(r"hugepages/|/file-nr$|/statm$|/proc/self/|/proc/stat$|/cpulist$|/node/online$|/mm/cma/|/pty/|/mem_profiling$|"
                      r"/sys/kernel/slab/.*/(order|object_size|partial|cpu_slabs|sanity_checks|red_zone|poison|store_user)$")
NEVER_0 = re.compile(r"_mem$|thresh|max|percent|kernel/(shm|sem|msg|pty)")  # limits; 0 means none


def other_number(match, rng, least):
    number = int(match[0])
    return str(max(least, rng.choice((0, number + 1, max(number - 1, 0), rng.randrange(1 << 12), rng.randrange(1 << 20), rng.randrange(1 << 40)))))


def changed_line(path, line, rng):
    if PLACED.fullmatch(line):  # a sum and its parts
        more = rng.randrange(1000)
        return PLACED.sub(lambda match: f"{int(match[1]) + more}{match[2]} {match[3]}={int(match[4]) + more}", line)
    numbers = [match for match in NUMBER.finditer(line) if not PLACE.search(line[:match.start()])]
    if path == "/proc/slabinfo":  # except the geometry of slabs, which must be consistent
        numbers = numbers[:2] + numbers[-3:]
    if not numbers or path.startswith("/sys/kernel/slab/"):
        return line
    if rng.random() < 0.1:
        return re.sub(r"(?<=\S)  +(?=\S)", lambda match: match[0] + " " * rng.randrange(3), line)
    match = rng.choice(numbers)
    return line[:match.start()] + other_number(match, rng, int(bool(NEVER_0.search(path)))) + line[match.end():]


def changed(path, text, rng):
    lines = text.split("\n")
    first = HEADER_LINES.get(path)
    end = len(lines) - text.endswith("\n")
    if first is not None and end - first > 2 and rng.random() < 0.4:
        one, other = rng.randrange(first, end), rng.randrange(first, end)
        manner = rng.choice(("exchange", "drop", "double") if path in MANY else ("exchange",))
        if manner == "drop":
            del lines[one]
        elif manner == "exchange":
            lines[one], lines[other] = lines[other], lines[one]
        else:
            lines.insert(other, lines[one])
    elif end:
        at = rng.randrange(first or 0, end)
        lines[at] = changed_line(path, lines[at], rng)
    return "\n".join(lines)


def kernel(rng):
    """(name, files, last poll) of a capture, without tables that are not read from a file."""
    name = rng.choice([name for name in captures.fixtures() if name.startswith("linux-")])
    files = captures.read_fixture(captures.fixtures()[name])
    files = {path: content for path, content in files.items() if not re.match(r"\d+/source/", path)}
    return name, files, max(path.split("/")[0] for path in files if path[:6].isdigit())


def change(files, poll, rng):
    """The same poll with CHANGES changes: (files, changed paths)."""
    start = f"{poll}/fs"
    files = {path: content for path, content in files.items() if path.startswith((poll, "manifest"))}
    # Chosen by directory first; otherwise nearly all would be among the thousand files of slab caches.
    by_place = {}
    for path, content in files.items():
        if path.startswith(start) and isinstance(content, bytes) and not NOT_FREE.search(path) and re.search(rb"\d", content):
            by_place.setdefault(path[len(start):] if path.startswith(start + "/proc/") else path.split("/")[4:6][0], []).append(path)
    touched = []
    for _ in range(CHANGES if by_place else 0):
        path = rng.choice(by_place[rng.choice(sorted(by_place))])
        text = files[path].decode("utf-8", "surrogateescape")
        files[path] = changed(path[len(start):], text, rng).encode("utf-8", "surrogateescape")
        touched.append(path[len(start):])
    return files, touched


def page_of(files, directory):
    """(memstatd's page for a capture, its messages)."""
    capture = os.path.join(directory, "capture.tar")
    with tarfile.open(capture, "w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in sorted(files.items()):  # a poll's files are together
            member = tarfile.TarInfo("capture/" + path)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
            else:
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    configuration = os.path.join(directory, "memstatd.yaml")
    captures.write_file(configuration, checker.CONFIGURATION.format(port=0, user="", migrate_types="on"))
    done = subprocess.run([program.MEMSTATD, "--config", configuration, "--replay", capture, "--once"],
                          capture_output=True, text=True, errors="replace", check=False, timeout=program.PATIENCE)
    if done.returncode not in (0, 1):
        raise AssertionError(f"exit status {done.returncode}: {done.stderr[-2000:]}")
    return checker.parse_page(done.stdout), done.stderr


def round_of(seed, page_of_unchanged=False):
    """(values compared, [what differs]) of one changed capture."""
    rng = random.Random(seed)
    name, unchanged, poll = kernel(rng)
    files, touched = change(unchanged, poll, rng)
    with program.temporary_directory() as directory:
        page, said = page_of(unchanged if page_of_unchanged else files, directory)
    reading = Reading.captured(files, poll)
    reading.files["/proc/sys/kernel/osrelease"] = captures.manifest_value(files, "release")
    verdicts = checker.compare(reading, page, reading, OPTIONS)
    # Inconsistent figures, such as fewer objects than are in use, are shown as 0.
    wrong = [f"seed {seed}, {name}: {key}: {verdict}" for key, verdict in verdicts.items()
             if verdict[0] in checker.WRONG and not (verdict[2] == 0 and verdict[1] is not None and verdict[1] < 0)]
    if wrong:
        wrong.append(f"    changed: {' '.join(sorted(set(touched)))}\n    said: {said[-1500:]}")
    return len(verdicts), wrong


def main():
    rounds, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    values = different = 0
    for number in range(rounds):
        count, wrong = round_of(seed + number)
        values += count
        different += bool(wrong)
        print("\n".join(wrong[:12] + wrong[-1:]), flush=True) if wrong else None
    print(f"{rounds} changed captures from seed {seed} on, {rounds * CHANGES} changes, {values} values: {different} captures differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
