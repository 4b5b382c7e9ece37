#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl against the real vmstat's outputs, which the captures carry along.

The captures' oracle/ has what upstream's library made of exactly the bytes of a poll (libmemstat-*.txt), and what vmstat
printed a moment later. So every figure is compared with the first, and rows, order, names, sizes, limits, size classes and
layout with the second; its counters may only have grown. That the layout is the same in every byte is shown with captures
that are made from vmstat's own figures.
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
from ctl import capture_of, library_dump, output, run  # noqa: E402

MALLOC_ROW = re.compile(r" *(?P<name>.*?) +(?P<used>\d+) +(?P<memory>\d+) +(?P<requests>\d+) (?P<sizes>[\d,]*)")
ZONE_ROW = re.compile(r"(?P<name>.*): *(?P<size>\d+), *(?P<limit>\d+), *(?P<used>\d+), *(?P<free>\d+), *(?P<requests>\d+), "
                      r"*(?P<fail>\d+), *(?P<sleep>\d+), *(?P<xdomain>\d+)")
LIMITS = "freebsd-15.0-amd64-2cpu-limits"


def freebsd_fixtures():
    """(name, path, files) of every capture of a FreeBSD kernel."""
    found = [(name, path, captures.read_fixture(path)) for name, path in captures.fixtures().items() if name.startswith("freebsd")]
    assert len(found) >= 3, "the captures of FreeBSD are missing"
    return found


def oracles(what):
    """(where, reference of the poll, files, poll, content) for each oracle file of that name."""
    count = 0
    for name, path, files in freebsd_fixtures():
        for file in sorted(files):
            match = re.fullmatch(rf"oracle/(\d+)-{re.escape(what)}", file)
            if match:
                count += 1
                yield f"{name}@{match[1]} {what}", f"{path}@{int(match[1])}", files, match[1], files[file].decode()
    assert count >= 2, f"hardly any {what} among the captures"


def rows_of(pattern, text):
    """vmstat's lines but the first, as dicts with the line itself under "line"."""
    rows = []
    for line in text.splitlines()[1:]:
        match = pattern.fullmatch(line)
        assert match, f"not understood: {line!r}"
        row = {key: value if key in ("name", "sizes") else int(value) for key, value in match.groupdict().items()}
        rows.append({**row, "line": line})
    return rows


def size_classes(files, poll):
    raw = files[f"{poll}/sysctl/vm.malloc.zone_sizes"]
    return [size for size in struct.unpack(f"<{len(raw) // 4}I", raw) if size]


def sizes_of_mask(mask, classes):
    return ",".join(str(size) for index, size in enumerate(classes) if mask >> index & 1)


def malloc_of_row(row, classes):
    mask = sum(1 << classes.index(int(size)) for size in row["sizes"].split(",") if size)
    return row["name"], row["used"], row["memory"], row["requests"], mask


def zone_of_row(row):
    return {"name": row["name"], "size": row["size"], "limit": row["limit"], "allocs": row["requests"],
            "frees": row["requests"] - row["used"], "zone_free": row["free"], "fails": row["fail"], "sleeps": row["sleep"],
            "xdomain": row["xdomain"]}


