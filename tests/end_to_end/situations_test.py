#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 60
"""memstatctl why names the cause of each edited situation, has no findings on calm machines, and exits with the matching status."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "situations"))
import corpus  # noqa: E402


def answer(situation, program):
    """The findings and the exit status."""
    with corpus.scratch() as directory:
        root = corpus.prepare(situation.label, situation.capture, directory)
        done = subprocess.run([program, "why", "--json", "--from", root], capture_output=True, text=True, check=False, timeout=120)
    if not done.stdout:
        raise AssertionError(f"{situation.name}: {done.stderr}")
    return json.loads(done.stdout)["findings"], done.returncode


def wrong_with(label, findings):
    """"" or the error in the answer."""
    causes = [finding["cause"] for finding in findings]
    if "cause" not in label:
        loud = [one["headline"] for one in findings if one["severity"] != "notable"]
        return f"is calm, but: {loud}" if loud else ""
    if label["cause"] not in causes[:label.get("within", 1)]:
        return f"{label['cause']} expected, found {causes}"
    finding = findings[causes.index(label["cause"])]
    if label.get("severity", finding["severity"]) != finding["severity"]:
        return f"{label['severity']} expected, found {finding['severity']}"
    about = {f"{one['allocator']}/{one['type']}" for one in finding["about"]}
    if missing := set(label.get("about", [])) - about:
        return f"not about {missing}, but {about}"
    if missing := set(label.get("who", [])) - {one["name"] for one in finding["who"]}:
        return f"does not name {missing}, but {finding['who']}"
    for name in label.get("wrong", []):
        if name in causes:
            return f"blames {name} as well"
    return ""


def main():
    program = os.environ["MEMSTATCTL"]
    failures = corpus.problems_of_described()
    asked = 0
    for situation in corpus.seen():
        if situation.half != corpus.EDITED:
            continue
        asked += 1
        findings, status = answer(situation, program)
        wrong = wrong_with(situation.label, findings)
        if wrong:
            failures.append(f"{situation.name}: {wrong}")
        severities = {one["severity"] for one in findings}
        expected = 11 if severities & {"now", "soon"} else 10 if severities else 0
        if status not in ({0, 3} if expected == 0 else {expected}):
            failures.append(f"{situation.name}: status {status}, not {expected}")
        for finding in findings:
            if len(finding["headline"]) > 100 or not finding["evidence"]:
                failures.append(f"{situation.name}: {finding['headline']}")
    assert asked >= 100, asked
    # Wrong answers are detected.
    assert wrong_with({"cause": "a"}, [{"cause": "b", "severity": "now", "about": [], "who": []}])
    assert wrong_with({}, [{"headline": "x", "cause": "b", "severity": "soon"}])
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
