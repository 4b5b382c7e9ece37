#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The keys of the kernel's files: used by memstatd, not wanted for a reason, or unknown.

    tests/guests/keys.py [CAPTURE]...       captures of new kernels, as memstatctl record makes them; none: those of the newest in tests/fixtures

A key is used if memstatd's page follows it: each is changed and removed in turn, and the page made again. One that is not used and not in
unwanted_keys.yaml is unknown. Exit status: 0 no key is unknown, 1 some are.
"""
import argparse
import dataclasses
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEWEST = ("linux-7.3-evidence.tar.zst",)
LISTS = re.compile(r"/kernel/slab/|/proc/(\d+|vmallocinfo|allocinfo)\b|/mm/transparent_hugepage/")  # of objects, without keys
FREEBSD = ("freebsd-15.0-amd64-2cpu-evidence.tar.zst", "freebsd-15.0-amd64-4cpu-tools-rest.tar.zst")
MAX_FILES = 2  # of a kind, the longest ones

DELTA = 987_654_321  # B, pages or events: no rounding hides it
TIMES = re.compile(r"^(process_|go_|memstat_(source_|poll_|http_|scrape|page_age|recording|memory_locked|snapshot))")


def number_after(match, text):
    """`text` with the number that the match's group 2 is changed."""
    changed = f"{float(match[2]) + 37:.2f}" if "." in match[2] else str(int(match[2]) + DELTA)
    return text[:match.start(2)] + changed + text[match.end(2):]


@dataclasses.dataclass(frozen=True)
class Lines:
    """A table whose lines match a pattern: group 1 is the key, group 2 its number."""
    pattern: str

    def keys(self, text):
        return {" ".join(match[1].split()) for match in re.finditer(self.pattern, text, re.MULTILINE)}

    def without(self, text, key):
        return "".join(line for line in text.splitlines(True) if not (match := re.match(self.pattern, line)) or " ".join(match[1].split()) != key)

    def changed(self, text, key):
        return "".join(number_after(match, line) if (match := re.match(self.pattern, line)) and " ".join(match[1].split()) == key else line
                       for line in text.splitlines(True))


@dataclasses.dataclass(frozen=True)
class Words:
    """A table whose lines have a word and then pairs of key and number: "TCP: inuse 5 orphan 0", "some avg10=0.00"."""
    pair = r"([A-Za-z0-9_]+)[ =]([0-9.]+)"

    def keys(self, text):
        return {f"{line.split()[0].rstrip(':')} {match[1]}" for line in text.splitlines() for match in self.pairs(line)}

    def pairs(self, line):
        return re.finditer(self.pair, line.partition(" ")[2]) if line else ()

    def change(self, text, key, how):
        word, name = key.split()
        lines = []
        for line in text.splitlines(True):
            first, space, rest = line.partition(" ")
            if first.rstrip(":") == word:
                for match in re.finditer(self.pair, rest):
                    if match[1] == name:
                        rest = how(match, rest)
                        break
            lines.append(first + space + rest)
        return "".join(lines)

    def without(self, text, key):
        return self.change(text, key, lambda match, rest: (rest[:match.start()] + rest[match.end():].lstrip(" ")).rstrip() + "\n")

    def changed(self, text, key):
        return self.change(text, key, number_after)


@dataclasses.dataclass(frozen=True)
class Pairs:
    """A table of pairs of lines, names above their numbers: /proc/net/netstat."""

    def rows(self, text):
        lines = text.splitlines()
        return [(above.split(), below.split()) for above, below in zip(lines[::2], lines[1::2], strict=False)]

    def keys(self, text):
        return {f"{names[0].rstrip(':')} {name}" for names, _ in self.rows(text) for name in names[1:]}

    def write(self, text, key, how):
        rows = self.rows(text)
        group, name = key.split()
        for names, numbers in rows:
            if names[0].rstrip(":") == group:
                how(names, numbers, names.index(name))
        return "".join(f"{' '.join(names)}\n{' '.join(numbers)}\n" for names, numbers in rows)

    def without(self, text, key):
        def remove(names, numbers, at):
            del names[at], numbers[at]
        return self.write(text, key, remove)

    def changed(self, text, key):
        def change(_names, numbers, at):
            numbers[at] = str(int(numbers[at]) + DELTA)
        return self.write(text, key, change)


@dataclasses.dataclass(frozen=True)
class Columns:
    """/proc/slabinfo, whose header names its columns. Only the number can change."""

    def names(self, text):
        return re.findall(r"<([a-z_]+)>", text.splitlines()[1])

    def keys(self, text):
        return set(self.names(text))

    def without(self, text, _key):
        return text

    def changed(self, text, key):
        at = self.names(text).index(key)
        lines = text.splitlines(True)
        for row in range(2, len(lines)):
            numbers = list(re.finditer(r"(?<= )()(\d+)(?= |\n)", lines[row]))
            lines[row] = lines[row][:numbers[at].start(2)] + str(int(numbers[at][2]) + 3) + lines[row][numbers[at].end(2):]
        return "".join(lines)


PAIR = Lines(r"([A-Za-z0-9_()]+):?\s+(\d+)")
FORMATS = {
    "/proc/meminfo": PAIR,
    "/proc/vmstat": PAIR,
    "/proc/zoneinfo": Lines(r"\s+(?:pages )?([a-z][a-z_0-9]*(?: [a-z][a-z_0-9]*)*):?\s+\(?(\d+)"),
    "/proc/slabinfo": Columns(),
    "/proc/net/sockstat": Words(),
    "/proc/net/sockstat6": Words(),
    "/proc/net/netstat": Pairs(),
    "/proc/pressure/memory": Words(),
    "/proc/pressure/io": Words(),
    "/sys/fs/cgroup/**/memory.stat": PAIR,
    "/sys/devices/system/node/*/meminfo": Lines(r"Node \d+ ([A-Za-z0-9_()]+):\s+(\d+)"),
}


