#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: counts instructions under valgrind
"""A poll and a scrape take at most 5 % more instructions than in tests/bench/instructions.txt. UPDATE_GOLDEN=1 rewrites it; the commit
explains an increase."""
import os
import shutil
import sys

SOURCE_DIR = os.environ.get("SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE_DIR, "tests", "bench"))
import instructions  # noqa: E402

ALLOWED_PERCENT = 5


def skip(why):
    print(why)
    sys.exit(77)


def compare(recorded, counts):
    """A line for each count, and which of them are failures."""
    lines = []
    problems = []
    for name, count in counts.items():
        if name not in recorded:
            problems.append(f"{name}: {count} instructions, and none are recorded")
            continue
        before = int(recorded[name])
        lines.append(f"{name}: {count} instructions, {before} recorded, {100 * (count - before) / before:+.1f} %")
        if 100 * (count - before) > ALLOWED_PERCENT * before:
            problems.append(f"{name} grew by more than {ALLOWED_PERCENT} %: find the cause, or record it with UPDATE_GOLDEN=1 and give the reason")
    return lines, problems


def main():
    fine, bad = compare({"a": "100", "b": "100"}, {"a": 105, "b": 50})[1], compare({"a": "100"}, {"a": 106, "c": 1})[1]
    if fine or len(bad) != 2:
        sys.exit("this test does not find what it looks for")
    build_dir = os.environ["BUILD_DIR"]
    program = os.path.join(build_dir, "bin", "instructions")
    if os.environ.get("MEMSTAT_SANITIZER") or not os.path.exists(program):
        skip("instructions are counted in the release tree, with the daemon")
    if shutil.which("valgrind") is None or shutil.which("zstd") is None:
        skip("valgrind (its callgrind) or zstd is not installed")
    environment = instructions.settings(build_dir)
    if os.environ.get("UPDATE_GOLDEN"):
        counts = instructions.measure(program)
        with open(instructions.RECORD, "w", encoding="utf-8") as file:
            instructions.write(environment, counts, file)
        return
    recorded = instructions.read()
    other = [f"{name} is {value!r}, recorded with {recorded.get(name)!r}" for name, value in environment.items()
             if recorded.get(name) != value]
    if other:
        skip("counts of another build cannot be compared: " + "; ".join(other))
    counts = instructions.measure(program)
    lines, problems = compare(recorded, counts)
    if problems:  # Other threads can only add to it, so the smaller of two counts is the better one.
        again = instructions.measure(program)
        lines, problems = compare(recorded, {name: min(count, again.get(name, count)) for name, count in counts.items()})
    print("\n".join(lines))
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
