#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl's malloc, zones and mbufs print what vmstat and netstat print of the same figures, byte by byte: captures are made of the figures
in what vmstat printed beside other captures (oracle/vmstat-*). unit/c_api/oracle_test.cpp has the figures of real kernels, and
freebsd_tools_test.py both of one moment.
"""
import json
import os
import re
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import capture_of, output, run  # noqa: E402

MALLOC_ROW = re.compile(r" *(?P<name>.*?) +(?P<used>\d+) +(?P<memory>\d+) +(?P<requests>\d+) (?P<sizes>[\d,]*)")
ZONE_ROW = re.compile(r"(?P<name>.*): *(?P<size>\d+), *(?P<limit>\d+), *(?P<used>\d+), *(?P<free>\d+), *(?P<requests>\d+), "
                      r"*(?P<fail>\d+), *(?P<sleep>\d+), *(?P<xdomain>\d+)")


def oracles(what):
    """(where, files, poll, content) for each oracle file of that name, of every capture of a FreeBSD kernel."""
    count = 0
    for name, path in captures.fixtures().items():
        files = captures.read_fixture(path) if name.startswith("freebsd") else {}
        for file in sorted(files):
            match = re.fullmatch(rf"oracle/(\d+)-{re.escape(what)}", file)
            if match:
                count += 1
                yield f"{name}@{match[1]} {what}", files, match[1], files[file].decode()
    assert count >= 2, f"hardly any {what} among the captures"


def rows_of(pattern, text):
    """vmstat's lines but the first, as dicts."""
    rows = []
    for line in text.splitlines()[1:]:
        match = pattern.fullmatch(line)
        assert match, f"not understood: {line!r}"
        rows.append({key: value if key in ("name", "sizes") else int(value) for key, value in match.groupdict().items()})
    return rows


def size_classes(files, poll):
    raw = files[f"{poll}/sysctl/vm.malloc.zone_sizes"]
    return [size for size in struct.unpack(f"<{len(raw) // 4}I", raw) if size]


def malloc_of_row(row, classes):
    mask = sum(1 << classes.index(int(size)) for size in row["sizes"].split(",") if size)
    return row["name"], row["used"], row["memory"], row["requests"], mask


def zone_of_row(row):
    return {"name": row["name"], "size": row["size"], "limit": row["limit"], "allocs": row["requests"],
            "frees": row["requests"] - row["used"], "zone_free": row["free"], "fails": row["fail"], "sleeps": row["sleep"],
            "xdomain": row["xdomain"]}


class SameBytes(unittest.TestCase):
    """Captures made of vmstat's own figures: then nothing may differ."""

    def check(self, where, command, make, text, *arguments):
        with program.temporary_directory() as directory:
            make(os.path.join(directory, "capture"))
            self.assertEqual(output(command, "--from", os.path.join(directory, "capture"), *arguments), text, where)

    def test_malloc_text(self):
        for where, files, poll, text in oracles("vmstat-m.txt"):
            classes = size_classes(files, poll)
            types = [malloc_of_row(row, classes) for row in rows_of(MALLOC_ROW, text)]
            self.check(where, "malloc", lambda path: capture_of(path, malloc=types, classes=classes), text)

    def test_zones_text(self):
        for where, _, _, text in oracles("vmstat-z.txt"):
            zones = [zone_of_row(row) for row in rows_of(ZONE_ROW, text)]
            self.check(where, "zones", lambda path: capture_of(path, zones=zones), text)

    def test_malloc_json(self):
        for where, files, poll, text in oracles("vmstat-m.json"):
            classes = size_classes(files, poll)
            types = [malloc_of_row({"name": row["type"], "used": row["in-use"], "memory": row["memory-use"],
                                    "requests": row["requests"], "sizes": ",".join(map(str, row["size"]))}, classes)
                     for row in json.loads(text)["vmstat"]["malloc-statistics"]["memory"]]
            self.check(where, "malloc", lambda path: capture_of(path, malloc=types, classes=classes), text, "--json")

    def test_zones_json(self):
        for where, _, _, text in oracles("vmstat-z.json"):
            zones = [zone_of_row(row) for row in json.loads(text)["vmstat"]["memory-zone-statistics"]["zone"]]
            self.check(where, "zones", lambda path: capture_of(path, zones=zones), text, "--json")


# A kernel before FreeBSD 13: no table of size classes, so they are the powers of two from 16 on. One type was never used.
OLD_MALLOC = [("linker", 152, 10 * 1024 + 1, 310, 0b1010), ("never used", 0, 0, 0, 0), ("a name of 31 characters, no les", 1, 1024, 1, 0),
              ("in use, none counted", 3, 0, 0, 1), ("big", 123456, 1234567 * 1024, 123456789, 0b1000000000001)]
