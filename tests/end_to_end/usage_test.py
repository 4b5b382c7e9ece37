#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan
"""The words of help and of errors in options are the project's own, for each option of both programs."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import MEMSTATCTL, command_names  # noqa: E402

# Texts of the library that parses command lines.
LIBRARY = re.compile(r"TEXT:|UINT|INT in \[|FLOAT|[A-Z]+:[A-Z]+|\{[a-z]+\}|Needs:|Excludes:|REQUIRED|\(\d+x\)|"
                     r"\d required|required but received|At (Most|Least|least)|not expected|not in range|Could not convert")
OPTION = re.compile(r"(?m)^  (?:-h, )?(--[a-z-]+)(\[=LAYOUT\])?(?:, --[a-z-]+)*(?: ([^ (\n]+)(?: \.\.\.)?)?(?: {2,}| \(|\n|$)")


def run(*line):
    return subprocess.run(line, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=program.PATIENCE, check=False)


def programs():
    """What comes before the options: memstatd, and each command of memstatctl."""
    return [[program.MEMSTATD]] + [[MEMSTATCTL, name] for name in command_names()]


class Usage(unittest.TestCase):
    def check(self, done, status, words):
        self.assertEqual((done.returncode, done.stdout), (status, ""), (words, done.stderr))
        self.assertIsNone(LIBRARY.search(done.stderr.replace("ADDR:PORT", "").replace("HOST:PORT", "")), done.stderr)
        self.assertRegex(done.stderr, r"\A(memstatd|memstatctl): .+\n(memstatd|memstatctl).* --help lists the (options|commands)\.\n\Z")

    def test_help_has_no_text_of_the_library_and_has_examples(self):
        for line in [*programs(), [MEMSTATCTL]]:
            text = run(*line, "--help").stdout
            with self.subTest(line=line):
                self.assertIsNone(LIBRARY.search(re.sub(r"(ADDR|HOST|USER):P[A-Z]+", "", text)), text)
                self.assertIn("Examples:\n  " if line != [MEMSTATCTL] else "Usage: memstatctl", text)

    def test_errors_in_each_option_are_in_our_words(self):
        seen = 0
        for line in programs():
            for name, _, value in OPTION.findall(run(*line, "--help").stdout):
                if name in ("--help", "--version"):
                    continue
                seen += 1
                with self.subTest(line=line, option=name):
                    if value:
                        self.check(run(*line, name), 2, f"{name}: needs a value: {name} {value}")
                    self.check(run(*line, name + "x"), 2, "unknown option")
            self.check(run(*line, "--no-such-option"), 2, "--no-such-option")
        self.assertGreater(seen, 100)

    def test_wrong_counts_and_combinations(self):
        for line, words in (
                ([program.MEMSTATD, "--polls", "0"], '--polls: "0" is not a number of polls; write 1 or more'),
                ([program.MEMSTATD, "--config", "a", "--config", "b"], "--config: may be given once only"),
                ([program.MEMSTATD, "--replay-loop"], "--replay-loop: works only with --replay"),
                ([program.MEMSTATD, "stray"], 'unexpected argument "stray"'),
                ([program.MEMSTATD, "--intervall", "1s"], "unknown option --intervall; did you mean --interval?"),
                ([MEMSTATCTL, "diff", "a"], "STATE: takes 2 values, not 1"),
                ([MEMSTATCTL, "diff", "a", "b", "c", "d"], "STATE: takes 2 values, not 4"),
                ([MEMSTATCTL, "malloc", "--human", "--no-human"], "--human: not together with --no-human"),
                ([MEMSTATCTL, "record", "a", "b"], 'unexpected argument "b"'),
                ([MEMSTATCTL, "node"], "ADDRESS is missing")):
            done = run(*line)
            self.check(done, 2, words)
            self.assertIn(f": {words}\n", done.stderr)

    def test_help_and_version_are_commands_too(self):
        self.assertEqual(run(MEMSTATCTL, "help").stdout, run(MEMSTATCTL, "--help").stdout)
        self.assertEqual(run(MEMSTATCTL, "version").stdout, run(MEMSTATCTL, "--version").stdout)
        for name in command_names():
            self.assertEqual(run(MEMSTATCTL, "help", name).stdout, run(MEMSTATCTL, name, "--help").stdout)
        self.check(run(MEMSTATCTL, "help", "nosuch"), 2, "nosuch")

    def test_output_that_cannot_be_written_is_a_failure(self):
        for line in [*programs(), [MEMSTATCTL]]:
            for flag in ["--help"] + (["--version"] if len(line) == 1 else []):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run([*line, flag], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 1, line)
                self.assertIn("cannot write to standard output: No space left on device", done.stderr)

    def test_counters_has_the_status_of_the_command(self):
        if run(MEMSTATCTL, "counters", "--events", "task-clock", "--", "true").returncode != 0:
            self.skipTest("no event can be counted here")
        for command, status in ((["true"], 0), (["false"], 1), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], 143)):
            self.assertEqual(run(MEMSTATCTL, "counters", "--events", "task-clock", "--", *command).returncode, status, command)


if __name__ == "__main__":
    program.main()
