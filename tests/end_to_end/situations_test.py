#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 60
"""memstatctl why names the cause of each situation, has no findings on calm machines, and exits with the matching status."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import situations  # noqa: E402


def main():
    program = os.environ["MEMSTATCTL"]
    failures = []
    asked = 0
    for file, situation in situations.all_situations():
        if "capture" not in situation:
            if not situation.get("not_recorded"):
                failures.append(f"{file}: {situation['name']}: no capture, and no reason")
            continue
        asked += 1
        document, status = situations.answer(situation, program)
        wrong = situations.wrong_with(situation, document["findings"])
        if wrong:
            failures.append(f"{file}: {situation['name']}: {wrong}")
        severities = {one["severity"] for one in document["findings"]}
        expected = 11 if severities & {"now", "soon"} else 10 if severities else 0
        if status not in ({0, 3} if expected == 0 else {expected}):
            failures.append(f"{file}: {situation['name']}: status {status}, not {expected}")
        for finding in document["findings"]:
            if len(finding["headline"]) > 100 or not finding["evidence"]:
                failures.append(f"{file}: {situation['name']}: {finding['headline']}")
    assert asked >= 70, asked
    # Wrong answers are detected.
    assert situations.wrong_with({"cause": "a"}, [{"cause": "b", "severity": "now", "about": [], "who": []}])
    assert situations.wrong_with({}, [{"headline": "x", "cause": "b", "severity": "soon"}])
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
