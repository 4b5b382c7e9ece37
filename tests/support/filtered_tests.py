#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Selects what `tests/run FILTER` builds and runs in one build directory.

    filtered_tests.py targets BUILD FILTER          prints the targets that tests matching FILTER need; nothing: all
    filtered_tests.py run BUILD FILTER RESULTS      runs the matching tests of the programs; RESULTS has the format of ctest

The programs and their directories are in BUILD/test-programs.txt, a line "PROGRAM DIRECTORY" each. Their tests are called
DIRECTORY/Suite.Name. ctest runs scripts; their names are their paths below tests/.
"""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

SECONDS = 1200  # for one program, as ctest reports its tests
SOURCE = pathlib.Path(__file__).resolve().parents[2]
# TEST(Suite, Name). For a parametrized or typed suite, GoogleTest puts the instance before and the parameter after the name.
TEST = re.compile(r"^\s*(?:MEMSTAT_)?(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)


def programs(build):
    path = build / "test-programs.txt"
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def in_source(directory):
    """Names of a directory's tests, found in its files."""
    for path in (SOURCE / "tests" / directory).rglob("*_test.cpp"):
        for suite, name in TEST.findall(path.read_text(encoding="utf-8")):
            yield f"{directory}/{suite}.{name}"


def targets(build, pattern):
    """The targets with a matching test; [] if only a whole build shows which."""
    wanted = [program for program, directory in programs(build) if any(pattern.search(name) for name in in_source(directory))]
    scripts = [path.relative_to(SOURCE / "tests").as_posix() for kind in ("*_test.py", "*_test.sh") for path in (SOURCE / "tests").rglob(kind)]
    scripts += [f"rules/{path.name}" for path in (SOURCE / "dashboards/prometheus/tests").glob("*_test.yml")]
    matching = [name for name in scripts if pattern.search(name)]
    if any(name.startswith(("end_to_end/", "unit/")) for name in matching):
        return []  # a script may start any program
    return wanted + (["memstatd"] if matching else [])


def listed(program):
    """Names of the tests of a program, from GoogleTest."""
    names, suite = [], ""
    for line in subprocess.run([program, "--gtest_list_tests"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith(" "):
            names.append(suite + word)
        else:
            suite = word
    return names


def run(build, pattern, output):
    """Runs the matching tests, one program after the other, so that live tests run alone."""
    results = build / "test-results"
    results.mkdir(exist_ok=True)
    suite = ElementTree.Element("testsuite")
    for program, directory in programs(build):
        path = build / "bin" / program
        if not any(pattern.search(name) for name in in_source(directory)):
            continue
        chosen = [name for name in listed(path) if pattern.search(f"{directory}/{name}")]
        if not chosen:
            continue
        print(f"{directory}: {len(chosen)} tests", flush=True)
        shared = results / f"{directory.replace('/', '_')}_filtered.xml"
        command = [path, "--gtest_brief=1", f"--gtest_filter={':'.join(chosen)}", f"--gtest_output=xml:{shared}"]
        try:
            status = subprocess.run(command, check=False, timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            status = f"more than {SECONDS} seconds"
        ElementTree.SubElement(suite, "testcase", name=f"{directory}/filtered", status="fail" if status else "run")
    ElementTree.ElementTree(suite).write(output)


def main():
    verb, build, pattern = sys.argv[1], pathlib.Path(sys.argv[2]), re.compile(sys.argv[3])
    if verb == "targets":
        print("\n".join(targets(build, pattern)))
    else:
        run(build, pattern, sys.argv[4])


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
