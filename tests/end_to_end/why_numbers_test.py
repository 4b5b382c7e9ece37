#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 60
"""Numbers of memstatctl why do not contradict each other: in no text of any recording is more used than there is, no share above
all, and nothing grew by more than it has."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402

TESTS = pathlib.Path(program.SOURCE_DIR) / "tests"
CAPTURES = sorted(path for place in ("fixtures/captures", "fixtures/unlike", "fixtures/quiet", "situations/provoked/fixtures", "situations/public/fixtures")
                  for path in (TESTS / place).glob("*.tar.zst"))
MEMSTATCTL = os.environ.get("MEMSTATCTL") or str(pathlib.Path(program.MEMSTATD).with_name("memstatctl"))
UNITS = {"": 1, "B": 1, "million": 1e6, "billion": 1e9, **{f"{prefix}iB": 1 << 10 * (i + 1) for i, prefix in enumerate("KMGTP")}}
AMOUNT = r"(\d+(?:\.\d+)?)(?: (B|[KMGTP]iB|million|billion)\b)?"
OF = re.compile(rf"(?<![\w.]){AMOUNT} of {AMOUNT}(?! (?:s|min|h|d)\b)")
SHARE = re.compile(r"(\d+(?:\.\d+)?) %")
GREW = re.compile(rf" grew by {AMOUNT} in ")
NOW = re.compile(rf"^{AMOUNT} now\b")


def amount(number, unit):
    return float(number) * UNITS[unit or ""]


def contradictions(finding):
    """The texts of a finding that contradict themselves or each other."""
    texts = [finding["headline"], *(fact["text"] for fact in finding["evidence"])]
    wrong = [text for text in texts
             if any(amount(*used.groups()[:2]) > amount(*used.groups()[2:]) for used in OF.finditer(text))
             or any(float(share) > 100 for share in SHARE.findall(text))]
    grew = GREW.search(finding["headline"])
    for now in filter(None, map(NOW.match, texts)):
        rounding = 1.06  # of two numbers with two digits
        if grew and amount(*grew.groups()) > rounding * amount(*now.groups()):
            wrong.append(f"{finding['headline']}, {now.string}")
    return wrong


def answers():
    """The findings of each recording, by its name."""
    def ask(path):
        done = subprocess.run([MEMSTATCTL, "why", "--json=compact", "--from", path], capture_output=True, text=True, check=False,
                              timeout=program.PATIENCE)
        if done.stderr.endswith("this kernel has no source of memory types\n"):
            return path.name, []
        return path.name, json.loads(done.stdout)["findings"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(ask, CAPTURES))


class Numbers(unittest.TestCase):
    def test_contradictions_are_found(self):
        for headline, fact in (("The table of threads is full: 526 of 400", ""), ("x", "132 % of its limit"), ("12 KiB of 1 KiB", ""),
                               ("Open files grew by 4.5 MiB in 9 s and did not fall", "2.9 MiB now, +1 MiB/s")):
            self.assertEqual(len(contradictions({"headline": headline, "evidence": [{"text": fact}]})), 1, headline)
        for headline, fact in (("The table is full: 400 of 400 (100 %)", "programs waited 63 % of 11 s"), ("1 MiB of 1 GiB", ""),
                               ("Open files grew by 4.5 MiB in 9 s and did not fall", "4.5 MiB now, +1 MiB/s")):
            self.assertEqual(contradictions({"headline": headline, "evidence": [{"text": fact}]}), [], headline)

    def test_no_recording_has_one(self):
        self.assertGreater(len(CAPTURES), 500)
        wrong = [f"{name}: {finding['cause']}: {text}" for name, findings in answers() for finding in findings
                 for text in contradictions(finding)]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
