#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 150
"""memstatctl why does not get worse on situations provoked in guests and on public reports, and accuses no healthy machine."""
import json
import os
import pathlib
import subprocess
import sys

SCORE = pathlib.Path(os.environ["SOURCE_DIR"]) / "tests/situations/score"
# Shares that were reached; what is missing is explained in tests/situations/provoked/README.md.
FLOORS = {"first": 0.92, "three": 0.93, "who": 0.96}
PUBLIC_FLOORS = {"first": 0.8, "three": 0.85, "who": 0.6}


def below(sums, floors):
    """The shares that are too low, as a list of texts."""
    problems = sums["problems"]
    wrong = [f"{column}: {problems[column][0]} of {problems[column][1]}" for column, floor in floors.items()
             if problems[column][0] < floor * problems[column][1]]
    calm, asked = sums["calm machines"]["first"]
    return wrong + ([f"calm machines: {asked - calm} of {asked} are accused"] if calm < asked else [])


def main():
    assert below({"problems": {"first": [8, 10]}, "calm machines": {"first": [3, 4]}}, {"first": 0.9}) == \
        ["first: 8 of 10", "calm machines: 1 of 4 are accused"]
    form = subprocess.run([sys.executable, "-B", SCORE, "--form"], capture_output=True, text=True, check=False)
    assert form.returncode == 0, form.stdout + form.stderr
    done = subprocess.run([sys.executable, "-B", SCORE, "--json"], capture_output=True, text=True, check=True)
    sums = json.loads(done.stdout)
    assert sums["problems"]["first"][1] >= 200 and sums["calm machines"]["first"][1] >= 35, sums
    wrong = below(sums, FLOORS)
    done = subprocess.run([sys.executable, "-B", SCORE, "--half", "P", "--json"], capture_output=True, text=True, check=True)
    wrong += [f"public reports: {one}" for one in below(json.loads(done.stdout), PUBLIC_FLOORS)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