@dataclasses.dataclass
class Page:
    """What memstatd makes of the first poll of an unpacked capture."""
    program: str
    capture: object

    def lines(self):
        done = subprocess.run([self.program, "--replay", str(self.capture), "--once"], capture_output=True, text=True, check=False)
        return {line for line in done.stdout.splitlines() if not line.startswith("#") and not TIMES.match(line)}


@dataclasses.dataclass
class Table:
    """The keys of one kind of file: used, not wanted with their reasons, and unknown."""
    name: str
    used: list
    unwanted: list
    unknown: list


def is_followed(page, before, form, texts, keys):
    """Whether the page changes with the values of `keys`, or without them."""
    for change in (form.changed, form.without):
        try:
            for path, text in texts.items():
                for key in keys & form.keys(text):
                    text = change(text, key)
                path.write_text(text, encoding="utf-8")
            if page.lines() != before:
                return True
        finally:
            for path, text in texts.items():
                path.write_text(text, encoding="utf-8")
    return False


def examine(page, name, paths, unwanted):
    """`paths`: the files of that kind in the capture; `unwanted`: reasons by pattern of a key."""
    form = FORMATS[name]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    keys = set().union(*(form.keys(text) for text in texts.values()))
    known = {key for key in keys if any(fnmatch.fnmatchcase(key, pattern) for pattern in unwanted)}
    before = page.lines()
    candidates = keys if is_followed(page, before, form, texts, known) else keys - known  # a key may be used on some kernels only
    used = {key for key in candidates if is_followed(page, before, form, texts, {key})}
    return Table(name, sorted(used), sorted(known - used), sorted(keys - known - used))


def unwanted_keys():
    """{kind of file: {pattern: reason}}."""
    text = pathlib.Path(__file__).with_name("unwanted_keys.yaml").read_text(encoding="utf-8")
    return {name: {pattern: row["why"] for row in rows for pattern in patterns_of(name, row["keys"])} for name, rows in yaml.safe_load(text).items()}


def patterns_of(name, text):
    """Keys of some files have two words."""
    words = text.split()
    has_two = isinstance(FORMATS.get(name), (Words, Pairs))
    return [" ".join(pair) for pair in zip(words[::2], words[1::2], strict=True)] if has_two else words


def examine_capture(program, directory):
    """The tables of the first poll of an unpacked capture that has some of the files."""
    unwanted = unwanted_keys()
    page = Page(program, directory)
    poll = directory / "000000/fs"
    found = {name: sorted(poll.glob(name.lstrip("/")), key=lambda path: -path.stat().st_size)[:MAX_FILES] for name in FORMATS}
    remove_lists(directory)
    return [examine(page, name, paths, unwanted.get(name, {})) for name, paths in found.items() if paths]


def remove_lists(directory):
    """Pages of fewer files are made sooner."""
    for path in directory.glob("*/fs/**/*"):
        if path.is_file() and LISTS.search(str(path)):
            path.unlink()


def examine_sysctls():
    """The names of FreeBSD's newest release; those that a recording has are used."""
    names = set((ROOT / "tests/fixtures/freebsd_sysctls.txt").read_text(encoding="ascii").split("\n")[1:-1])
    used = {path.partition("/sysctl/")[2] for capture in FREEBSD for path in archive_names(ROOT / "tests/fixtures/captures" / capture)}
    unwanted = unwanted_keys()["sysctl"]
    known = {name for name in names - used if any(fnmatch.fnmatchcase(name, pattern) for pattern in unwanted)}
    return Table("sysctl vm kern.ipc", sorted(names & used), sorted(known), sorted(names - used - known))


def archive_names(capture):
    return subprocess.run(["tar", "--zstd", "-tf", capture], capture_output=True, text=True, check=True).stdout.splitlines()


def unpack(capture, work):
    """The directory of a capture: `capture` itself, copied, or what is in the archive."""
    if capture.is_dir():
        return pathlib.Path(shutil.copytree(capture, work / capture.name, symlinks=True))
    subprocess.run(["tar", "--zstd", "-xf", capture, "-C", work], check=True)
    return next(work.glob("*/manifest.yaml")).parent


def report(name, tables):
    print(f"{name}:")
    for table in tables:
        print(f"  {table.name:<36}{len(table.used):>4} used {len(table.unwanted):>4} not wanted {len(table.unknown):>4} unknown"
              + (": " + ", ".join(table.unknown) if table.unknown else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("captures", nargs="*", type=pathlib.Path, metavar="CAPTURE", help="none: those of the newest kernels in tests/fixtures")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/bin", help="the directory of memstatd")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memstat-keys-") as directory:
        work = pathlib.Path(directory)
        captures = options.captures or [ROOT / "tests/fixtures/captures" / name for name in NEWEST]
        unknown = 0
        for number, capture in enumerate(captures):
            place = work / str(number)
            place.mkdir()
            tables = examine_capture(options.programs / "memstatd", unpack(capture, place))
            report(capture.name, tables)
            unknown += sum(len(table.unknown) for table in tables)
    if not options.captures:
        table = examine_sysctls()
        report("FreeBSD 15.0", [table])
        unknown += len(table.unknown)
    print(f"unknown keys: {unknown}" + (" (use each, or give the reason in tests/guests/unwanted_keys.yaml)" if unknown else ""))
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
