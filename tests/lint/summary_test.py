#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The summary of tests/run counts tests that did not run by the reason: not built, no results, no tests, skipped, left out."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import summary  # noqa: E402

PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message=""/></testcase>'
NOT_STARTED = '<testcase name="c" status="notrun"><skipped message="Unable to find executable"/></testcase>'
SKIPPED = ('<testcase name="d" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
           "<system-out>d_test.cpp:7: Skipped\nneeds root\n</system-out></testcase>")
SKIPPED_SCRIPT = ('<testcase name="e" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
                  "<system-out>looking\nprometheus is not installed\n</system-out></testcase>")
PARTLY = '<testcase name="f" status="run"><system-out>ok\nskipped: test_x: no debugfs\n</system-out></testcase>'
DISABLED = '<testcase name="g" status="disabled"/>'


# What GoogleTest 1.12 writes of a process.
SHARED = """<testsuites><testsuite name="All/Suite">
<testcase name="Good/0" status="run" result="completed" classname="All/Suite"/>
<testcase name="Skipped" status="run" result="skipped" classname="Suite">
  <skipped message="a_test.cpp:7&#x0A;needs root"><![CDATA[a_test.cpp:7
needs root]]></skipped></testcase>
<testcase name="DISABLED_One" status="notrun" result="suppressed" classname="Suite"/>%s
</testsuite></testsuites>"""
SHARED_FAILURE = '<testcase name="Bad" status="run" result="completed" classname="Suite"><failure message="a_test.cpp:9" type=""/></testcase>'


class Summary(unittest.TestCase):
    def run_on_shared(self, status, content, name="unit/base/shard_0"):
        """Exit status and lines of a summary of a process that ended with this status and left `content`; None: nothing."""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "results.xml")
            path.write_text(f'<testsuite><testcase name="{name}" status="{status}"/></testsuite>', encoding="ascii")
            pathlib.Path(directory, "test-results").mkdir()
            if content is not None:
                pathlib.Path(directory, "test-results", name.replace("/", "_") + ".xml").write_text(content, encoding="ascii")
            return self.run_with("asan", str(path))

    def test_tests_that_share_a_process_are_counted_one_by_one(self):
        status, lines = self.run_on_shared("fail", SHARED % SHARED_FAILURE)
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 2 skipped"))
        self.assertLessEqual({"  failed: unit/base/Suite.Bad", "  skipped (1): needs root", "    unit/base/Suite.Skipped"}, set(lines))
        self.assertEqual(self.run_on_shared("run", SHARED % "", "unit/base/live")[1][-1], "1 passed, 0 failed, 2 skipped")

    def test_a_process_that_failed_has_failed_whatever_its_tests_report(self):
        self.assertEqual(self.run_on_shared("fail", SHARED % "")[1][-1], "1 passed, 1 failed, 2 skipped")
        for content, ended in ((None, "run"), ("", "run"), ("<testsuites>", "fail"), (None, "notrun")):
            status, lines = self.run_on_shared(ended, content)
            self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"), (content, ended))

    def run_on(self, *cases, arguments=()):
        """Exit status and lines of a summary of one tree with these cases."""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "results.xml")
            path.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="ascii")
            return self.run_with(*arguments, "release", str(path))

    @staticmethod
    def run_with(*arguments):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = summary.main(list(arguments))
        return status, printed.getvalue().splitlines()

    def test_each_ending_is_counted(self):
        for cases, wanted, more in (([PASSED], (0, "1 passed, 0 failed, 0 skipped"), ()), ([PASSED, FAILED], (1, "1 passed, 1 failed, 0 skipped"), ("  failed: b",)),
                                    ([PASSED, NOT_STARTED], (1, "1 passed, 1 failed, 0 skipped"), ()), ([PARTLY], (0, "1 passed, 0 failed, 0 skipped"), ("  left out: f: test_x: no debugfs",)),
                                    ([PASSED, SKIPPED, SKIPPED_SCRIPT, DISABLED], (0, "1 passed, 0 failed, 3 skipped"),
                                     ("  skipped (1): needs root", "    d", "  skipped (1): prometheus is not installed", "    e", "  skipped (1): disabled", "    g"))):
            status, lines = self.run_on(*cases)
            self.assertEqual((status, lines[-1]), wanted)
            self.assertLessEqual(set(more), set(lines))

    def test_a_tree_that_was_not_built_or_has_no_results_has_failed(self):
        for result in ("not built", "not configured", "/nonexistent/results.xml", os.devnull):
            self.assertEqual(self.run_with("release", result)[0], 1, result)

    def test_a_tree_without_tests_has_failed_unless_tests_were_asked_for_by_name(self):
        self.assertEqual(self.run_on()[0], 1)
        self.assertEqual(self.run_on(arguments=("--filtered",))[0], 1, "no test was run")
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as empty:
            empty.write("<testsuite/>")
            empty.flush()
            self.assertEqual(self.run_on(PASSED, arguments=("--filtered", "asan", empty.name))[0], 0)


if __name__ == "__main__":
    unittest.main()