OLD_ZONES = [{"name": "UMA Kegs", "size": 384, "allocs": 207, "frees": 1, "zone_free": 4},
             {"name": "a zone with a name of 31 chars.", "size": 1048576, "limit": 12345678, "allocs": 123456789, "frees": 1,
              "zone_free": 987654321, "fails": 12345, "sleeps": 54321, "xdomain": 67890}]
MALLOC_12 = """\
         Type InUse MemUse HighUse Requests  Size(s)
       linker   152    11K       -      310  32,128
a name of 31 characters, no les     1     1K       -        1  \n\
in use, none counted     3     0K       -        0  16
          big 123456 1234567K       - 123456789  16,65536
"""
MALLOC_13 = """\
         Type InUse MemUse Requests  Size(s)
       linker   152    11K      310  32,128
a name of 31 characters, no les     1     1K        1  \n\
in use, none counted     3     0K        0  16
          big 123456 1234567K 123456789  16,65536
"""
ZONES_12 = """\
ITEM                   SIZE  LIMIT     USED     FREE      REQ FAIL SLEEP

UMA Kegs:               384,      0,     206,       4,     207,   0,   0
a zone with a name of 31 chars.: 1048576, 12345678,123456788,987654321,123456789,12345,54321

"""
ZONES_13 = """\
ITEM                   SIZE  LIMIT     USED     FREE      REQ     FAILSLEEP XDOMAIN
UMA Kegs:               384,      0,     206,       4,     207,   0,   0,   0
a zone with a name of 31 chars.: 1048576, 12345678,123456788,987654321,123456789,12345,54321,67890
"""
ZONES_15 = """\
ITEM                   SIZE   LIMIT     USED     FREE      REQ FAIL SLEEP XDOM
UMA Kegs:               384,      0,     206,       4,     207,   0,   0,   0
a zone with a name of 31 chars.:1048576,12345678,123456788,987654321,123456789,12345,54321,67890
"""


class OldFormats(unittest.TestCase):
    """The layouts of releases without a capture, taken from their sources."""

    def test_malloc_and_zones_text(self):
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=OLD_MALLOC, zones=OLD_ZONES)
            for command, release, text in (("malloc", "10", MALLOC_12), ("malloc", "12", MALLOC_12), ("malloc", "13", MALLOC_13),
                                           ("zones", "10", ZONES_12), ("zones", "12", ZONES_12), ("zones", "13", ZONES_13),
                                           ("zones", "15", ZONES_15)):
                self.assertEqual(output(command, "--format", f"freebsd-{release}", "--from", directory), text, (command, release))

    def test_json(self):
        memory = [("type", "linker"), ("in-use", 152), ("memory-use", 11), ("high-use", "-"), ("requests", 310), ("size", [32, 128])]
        zone = [("name", "UMA Kegs"), ("size", 384), ("limit", 0), ("used", 206), ("free", 4), ("requests", 207), ("fail", 0), ("sleep", 0), ("xdomain", 0)]
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=OLD_MALLOC[:1], zones=OLD_ZONES[:1])
            for command, release, outer, inner, row in (
                    ("malloc", "12", "malloc-statistics", "memory", memory), ("malloc", "13", "malloc-statistics", "memory", memory[:3] + memory[4:]),
                    ("zones", "13", "memory-zone-statistics", "zone", zone), ("zones", "12", "memory-zone-statistics", "zone", zone[:-1])):
                printed = output(command, "--json", "--format", f"freebsd-{release}", "--from", directory)
                self.assertEqual(json.loads(printed, object_pairs_hook=list), [("__version", "1"), (outer, [(inner, [row])])], (command, release))


# struct sfstat: place of each counter, its key, its words, in the order in which they are printed.
SENDFILE = (
    (0, "sendfile-syscalls", "sendfile syscalls"),
    (1, "sendfile-no-io", "sendfile syscalls completed without I/O request"),
    (2, "sendfile-io-count", "requests for I/O initiated by sendfile"),
    (3, "sendfile-pages-sent", "pages read by sendfile as part of a request"),
    (4, "sendfile-pages-valid", "pages were valid at time of a sendfile request"),
    (10, "sendfile-pages-bogus", "pages were valid and substituted to bogus page"),
    (5, "sendfile-requested-readahead", "pages were requested for read ahead by applications"),
    (6, "sendfile-readahead", "pages were read ahead by sendfile"),
    (7, "sendfile-busy-encounters", "times sendfile encountered an already busy page"),
    (8, "sfbufs-alloc-failed", "requests for sfbufs denied"),
    (9, "sfbufs-alloc-wait", "requests for sfbufs delayed"),
)


NO_SENDFILE = "memstatctl: there is no kern.ipc.sfstat here, so the lines about sendfile(2) are omitted\n"