class SameAsVmstat(unittest.TestCase):
    """The captures' own kernels."""

    def compare(self, where, ours, theirs, fixed, growing, counters):
        """Rows of ours and of vmstat, which ran a moment later: figures in `fixed` are the same, those in `growing` not smaller
        there."""
        self.assertEqual([row["name"] for row in ours], [row["name"] for row in theirs], where)
        same = 0
        for our, their in zip(ours, theirs):
            for key in fixed:
                self.assertEqual(our[key], their[key], f"{where}: {our['name']}: {key}")
            for key in growing:
                self.assertLessEqual(our[key], their[key], f"{where}: {our['name']}: {key}")
            if all(our[key] == their[key] for key in counters):
                same += 1
                self.assertEqual(our["line"], their["line"], where)
        self.assertGreater(same, len(ours) * 2 // 5, f"{where}: hardly any row is the same")
        self.assertLess(same, len(ours), f"{where}: all rows are the same, so nothing needs to be allowed for")

    def test_malloc_every_figure_is_the_librarys_of_the_same_moment(self):
        for where, reference, files, poll, _ in oracles("libmemstat-malloc.txt"):
            classes = size_classes(files, poll)
            wanted = [(entry["name"], entry["count"], entry["bytes"], entry["numallocs"], sizes_of_mask(entry["sizemask"], classes))
                      for entry in library_dump(files, poll, "malloc") if entry["numallocs"] or entry["count"]]
            rows = rows_of(MALLOC_ROW, output("malloc", "--from", reference))
            self.assertEqual([tuple(row[key] for key in ("name", "used", "memory", "requests", "sizes")) for row in rows], wanted, where)

    def test_zones_every_figure_is_the_librarys_of_the_same_moment(self):
        for where, reference, files, poll, _ in oracles("libmemstat-uma.txt"):
            wanted = [tuple(entry[key] for key in ("name", "size", "countlimit", "count", "free", "numallocs", "failures", "sleeps",
                                                   "xdomain")) for entry in library_dump(files, poll, "uma")]
            rows = rows_of(ZONE_ROW, output("zones", "--from", reference))
            self.assertEqual([tuple(row[key] for key in ("name", "size", "limit", "used", "free", "requests", "fail", "sleep",
                                                         "xdomain")) for row in rows], wanted, where)

    def test_malloc_rows_and_size_classes_are_vmstats(self):
        for where, reference, files, poll, text in oracles("vmstat-m.txt"):
            printed = output("malloc", "--from", reference)
            self.assertEqual(printed.splitlines()[0], text.splitlines()[0], where)
            unused = {entry["name"] for entry in library_dump(files, poll, "malloc") if not entry["numallocs"] and not entry["count"]}
            theirs = rows_of(MALLOC_ROW, text)
            # A type that was first used between the two runs has a row only in the later one.
            later = [row for row in theirs if row["name"] in unused]
            self.assertLessEqual(len(later), 1, where)
            ours, theirs = rows_of(MALLOC_ROW, printed), [row for row in theirs if row["name"] not in unused]
            self.compare(where, ours, theirs, (), ("requests",), ("used", "memory", "requests"))
            # Size classes are those ever used: only a type that was allocated from in between can have one more.
            grown = [our["name"] for our, their in zip(ours, theirs) if our["sizes"] != their["sizes"]]
            self.assertLessEqual(len(grown), 2, where)
            for our, their in zip(ours, theirs):
                if our["name"] in grown:
                    self.assertLess(our["requests"], their["requests"], where)
                    self.assertLess(set(our["sizes"].split(",")), set(their["sizes"].split(",")), where)

    def test_zones_rows_sizes_and_limits_are_vmstats(self):
        for where, reference, _, _, text in oracles("vmstat-z.txt"):
            printed = output("zones", "--from", reference)
            self.assertEqual(printed.splitlines()[0], text.splitlines()[0], where)
            self.compare(where, rows_of(ZONE_ROW, printed), rows_of(ZONE_ROW, text), ("size", "limit"),
                         ("requests", "fail", "sleep", "xdomain"), ("used", "free", "requests", "fail", "sleep", "xdomain"))

    def test_json_has_vmstats_rows_keys_and_nesting(self):
        for what, command, outer, inner, name in (("vmstat-m.json", "malloc", "malloc-statistics", "memory", "type"),
                                                  ("vmstat-z.json", "zones", "memory-zone-statistics", "zone", "name")):
            for where, reference, files, poll, text in oracles(what):
                ours, theirs = json.loads(output(command, "--json", "--from", reference)), json.loads(text)
                self.assertEqual(list(ours), list(theirs), where)
                self.assertEqual(ours["__version"], theirs["__version"], where)
                our_rows, their_rows = (document["vmstat"][outer][inner] for document in (ours, theirs))
                names = [row[name] for row in our_rows]
                self.assertEqual(names, [row[name] for row in their_rows if command == "zones" or row[name] in names], where)
                self.assertEqual({tuple(row) for row in our_rows}, {tuple(row) for row in their_rows}, where)
                # Text and JSON are two views of the same figures.
                pattern = MALLOC_ROW if command == "malloc" else ZONE_ROW
                figures = [[value for key, value in row.items() if key not in ("line", "sizes", "name")]
                           for row in rows_of(pattern, output(command, "--from", reference))]
                self.assertEqual([[value for value in row.values() if isinstance(value, int)] for row in our_rows], figures, where)
                if command == "malloc":
                    self.assertEqual([",".join(map(str, row["size"])) for row in our_rows],
                                     [row["sizes"] for row in rows_of(pattern, output(command, "--from", reference))], where)


class SameBytes(unittest.TestCase):
    """Captures made of vmstat's own figures: then nothing may differ."""

    def check(self, where, command, make, text, *arguments):
        with program.temporary_directory() as directory:
            make(os.path.join(directory, "capture"))
            self.assertEqual(output(command, "--from", os.path.join(directory, "capture"), *arguments), text, where)

    def test_malloc_text(self):
        for where, _, files, poll, text in oracles("vmstat-m.txt"):
            classes = size_classes(files, poll)
            types = [malloc_of_row(row, classes) for row in rows_of(MALLOC_ROW, text)]
            self.check(where, "malloc", lambda path: capture_of(path, malloc=types, classes=classes), text)

    def test_zones_text(self):
        for where, _, _, _, text in oracles("vmstat-z.txt"):
            zones = [zone_of_row(row) for row in rows_of(ZONE_ROW, text)]
            self.check(where, "zones", lambda path: capture_of(path, zones=zones), text)

    def test_malloc_json(self):
        for where, _, files, poll, text in oracles("vmstat-m.json"):
            classes = size_classes(files, poll)
            types = [malloc_of_row({"name": row["type"], "used": row["in-use"], "memory": row["memory-use"],
                                    "requests": row["requests"], "sizes": ",".join(map(str, row["size"]))}, classes)
                     for row in json.loads(text)["vmstat"]["malloc-statistics"]["memory"]]
            self.check(where, "malloc", lambda path: capture_of(path, malloc=types, classes=classes), text, "--json")

    def test_zones_json(self):
        for where, _, _, _, text in oracles("vmstat-z.json"):
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
MALLOC_JSON_12 = """\
{
  "__version": "1", \n\
  "malloc-statistics": {
    "memory": [
      {
        "type": "linker",
        "in-use": 152,
        "memory-use": 11,
        "high-use": "-",
        "requests": 310,
        "size": [
          32,
          128
        ]
      }
    ]
  }
}
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
ZONES_JSON_13 = """\
{
  "__version": "1", \n\
  "memory-zone-statistics": {
    "zone": [
      {
        "name": "UMA Kegs",
        "size": 384,
        "limit": 0,
        "used": 206,
        "free": 4,
        "requests": 207,
        "fail": 0,
        "sleep": 0,
        "xdomain": 0
      }
    ]
  }
}
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
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=OLD_MALLOC[:1], zones=OLD_ZONES[:1])
            for command, release, text in (("malloc", "12", MALLOC_JSON_12),
                                           ("malloc", "13", MALLOC_JSON_12.replace('        "high-use": "-",\n', "")),
                                           ("zones", "13", ZONES_JSON_13),
                                           ("zones", "12", ZONES_JSON_13.replace(',\n        "xdomain": 0', ""))):
                self.assertEqual(output(command, "--json", "--format", f"freebsd-{release}", "--from", directory), text, (command, release))

    def test_mbufs_look_the_same_in_all(self):
        path = captures.fixtures()[LIMITS]
        for arguments in ([], ["--json"]):
            texts = {output("mbufs", "--from", path, *arguments, "--format", release)
                     for release in ["freebsd-15", "freebsd-13", "freebsd-12"] + ["freebsd-10"] * (not arguments)}
            self.assertEqual(len(texts), 1)


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


