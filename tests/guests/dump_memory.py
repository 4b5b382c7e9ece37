# SPDX-License-Identifier: BSD-2-Clause
"""The page allocator's files that memstatd makes from a dump, compared with those that the same guest printed just before it stopped.

What does not change while a kernel runs must be the same; amounts of memory may have changed by a MiB, because printing takes some; events
may only have grown.
"""
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("vmstat", "meminfo", "buddyinfo", "zoneinfo")
MOVED_PAGES = 256
FIXED = {"boost", "min", "low", "high", "promo", "spanned", "present", "managed", "start_pfn"}
FIXED_KILOBYTES = {"MemTotal", "SwapTotal", "VmallocTotal", "Hugepagesize", "HugePages_Total", "CmaTotal"}


def files_of(dump):
    """{name: text} of the files that memstatd makes from a dump."""
    program = os.environ.get("MEMSTATD", str(ROOT / "build/bin/memstatd"))
    with tempfile.TemporaryDirectory(prefix="memstat-dump-") as directory:
        recording = pathlib.Path(directory) / "recording"
        subprocess.run([program, "--once", "--replay", str(dump), "--record", str(recording)], check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(recording / "000000.tar") as poll:
            recorded = {path.rpartition("/fs/proc/")[2]: path for path in poll.getnames()}
            return {name: poll.extractfile(recorded[name]).read().decode() for name in FILES if name in recorded}


def zones_of(text):
    """{(node, zone, figure): number} of /proc/zoneinfo; figures of CPUs are added up."""
    found, place, is_node = {}, None, False
    for line in text.splitlines():
        if match := re.match(r"Node (\d+), zone +(\S+)", line):
            place, is_node = match.groups(), False
        elif line.strip() == "per-node stats":
            is_node = True
        elif match := re.match(r"\s+protection: \((.*)\)", line):
            for index, pages in enumerate(match[1].split(", ")):
                found[*place, f"protection {index}"] = int(pages)
        elif match := re.match(r"\s+(?:pages )?(\w+)(:?) +(\d+)$", line):
            is_node = is_node and match[1] != "free"
            name = match[1] + (" of CPUs" if match[2] and match[1] != "start_pfn" else "")
            key = (place[0], "", name) if is_node else (*place, name)
            found[key] = found.get(key, 0) + int(match[3])
    return found


def buddies_of(text):
    """{(node, zone): free pages} of /proc/buddyinfo."""
    rows = [line.split() for line in text.splitlines()]
    return {(row[1], row[3]): sum(int(blocks) << order for order, blocks in enumerate(row[4:])) for row in rows}


def pairs_of(text):
    return {words[0].rstrip(":"): int(words[1]) for words in (line.split() for line in text.splitlines())}


class Verdict:
    """The results of the values of one file."""

    def __init__(self, name):
        self.name, self.exact, self.moved, self.most, self.wrong = name, 0, 0, 0, []
        self.missing, self.more = [], []  # figures that only the guest has, or only the dump

    def judge(self, what, guest, dump, slack):
        if guest == dump:
            self.exact += 1
        elif abs(guest - dump) <= slack:
            self.moved += 1
            self.most = max(self.most, abs(guest - dump))
        else:
            self.wrong.append(f"{what}: {guest} in the guest, {dump} in the dump")


def is_fixed(figure):
    return figure in FIXED or figure.startswith("protection")


def compare(guest, dump):
    """Of {name: text} each: [Verdict]."""
    verdicts = []
    for name in FILES:
        parse = {"zoneinfo": zones_of, "buddyinfo": buddies_of}.get(name, pairs_of)
        wanted, found = parse(guest[name]), parse(dump.get(name, ""))
        verdict = Verdict(name)
        verdict.missing = sorted(str(key) for key in wanted.keys() - found.keys())
        verdict.more = sorted(str(key) for key in found.keys() - wanted.keys())
        for key in wanted.keys() & found.keys():
            before, after = wanted[key], found[key]
            slack = MOVED_PAGES
            if name == "meminfo":
                slack = 0 if key in FIXED_KILOBYTES else MOVED_PAGES * 4
            elif name == "zoneinfo":
                slack = 0 if is_fixed(key[2]) else MOVED_PAGES
            elif name == "vmstat" and not key.startswith("nr_"):
                slack = max(0, after - before) if after - before <= max(before, 100_000) else 0  # an event
            verdict.judge(key, before, after, slack)
        verdicts.append(verdict)
    return verdicts


def report(guest, dump):
    """Prints a line for each file, and the errors; returns the number of wrong values."""
    verdicts = compare(guest, files_of(dump))
    for verdict in verdicts:
        unit = "kB" if verdict.name == "meminfo" else "pages or events"
        print(f"{verdict.name}: {verdict.exact} exact, {verdict.moved} moved by at most {verdict.most} {unit}, {len(verdict.wrong)} wrong,",
              f"{len(verdict.missing)} in the guest only, {len(verdict.more)} in the dump only")
        for line in verdict.wrong:
            print("  WRONG:", line)
        for words, keys in (("guest", verdict.missing), ("dump", verdict.more)):
            if keys:
                print(f"  in the {words} only:", ", ".join(keys[:40]))
    return sum(len(verdict.wrong) for verdict in verdicts)
