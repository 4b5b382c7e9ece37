#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`rule_test.py FILE`: promtool passes one file of tests of the rules. Each file in dashboards/prometheus/tests is a test of
ctest by itself, called rules/FILE.

promtool parses and computes all rules at every step of every test, which takes minutes, although most of them ask for series that the test
does not have. Those cannot have a result, so they are left out: of alerts, those whose expression names no series of the test; of recorded
ones also those that neither an alert nor the test asks for. `promtool test rules FILE` computes all and finds the same."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("python3-yaml is not installed: this file of tests of the rules was not run")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Part of other series: by itself it raises no alert.
WHOLE = {"memstat_memory_total_bytes"}
# These have a result where there is no series.
MAKES_SERIES = re.compile(r"\b(absent|absent_over_time|vector)\b")


def words(*texts):
    """Words that may be names of metrics, and others."""
    return set(re.findall(r"[A-Za-z_:][\w:]*", " ".join(texts)))


def reduced(groups, test):
    """The groups with the rules that can have a result in this test and matter to it."""
    present = {re.match(r"[\w:]+", series["series"]).group() for series in test["input_series"]}
    kept = []
    while True:  # a recorded series of the test's series counts, too
        more = [rule for group in groups for rule in group["rules"]
                if rule not in kept and (words(rule["expr"]) & (present - WHOLE if "alert" in rule else present) or MAKES_SERIES.search(rule["expr"]))]
        if not more:
            break
        kept += more
        present |= {rule["record"] for rule in more if "record" in rule}
    asked = words(*[case["expr"] for case in test.get("promql_expr_test", [])])
    wanted = [rule for rule in kept if "alert" in rule]
    for rule in wanted:
        asked |= words(rule["expr"], *rule["annotations"].values())
    while more := [rule for rule in kept if rule not in wanted and rule["record"] in asked]:
        wanted += more
        asked |= words(*[rule["expr"] for rule in more])
    return [{**group, "rules": [rule for rule in group["rules"] if rule in wanted]} for group in groups]


def written(directory, file):
    """One file of tests for each test, with its own rules."""
    document = yaml.load(file.read_text(encoding="utf-8"), Loader=LOADER)
    groups = [group for name in document["rule_files"] for group in yaml.load((file.parent / name).read_text(encoding="utf-8"), Loader=LOADER)["groups"]]
    paths = []
    for number, test in enumerate(document["tests"]):
        (directory / f"rules{number}.yml").write_text(yaml.safe_dump({"groups": reduced(groups, test)}), encoding="utf-8")
        paths.append(directory / f"test{number}.yml")
        paths[-1].write_text(yaml.safe_dump({**document, "rule_files": [f"rules{number}.yml"], "tests": [test]}), encoding="utf-8")
    return paths


def main():
    if not shutil.which("promtool"):
        print("promtool is not installed (Debian package prometheus): this file of tests of the rules was not run")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        # Less time for garbage collection in promtool, for 200 MB of memory.
        done = subprocess.run(["promtool", "test", "rules", *written(pathlib.Path(directory), ROOT / sys.argv[1])], capture_output=True,
                              text=True, check=False, env={**os.environ, "GOGC": "800"})
    print(done.stdout[-8000:] + done.stderr[-8000:])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