def mbuf_report(files, poll):
    """netstat -m's text and JSON figures, computed from what upstream's library returned for the poll."""
    zones = {}
    for entry in library_dump(files, poll, "uma"):
        zones.setdefault(entry["name"], entry)
    tag = next(entry for entry in library_dump(files, poll, "malloc") if entry["name"] == "mbuf_tag")
    m, p, c = zones["mbuf"], zones["mbuf_packet"], zones["mbuf_cluster"]
    jumbos = [zones["mbuf_jumbo_page"], zones["mbuf_jumbo_9k"], zones["mbuf_jumbo_16k"]]
    page = jumbos[0]["size"] // 1024
    in_use = (m["bytes"] + p["bytes"] + p["count"] * c["size"] + (c["count"] - p["count"] - p["free"]) * c["size"] + tag["bytes"] +
              sum(jumbo["count"] * jumbo["size"] for jumbo in jumbos))
    cached = (m["free"] * m["size"] + p["free"] * (m["size"] + c["size"]) + c["free"] * c["size"] +
              sum(jumbo["free"] * jumbo["size"] for jumbo in jumbos))
    lines = [
        (("mbuf-current", m["count"] + p["count"]), ("mbuf-cache", m["free"] + p["free"]),
         ("mbuf-total", m["count"] + p["count"] + m["free"] + p["free"]), "mbufs in use (current/cache/total)"),
        (("cluster-current", c["count"] - p["free"]), ("cluster-cache", c["free"] + p["free"]),
         ("cluster-total", c["count"] + c["free"]), ("cluster-max", c["countlimit"]), "mbuf clusters in use (current/cache/total/max)"),
        (("packet-count", p["count"]), ("packet-free", p["free"]), "mbuf+clusters out of packet secondary zone in use (current/cache)")]
    for jumbo, prefix, limit, words in zip(jumbos, ("jumbo", "jumbo9", "jumbo16"), ("max", "max", "limit"),
                                           (f"{page}k (page size)", "9k", "16k")):
        lines.append(((f"{prefix}-count", jumbo["count"]), (f"{prefix}-cache", jumbo["free"]),
                      (f"{prefix}-total", jumbo["count"] + jumbo["free"]), (f"{prefix}-{limit}", jumbo["countlimit"]),
                      words + " jumbo clusters in use (current/cache/total/max)"))
    lines.append((("bytes-in-use", in_use // 1024), ("bytes-in-cache", cached // 1024), ("bytes-total", (in_use + cached) // 1024),
                  "bytes allocated to network (current/cache/total)"))
    for figure, key, word in (("failures", "failures", "denied"), ("sleeps", "sleeps", "delayed")):
        lines.append(tuple((f"{kind}-{key}", zone[figure]) for kind, zone in (("mbuf", m), ("cluster", c), ("packet", p))) +
                     (f"requests for mbufs {word} (mbufs/clusters/mbuf+clusters)",))
    for figure, word in (("sleeps", "delayed"), ("failures", "denied")):
        lines.append(tuple((f"{kind}-{figure}", jumbo[figure]) for kind, jumbo in zip(("jumbop", "jumbo9", "jumbo16"), jumbos)) +
                     (f"requests for jumbo clusters {word} ({page}k/9k/16k)",))
    sendfile = files.get(f"{poll}/sysctl/kern.ipc.sfstat")
    if sendfile is not None:
        counters = struct.unpack(f"<{len(sendfile) // 8}Q", sendfile)
        lines += [((key, counters[place]), words) for place, key, words in SENDFILE]
    text, figures = "", []
    for *keyed, words in lines:
        unit = "K" if keyed[0][0].startswith("bytes") else ""
        text += "/".join(f"{value}{unit}" for _, value in keyed) + f" {words}\n"
        figures += keyed + ([("jumbo-page-size", page)] if keyed[0][0] == "jumbo-count" else [])
    return text, figures


NO_SENDFILE = "memstatctl: there is no kern.ipc.sfstat here, so the lines about sendfile(2) are omitted\n"


def mbufs(*arguments):
    """What it prints. For captures older than its lines about sendfile(2), it also reports that these are missing."""
    done = run("mbufs", *arguments)
    if done.returncode != 0 or done.stderr != ("" if "sendfile" in done.stdout else NO_SENDFILE):
        raise AssertionError(f"mbufs {arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Mbufs(unittest.TestCase):
    def test_text_and_json_are_netstats_arithmetic_on_the_librarys_figures(self):
        for where, reference, files, poll, _ in oracles("libmemstat-uma.txt"):
            text, figures = mbuf_report(files, poll)
            self.assertEqual(mbufs("--from", reference), text, where)
            printed = json.loads(mbufs("--from", reference, "--json"))
            self.assertEqual(list(printed), ["mbuf-statistics"])
            self.assertEqual(list(printed["mbuf-statistics"].items()), figures, where)

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

    def test_a_kernel_out_of_buffers_looks_like_it(self):
        text = mbufs("--from", captures.fixtures()[LIMITS] + "@1")
        self.assertIn("\n2200/0/2200/2200 mbuf clusters in use (current/cache/total/max)\n", text)
        self.assertIn("\n0/8/0 requests for mbufs delayed (mbufs/clusters/mbuf+clusters)\n", text)
        self.assertIn("\n1532/0/0 requests for jumbo clusters denied (4k/9k/16k)\n", text)

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