def mbufs(*arguments):
    """What it prints. For captures older than its lines about sendfile(2), it also reports that these are missing."""
    done = run("mbufs", *arguments)
    if done.returncode != 0 or done.stderr != ("" if "sendfile" in done.stdout else NO_SENDFILE):
        raise AssertionError(f"mbufs {arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Mbufs(unittest.TestCase):

    def test_every_zone_and_the_tags_have_their_place(self):
        """The real kernels have no tags and hardly any large jumbos, so here each figure is different; counted by hand."""
        zones = [{"name": name, "size": size, "allocs": 100 + used, "frees": 100, "zone_free": free, "limit": limit, "fails": fails,
                  "sleeps": sleeps} for name, size, used, free, limit, fails, sleeps in (
                      ("mbuf", 256, 20, 4, 1000, 1, 2), ("mbuf_packet", 256, 7, 3, 0, 3, 4), ("mbuf_cluster", 2048, 15, 6, 500, 5, 6),
                      ("mbuf_jumbo_page", 4096, 8, 1, 100, 7, 8), ("mbuf_jumbo_9k", 9216, 2, 5, 50, 9, 10),
                      ("mbuf_jumbo_16k", 16384, 1, 2, 25, 11, 12))]
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=[("mbuf_tag", 3, 3072, 9, 0)], zones=zones)
            self.assertEqual(mbufs("--from", directory), """\
27/7/34 mbufs in use (current/cache/total)
12/9/21/500 mbuf clusters in use (current/cache/total/max)
7/3 mbuf+clusters out of packet secondary zone in use (current/cache)
8/1/9/100 4k (page size) jumbo clusters in use (current/cache/total/max)
2/5/7/50 9k jumbo clusters in use (current/cache/total/max)
1/2/3/25 16k jumbo clusters in use (current/cache/total/max)
99K/100K/200K bytes allocated to network (current/cache/total)
1/5/3 requests for mbufs denied (mbufs/clusters/mbuf+clusters)
2/6/4 requests for mbufs delayed (mbufs/clusters/mbuf+clusters)
8/10/12 requests for jumbo clusters delayed (4k/9k/16k)
7/9/11 requests for jumbo clusters denied (4k/9k/16k)
""")

    def test_sendfile_and_sfbufs_have_lines_where_the_kernel_counts_them(self):
        zones = [{"name": name, "size": 256} for name in ("mbuf", "mbuf_packet", "mbuf_cluster", "mbuf_jumbo_page", "mbuf_jumbo_9k",
                                                          "mbuf_jumbo_16k")]
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=[("mbuf_tag", 3, 3072, 9, 0)], zones=zones)
            sysctls = os.path.join(directory, "000000", "sysctl")
            bare = mbufs("--from", directory)
            for size, sfbufs in ((11, False), (10, True), (12, True)):
                captures.write_file(os.path.join(sysctls, "kern.ipc.sfstat"), struct.pack(f"<{size}Q", *range(100, 100 + size)))
                for name, value in (("nsfbufs", 7), ("nsfbufsused", 5), ("nsfbufspeak", 6)) if sfbufs else ():
                    captures.write_file(os.path.join(sysctls, f"kern.ipc.{name}"), struct.pack("<i", value))
                wanted = "5/6/7 sfbufs in use (current/peak/max)\n" if sfbufs else ""
                wanted += "".join(f"{100 + place} {words}\n" for place, _, words in SENDFILE if place < size)
                self.assertEqual(mbufs("--from", directory), bare + wanted)
                figures = json.loads(mbufs("--from", directory, "--json"))["mbuf-statistics"]
                self.assertEqual([(key, value) for key, value in figures.items() if value >= 100],
                                 [(key, 100 + place) for place, key, _ in SENDFILE if place < size])
                self.assertEqual(figures.get("nsfbufs-peak"), 6 if sfbufs else None)
            for cut in (0, 79):
                captures.write_file(os.path.join(sysctls, "kern.ipc.sfstat"), bytes(cut))
                done = run("mbufs", "--from", directory)
                self.assertEqual((done.returncode, done.stderr), (0, NO_SENDFILE))
                self.assertNotIn("sendfile", done.stdout)

    def test_without_the_zones_is_reported(self):
        names = ("mbuf", "mbuf_packet", "mbuf_cluster", "mbuf_jumbo_page", "mbuf_jumbo_9k", "mbuf_jumbo_16k")
        with program.temporary_directory() as directory:
            for index, missing in enumerate(names + ("mbuf_tag", None)):
                path = os.path.join(directory, str(index))
                tags = [("mbuf_tag", 0, 0, 0, 0)] if missing != "mbuf_tag" else [("other", 1, 64, 1, 0)]
                capture_of(path, malloc=tags, zones=[{"name": name} for name in names if name != missing])
                for arguments in ([], ["--json"]):
                    done = run("mbufs", "--from", path, *arguments)
                    if missing is None:
                        self.assertEqual((done.returncode, done.stderr), (0, NO_SENDFILE))
                    else:
                        self.assertEqual((done.returncode, done.stdout), (1, ""))
                        self.assertRegex(done.stderr, rf"^memstatctl: .* has no (zone|malloc type) {missing},")


if __name__ == "__main__":
    program.main()
