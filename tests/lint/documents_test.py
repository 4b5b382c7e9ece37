#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A fact is in one document: results in tests/RESULTS.md, what needs a restart in memstatd.yaml(5)."""
import importlib.machinery
import importlib.util
import re
import sys

import findings

MAX_GUIDE_LINES = 150
# Signs that a sentence is a result: a date, or a measured share.
RESULT = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b\d+\.\d+ %|\bLast results?\b")


def results_in_guides(file, text):
    for number, line in enumerate(text.splitlines(), 1):
        if RESULT.search(line):
            yield f"{file}:{number}: a measured result; measure it with tests/results and leave it to RESULTS.md: {line.strip()[:80]}"


def restarts(file, text):
    """The shipped configuration does not say what needs a restart; the manual does, and is checked against the program."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\brestart", line):
            yield f"{file}:{number}: says what needs a restart, which memstatd.yaml(5) says: {line.strip()}"


def hand_written(found):
    """Sections that tests/results does not write: a title, a command, a date and the lines of the output."""
    for name, section in found.items():
        if not re.fullmatch(r"[^\n]+: `[^`\n]+`\n\n20\d\d-\d\d-\d\d[^\n]*\.\n\n```\n[^`]+\n```", section):
            yield f"tests/RESULTS.md: {name}: edited by hand; leave explanations to the commit that measured"


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(findings.ROOT / "tests" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def check_self():
    assert len(list(results_in_guides("a", "Last result (2026-11-23): 3 ok\ncore/events 58.9 %\na floor of 75 %\n"))) == 2
    section = "Fuzzing: `tests/fuzz/long 24`\n\n2026-11-24, before this file was generated.\n\n```\nno crash\n```"
    assert not list(hand_written({"fuzz": section})) and len(list(hand_written({"fuzz": section + "\nWhy: chance."}))) == 1
    assert len(list(restarts("a", "# what takes more is detached until a restart\n# It tries again.\n"))) == 1


def main():
    results = load("results")
    check_self()
    tests = findings.ROOT / "tests"
    guide, faults, measured = ((tests / name).read_text(encoding="utf-8") for name in ("README.md", "FAULTS.md", "RESULTS.md"))
    found = [*results_in_guides("tests/README.md", guide), *results_in_guides("tests/FAULTS.md", faults),
             *restarts("config/memstatd.yaml", (findings.ROOT / "config/memstatd.yaml").read_text(encoding="utf-8"))]
    if guide.count("\n") > MAX_GUIDE_LINES:
        found.append(f"tests/README.md: {guide.count(chr(10))} lines, {MAX_GUIDE_LINES} are the most")
    if measured != results.joined(results.sections(measured)):
        found.append("tests/RESULTS.md: not as tests/results writes it; it was edited by hand")
    found += hand_written(results.sections(measured))
    return findings.report(found, guide.count("\n") + faults.count("\n"), 100)


if __name__ == "__main__":
    sys.exit(main())
