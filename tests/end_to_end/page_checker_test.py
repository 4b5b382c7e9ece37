#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The page checker, on which other tests rely, finds every kind of error, and none in a good page."""
import os
import subprocess
import sys
import tempfile
import unittest

SUPPORT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support")
sys.path.insert(0, SUPPORT)
import page  # noqa: E402

GOOD = (b"# HELP a_total Things \\\\ done.\n# TYPE a_total counter\na_total 1\n"
        b'a_total{x="1"} 18446744073709551615\na_total{x="q\\"b\\\\n\\n",y=""} 0\n'
        b"# HELP b_bytes Bytes.\n# TYPE b_bytes gauge\nb_bytes{x=\"caf\xc3\xa9\"} -1.5e+06\nb_bytes NaN\n"
        b"# HELP h_seconds Time.\n# TYPE h_seconds histogram\nh_seconds_count 3\nh_seconds_sum 0.5\n"
        b'h_seconds_bucket{le="0.1"} 1\nh_seconds_bucket{le="+Inf"} 3\n')
HEAD = b"# HELP b Text.\n# TYPE b gauge\n"
# The error, and the words that its one reported problem must contain.
BAD = {
    "empty": (b"", "empty"),
    "no last newline": (HEAD + b"b 1", "no end"),
    "empty line": (HEAD + b"\nb 1\n", "empty line"),
    "not UTF-8": (HEAD + b'b{x="\xff"} 1\n', "not UTF-8"),
    "duplicate": (HEAD + b"b 1\nb 1\n", "duplicate series"),
    "duplicate in another order": (HEAD + b'b{x="1",y="2"} 1\nb{y="2",x="1"} 1\n', "duplicate series"),
    "duplicate by escape": (HEAD + b'b{x="\\\\n"} 1\nb{x="\\\\n"} 2\n', "duplicate series"),
    "split family": (HEAD + b"b 1\n# HELP c Text.\n# TYPE c gauge\nc 1\nb{x=\"1\"} 1\n", "split"),
    "family again": (HEAD + b"b 1\n# HELP c Text.\n# TYPE c gauge\nc 1\n" + HEAD + b"b{x=\"1\"} 1\n", "split"),
    "no help": (b"# TYPE b gauge\nb 1\n", "HELP"),
    "no type": (b"# HELP b Text.\nb 1\n", "TYPE"),
    "nothing said": (b"b 1\n", "HELP and TYPE"),
    "type after sample": (b"# HELP b Text.\nb 1\n# TYPE b gauge\n", "TYPE"),
    "unknown type": (b"# HELP b Text.\n# TYPE b gage\nb 1\n", "no type"),
    "no sample": (HEAD, "no sample"),
    "counter without _total": (b"# HELP b Text.\n# TYPE b counter\nb 1\n", "_total"),
    "gauge with _total": (b"# HELP b_total Text.\n# TYPE b_total gauge\nb_total 1\n", "_total"),
    "negative counter": (b"# HELP b_total Text.\n# TYPE b_total counter\nb_total -1\n", "counter"),
    "help escape": (b"# HELP b Te\\xt.\n# TYPE b gauge\nb 1\n", "escape"),
    "comment": (HEAD + b"# more\nb 1\n", "neither HELP nor TYPE"),
    "metric name": (HEAD + b"b 1\nb-c 1\n", "no metric name"),
    "label name": (HEAD + b'b{1x="1"} 1\n', "label name"),
    "reserved label": (HEAD + b'b{__x="1"} 1\n', "reserved"),
    "label twice": (HEAD + b'b{x="1",x="2"} 1\n', "twice"),
    "label escape": (HEAD + b'b{x="\\t"} 1\n', "escape"),
    "raw quote": (HEAD + b'b{x="a"b"} 1\n', "comma"),
    "open label": (HEAD + b'b{x="a} 1\n', "no end"),
    "comma at the end": (HEAD + b'b{x="a",} 1\n', "label name"),
    "empty braces": (HEAD + b"b{} 1\n", "label name"),
    "two blanks": (HEAD + b"b  1\n", "no number"),
    "no value": (HEAD + b"b\n", "one space"),
    "bad value": (HEAD + b"b 0x1\n", "no number"),
    "nan in C's words": (HEAD + b"b nan\n", "no number"),
    "timestamp": (HEAD + b"b 1 1700000000\n", "no number"),
    "carriage return": (HEAD + b"b 1\r\n", "no number"),
    "histogram without +Inf": (GOOD.replace(b'"+Inf"', b'"1"'), "+Inf"),
    "histogram that falls": (GOOD.replace(b'"0.1"} 1', b'"0.1"} 4'), "fall"),
    "bucket without le": (GOOD.replace(b'{le="0.1"}', b""), "le"),
}


class PageChecker(unittest.TestCase):
    def test_a_good_page_has_no_problem_and_is_read_exactly(self):
        read, problems = page.check(GOOD)
        self.assertEqual(problems, [])
        self.assertEqual(read.text("a_total", x="1"), "18446744073709551615")
        self.assertEqual(read.series("a_total", y="")[0].labels, {"x": 'q"b\\n\n', "y": ""})
        self.assertEqual(read.number("b_bytes", x="caf\u00e9"), -1.5e6)
        self.assertIsNone(read.number("b_bytes", x="tea"))
        self.assertEqual(list(read.families), ["a_total", "b_bytes", "h_seconds"])

    def test_each_kind_of_bad_page_is_found(self):
        for name, (content, words) in BAD.items():
            with self.subTest(name):
                problems = page.check(content)[1]
                self.assertTrue(any(words in problem for problem in problems), problems)

    def test_every_truncation_of_a_line_is_found(self):
        start = len(GOOD) - len(b'h_seconds_bucket{le="+Inf"} 3\n')
        for end in range(start, len(GOOD)):
            self.assertTrue(page.check(GOOD[:end])[1], GOOD[start:end])

    def test_the_command_reports_by_its_exit_status(self):
        with tempfile.TemporaryDirectory() as directory:
            for content, status in ((GOOD, 0), (HEAD, 1)):
                path = os.path.join(directory, "page")
                with open(path, "wb") as file:
                    file.write(content)
                command = [sys.executable, "-B", os.path.join(SUPPORT, "page.py"), path]
                done = subprocess.run(command, capture_output=True, check=False)
                self.assertEqual(done.returncode, status, done)
                self.assertEqual(bool(done.stdout), status == 1)


if __name__ == "__main__":
    unittest.main()
