#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Summarizes the results of ctest for each tree: summary.py [--filtered] TREE RESULT [TREE RESULT]...

--filtered: a tree without a matching test is not an error. RESULT is a JUnit file of ctest, or the reason why there is none:
"not configured", "not built" (one failure each), "absent" (not counted). For tests that share a process, GoogleTest's results are in the
directory test-results next to RESULT. Prints the skipped tests of each tree with their reasons, the failed ones, what a passed script
omitted, and the totals as the last line.
Exit status: 0 if at least one test passed and none failed.
"""
import collections
import os
import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(output):
    """The reason in a test's output: GoogleTest's text after "Skipped", else the last line that the script printed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line, following in zip(lines, lines[1:] + [""]):
        if re.search(r":\d+: Skipped$", line):
            return following if not following.startswith("[") else "no reason given"
    return re.sub(r"^skip(ped)?: *", "", lines[-1], flags=re.IGNORECASE) if lines else "no reason given"


SHARD = re.compile(r"(.*)/(shard_\d+|live|filtered)$")  # a process that several tests share


def read_shard(path, name, has_passed, passed, failed, skipped):
    """Adds the tests of one process. One that failed counts as a failure even if its tests are not known, or none of them failed:
    it crashed, it leaked."""
    before = len(failed)
    try:
        cases = list(ElementTree.parse(os.path.join(os.path.dirname(path), "test-results", name.replace("/", "_") + ".xml")).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        failed.append(f"{name}: GoogleTest left no results: {error}")
        return
    for case in cases:
        test = f"{SHARD.match(name).group(1)}/{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            failed.append(test)
        elif case.get("result") == "skipped":
            reason = case.find("skipped").get("message", "").partition("\n")[2].strip() if case.find("skipped") is not None else ""
            skipped[reason or "no reason given"].append(test)
        elif case.get("result") == "completed":
            passed.append(test)
        else:  # "suppressed": disabled by its name
            skipped["disabled"].append(test)
    if not has_passed and len(failed) == before:
        failed.append(f"{name}: none of its tests, but their process")


def read_results(path):
    """(passed names, failed names, {reason: skipped names}, omissions of passed scripts) of one JUnit file."""
    passed, failed, skipped, left_out = [], [], collections.defaultdict(list), []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        if SHARD.match(name):
            read_shard(path, name, case.get("status") == "run", passed, failed, skipped)
        elif case.get("status") == "run":
            passed.append(name)
            output = (case.findtext("system-out") or "").splitlines()
            left_out += [f"{name}: {line.removeprefix('skipped: ')}" for line in output if line.startswith("skipped: ")]
        elif case.find("skipped") is not None and case.find("skipped").get("message", "").startswith("SKIP_"):
            skipped[skip_reason(case.findtext("system-out") or "")].append(name)
        elif case.get("status") == "disabled":
            skipped["disabled"].append(name)
        else:  # "fail", and "notrun": a program that could not be started does not count as skipped
            failed.append(name)
    return passed, failed, skipped, left_out


def main(arguments):
    totals = collections.Counter()
    is_filtered = arguments[:1] == ["--filtered"]
    arguments = arguments[is_filtered:]
    for tree, result in zip(arguments[::2], arguments[1::2]):
        if result == "absent":
            print(f"{tree}: left out")
            continue
        if result in ("not configured", "not built"):
            print(f"{tree}: {result}, see above")
            totals["failed"] += 1
            continue
        try:
            passed, failed, skipped, left_out = read_results(result)
        except (OSError, ElementTree.ParseError) as error:
            print(f"{tree}: ctest left no results: {error}")
            totals["failed"] += 1
            continue
        skipped_count = sum(len(names) for names in skipped.values())
        print(f"{tree}: {len(passed)} passed, {len(failed)} failed, {skipped_count} skipped")
        for name in sorted(failed):
            print(f"  failed: {name}")
        for reason, names in sorted(skipped.items()):
            print(f"  skipped ({len(names)}): {reason}")
            for name in sorted(names):
                print(f"    {name}")
        for text in sorted(left_out):
            print(f"  left out: {text}")
        if not passed and not failed and not skipped and not is_filtered:
            print(f"  failed: {tree} has no test at all")
            totals["failed"] += 1
        totals.update(passed=len(passed), failed=len(failed), skipped=skipped_count)
    if not totals["passed"] and not totals["failed"]:
        print("no test was run")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 0 if totals["passed"] and not totals["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
