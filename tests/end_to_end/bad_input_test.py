#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan
"""Garbage, truncated and wrong kernel data, and failing reads: the source is down with a reason, and everything else continues."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402

SLABINFO = "fs/proc/slabinfo"
MALLOC = "sysctl/kern.malloc_stats"
UMA = "sysctl/vm.zone_stats"
TWO_CPUS = {0: (1000, 200, 10, 2), 1: (500, 100, 5, 1)}
GOOD_MALLOC = captures.malloc_stats([("devbuf", TWO_CPUS), ("temp", TWO_CPUS)])
GOOD_UMA = captures.zone_stats([{"name": "mbuf", "size": 256, "rsize": 256, "pages": 3, "allocs": 40, "frees": 10},
                                {"name": "socket", "size": 960, "rsize": 960, "pages": 2, "allocs": 7, "fails": 3}])
LINE = captures.slabinfo_line("dentry", 10, 20, 192, 1, 2)
HEADER_BYTES = len(captures.SLABINFO_HEADER)

# The problem, the bytes, the reason that is counted, and the words of the log line after "linux_slabinfo: /proc/slabinfo: ".
BAD_SLABINFO = [
    ("empty", b"", "version", "offset 0"),
    ("garbage", bytes(range(256)) * 40, "version", "offset 0"),
    ("a column that is missing", captures.slabinfo(LINE).replace(b"<num_slabs>", b"<slabs>"), "data", "num_slabs"),
    ("cut within a line", captures.slabinfo(LINE, LINE)[:-30], "data", f"offset {HEADER_BYTES + len(LINE)}"),
    ("a negative number", captures.slabinfo(LINE.replace(b" 20 ", b" -1 ")), "data", f"offset {HEADER_BYTES}"),
    ("more bytes than there are", captures.slabinfo(captures.slabinfo_line("a", 1 << 40, 1 << 40, 1 << 40)), "data", "2^64"),
]


def bad_streams(good, records):
    """The same for a FreeBSD stream. `records` makes one with another header."""
    return [
        ("empty", b"", "data", "offset 0"),
        ("another version", records(version=2), "version", "offset 0"),
        ("more CPUs than possible", records(says_slots=0xFFFFFFFF), "data", "offset 4"),
        ("as many records as possible", records(says_count=0xFFFFFFFF), "data", f"offset {len(good)}"),
        ("one byte short", good[:-1], "data", f"offset {len(good) - 1}"),
    ]


BAD_MALLOC = bad_streams(GOOD_MALLOC,
                         lambda **lies: captures.malloc_stats([("devbuf", TWO_CPUS), ("temp", TWO_CPUS)], **lies))
BAD_UMA = bad_streams(GOOD_UMA, lambda **lies: captures.zone_stats([{"name": "a"}, {"name": "b"}], **lies))
# errno of the captured system, and the reason that it counts as. ENOENT has its own test.
ERRNOS = {13: "permission", 1: "permission", 5: "io", 12: "no_memory", 110: "timeout"}


class BadInput(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.captures = 0

    def capture(self, polls, system):
        self.captures += 1
        return captures.write_capture(os.path.join(self.directory, str(self.captures)), polls, system)

    def once(self, polls, system="linux", status=0):
        """(page, log) after the last of these polls; the page must be valid."""
        done = program.run("--once", "--replay", self.capture(polls, system))
        self.assertEqual(done.returncode, status, done.stderr)
        read, problems = page.check(done.stdout)
        self.assertEqual(problems, [])
        return read, done.stderr

    def assert_down(self, read, log, source, path, reason, words, count=1):
        self.assertEqual(read.number("memstat_source_up", source=source), 0)
        self.assertEqual([(sample.labels["reason"], sample.text) for sample in
                          read.series("memstat_source_errors_total", source=source)], [(reason, str(count))])
        lines = [line for line in log.splitlines() if f" error: {source}: " in line]
        self.assertEqual(len(lines), 1, log)  # logged once, however often it fails in the same way
        self.assertIn(f"error: {source}: {path}: ", lines[0])
        self.assertNotIn(f": {reason}: ", lines[0], "a code is no message")
        self.assertRegex(lines[0], re.escape(words) + r"(?!\d)")

    def test_bad_slabinfo(self):
        for name, content, reason, words in BAD_SLABINFO:
            with self.subTest(name):
                read, log = self.once([{SLABINFO: content}], status=1)
                self.assert_down(read, log, "linux_slabinfo", "/proc/slabinfo", reason, words)
                self.assertFalse(read.series("memstat_type_bytes"))

    def test_bad_freebsd_streams_take_only_their_own_types_down(self):
        for kind, cases, source, bad, good in (
                ("malloc", BAD_MALLOC, "freebsd_malloc", MALLOC, {UMA: GOOD_UMA}),
                ("uma", BAD_UMA, "freebsd_uma", UMA, {MALLOC: GOOD_MALLOC})):
            other = "uma" if kind == "malloc" else "malloc"
            alone = self.once([good], "freebsd")[0].by_type("memstat_type_bytes", other)
            self.assertEqual(len(alone), 2)
            for name, content, reason, words in cases:
                with self.subTest(source=source, case=name):
                    read, log = self.once([{bad: content, **good}], "freebsd")
                    self.assert_down(read, log, source, bad.split("/")[1], reason, words)
                    self.assertEqual(read.by_type("memstat_type_bytes", kind), {})
                    self.assertEqual(read.by_type("memstat_type_bytes", other), alone)
                    self.assertEqual(read.number("memstat_source_up", source=f"freebsd_{other}"), 1)

    def test_a_stream_cut_anywhere_is_an_error_and_never_half_a_list(self):
        polls = [{MALLOC: GOOD_MALLOC[:size], UMA: GOOD_UMA} for size in range(0, len(GOOD_MALLOC), 7)]
        read, log = self.once(polls, "freebsd")
        counted = {sample.labels["reason"]: int(sample.text) for sample in read.series("memstat_source_errors_total")}
        self.assertEqual(sum(counted.values()), len(polls))
        self.assertEqual(set(counted), {"version", "data"})
        self.assertFalse(read.by_type("memstat_type_bytes", "malloc"))
        self.assertEqual(len(read.by_type("memstat_type_bytes", "uma")), 2)

    def test_reads_that_fail_are_counted_by_reason(self):
        for number, reason in ERRNOS.items():
            with self.subTest(number):
                errors = f"- {{path: /proc/slabinfo, errno: {number}}}\n"
                read, log = self.once([{"errors.yaml": errors, SLABINFO: captures.slabinfo(LINE)}], status=1)
                self.assertEqual(read.number("memstat_source_up", source="linux_slabinfo"), 0)
                self.assertEqual(read.number("memstat_source_errors_total", source="linux_slabinfo", reason=reason), 1)
                self.assertRegex(log, rf"linux_slabinfo: /proc/slabinfo: .*\(errno {number}\)")
                errors = f"- {{sysctl: vm.zone_stats, errno: {number}}}\n"
                read, log = self.once([{"errors.yaml": errors, MALLOC: GOOD_MALLOC}], "freebsd")
                self.assertEqual(read.number("memstat_source_errors_total", source="freebsd_uma", reason=reason), 1)
                self.assertRegex(log, rf"freebsd_uma: vm.zone_stats: .*\(errno {number}\)")
                self.assertEqual(len(read.by_type("memstat_type_bytes", "malloc")), 2)

    def test_what_was_never_there_is_absent_and_what_was_there_is_down(self):
        read, log = self.once([{MALLOC: GOOD_MALLOC}] * 2, "freebsd")
        self.assertFalse(read.series("memstat_source_up", source="freebsd_uma"))
        self.assertFalse(read.series("memstat_source_errors_total"))
        self.assertEqual(log, "")
        read, log = self.once([{MALLOC: GOOD_MALLOC, UMA: GOOD_UMA}] + [{MALLOC: GOOD_MALLOC}] * 2, "freebsd")
        self.assert_down(read, log, "freebsd_uma", "vm.zone_stats", "not_present", "No such file", 2)
        config = captures.write_file(os.path.join(self.directory, "memstatd.yaml"), "sources: {freebsd_uma: {enabled: on}}\n")
        done = program.run("--once", "--config", config, "--replay", self.capture([{MALLOC: GOOD_MALLOC}], "freebsd"))
        self.assertEqual(page.check(done.stdout)[0].number("memstat_source_up", source="freebsd_uma"), 0)

    def test_names_that_are_not_text_become_text(self):
        names = [b"a\xff\xfeb", b'quote"d', b"back\\slash", b"\xe2\x82", b"\xed\xa0\x80", b"caf\xc3\xa9", b"{x=\"y\"}",
                 b"\xc0\x80", b"tab\tbed", b"\x7f\x1b[31m"]  # six of them are text
        for system, poll in (("linux", {SLABINFO: captures.slabinfo(*(captures.slabinfo_line(name) for name in names))}),
                             ("freebsd", {MALLOC: captures.malloc_stats([(name, TWO_CPUS) for name in names])})):
            with self.subTest(system):
                read, _ = self.once([poll], system)
                shown = [sample.labels["type"] for sample in read.series("memstat_type_bytes")]
                # Names that are equal after the replacement share one series, which has the sum of their counts.
                objects = sum(int(sample.text) for sample in read.series("memstat_type_objects"))
                self.assertEqual(objects, len(names) * (10 if system == "linux" else 12))
                self.assertEqual(sum("\ufffd" in name for name in shown), len(shown) - 6)
                for name in (b'quote"d', b"back\\slash", b"caf\xc3\xa9", b'{x="y"}', b"tab\\x09bed", b"\\x7f\\x1b[31m"):
                    self.assertIn(name.decode(), shown)
        blank = captures.slabinfo(captures.slabinfo_line("two words"), captures.slabinfo_line("n" * 200))
        shown = self.once([{SLABINFO: blank}])[0].by_type("memstat_type_objects", "slab")
        self.assertEqual(shown.get("two words"), "10")
        self.assertEqual(shown.get("n" * 200), "10")
        line_end = captures.malloc_stats([("two\nlines", TWO_CPUS)])
        shown = self.once([{MALLOC: line_end}], "freebsd")[0].by_type("memstat_type_bytes", "malloc")
        self.assertEqual(list(shown), ["two\\x0alines"])

    def test_a_link_out_of_the_capture_is_not_followed(self):
        secret = captures.write_file(os.path.join(self.directory, "secret"), captures.slabinfo(captures.slabinfo_line("stolen")))
        for target in (secret, "../../../../secret"):
            capture = self.capture([{"fs/proc/version": "Linux"}], "linux")
            os.symlink(target, os.path.join(capture, "000000", "fs", "proc", "slabinfo"))
            done = program.run("--once", "--replay", capture)
            self.assertEqual(done.returncode, 1)
            self.assertNotIn(b"stolen", done.stdout)
            self.assertIn("out of the capture", done.stderr)

    def test_a_pipe_in_a_capture_is_refused_and_not_waited_for(self):
        capture = self.capture([{"fs/proc/version": "Linux"}], "linux")
        os.mkfifo(os.path.join(capture, "000000", "fs", "proc", "slabinfo"))
        done = program.run("--once", "--replay", capture)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/proc/slabinfo", done.stderr)

    def test_bad_files_of_the_capture_itself_are_named_with_their_line(self):
        for name, content, words in (("errors.yaml", "- {path: /proc/slabinfo, errno: many}\n", "errors.yaml"),
                                     ("errors.yaml", b"\xff\xfe\n", "errors.yaml")):
            done = program.run("--once", "--replay", self.capture([{name: content, SLABINFO: captures.slabinfo(LINE)}], "linux"))
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(words, done.stderr)
            self.assertIn("line 1", done.stderr)
        capture = self.capture([{SLABINFO: captures.slabinfo(LINE)}, {SLABINFO: b"garbage"}], "linux")
        os.remove(os.path.join(capture, "000001", "poll.yaml"))  # a poll is whole or absent
        self.assertEqual(program.run("--once", "--replay", capture).returncode, 0)

    def test_it_is_served_while_a_source_is_down(self):
        good = {MALLOC: GOOD_MALLOC, UMA: GOOD_UMA}
        capture = self.capture([good, {MALLOC: GOOD_MALLOC, UMA: b"garbage" * 9}], "freebsd")
        with program.Daemon("--replay", capture, "--replay-speed", "1000") as daemon:
            daemon.wait_log("the replay has ended")
            read = daemon.page()
            self.assert_down(read, daemon.log, "freebsd_uma", "vm.zone_stats", "version", "offset 0")
            self.assertEqual(set(read.by_type("memstat_type_bytes", "malloc")), {"devbuf", "temp"})
            self.assertFalse(read.by_type("memstat_type_bytes", "uma"))
            self.assertEqual(daemon.request("/-/ready")[0], 200)  # a source is up
            plain = daemon.request("/plain")[2].decode()
            self.assertRegex(plain, r"freebsd_uma.*down.*offset 0")


if __name__ == "__main__":
    program.main()
