#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The alert and recording rules of dashboards/prometheus: each alert has all that is asked of one and a runbook, each rule and alert
has promtool tests (an alert fires, does not fire before, and resolves), and promtool finds all of them to hold."""
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "dashboards" / "prometheus"
RUNBOOKS = "file:///usr/share/memstatd/dashboards/runbooks.md#"
SEVERITIES = {"info", "warning", "critical"}


def rules_of(document):
    for group in document["groups"]:
        for rule in group["rules"]:
            yield group, rule


def anchors(markdown):
    """What Markdown viewers make of the headings, of which each alert has one."""
    return {re.sub(r"[^a-z0-9 -]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            for line in markdown.splitlines() if line.startswith("#")}


def alert_problems(rule, sections):
    name = rule["alert"]
    labels, notes = rule.get("labels", {}), rule.get("annotations", {})
    if not re.fullmatch(r"Memstat[A-Z]\w+", name):
        yield f"{name}: alerts are called Memstat..."
    if labels.get("severity") not in SEVERITIES:
        yield f"{name}: severity is one of {sorted(SEVERITIES)}"
    if "for" not in rule:
        yield f"{name}: no `for`"
    if notes.get("runbook_url") != RUNBOOKS + name.lower():
        yield f"{name}: the runbook is {RUNBOOKS}{name.lower()}"
    if name.lower() not in sections:
        yield f"{name}: dashboards/runbooks.md has no section {name}"
    for note in ("summary", "description"):
        if "$labels.instance" not in notes.get(note, ""):
            yield f"{name}: the {note} does not name the host"
    description = notes.get("description", "")
    if "memstat_type_" in rule["expr"]:
        wanted = ["$labels.type", "$value"] + ([] if 'allocator="memcg"' in rule["expr"] else ["$labels.allocator"])
        for word in wanted:
            if word not in description:
                yield f"{name}: the description does not tell {word}"
    if re.search(r"\$value\s*}}", description):
        yield f"{name}: a figure in the description is not in human units"
    if "memstat_type_failures_total" in rule["expr"] and "Bucket" not in rule["expr"] and "memcg" not in rule["expr"]:
        yield f"{name}: uma's bucket zones fail routinely and are not left out"


def record_problems(rule):
    name = rule["record"]
    if not re.fullmatch(r"(job|instance)(_[a-z_]+)?:memstat_\w+:(sum|max|count|ratio|(ratio_)?rate5m|increase1h)", name):
        yield f"{name}: not of the form level:metric:operation"
    level = name.split(":")[0]
    grouped = re.search(r"\bby \(([^)]*)\)", rule["expr"])
    if grouped and level != "_".join(label for label in grouped.group(1).split(", ") if label != "job" or level.startswith("job")):
        yield f"{name}: the level does not name the labels that are left ({grouped.group(1)})"


def test_problems(alerts, records, documents):
    """`documents`: the parsed promtool tests, by name. Each alert has to be seen quiet, then firing, then quiet in one test."""
    said = {name: False for name in alerts}
    recorded = set()
    for file, document in documents.items():
        for test in document["tests"]:
            by_alert = {}
            for check in test.get("alert_rule_test", []):
                if check["alertname"] not in alerts:
                    yield f"{file}: {test['name']}: there is no alert {check['alertname']}"
                by_alert.setdefault(check["alertname"], []).append({str(one["exp_labels"]) for one in check["exp_alerts"]})
            for name, fired in by_alert.items():
                for labels in set().union(*fired):
                    if re.fullmatch("0+1+0+", "".join(str(int(labels in one)) for one in fired)):
                        said[name] = True
            recorded |= {check["expr"] for check in test.get("promql_expr_test", []) if check["exp_samples"]}
    for name, tested in said.items():
        if not tested:
            yield f"{name}: no promtool test shows that it fires, does not fire before, and resolves"
    for name in sorted(records - recorded):
        yield f"{name}: no promtool test shows its value"


def problems(alerts, records, documents, runbooks):
    sections = anchors(runbooks)
    alert_rules = [rule for _, rule in rules_of(alerts)]
    record_rules = [rule for _, rule in rules_of(records)]
    found = [problem for rule in alert_rules for problem in alert_problems(rule, sections)]
    found += [problem for rule in record_rules for problem in record_problems(rule)]
    names = {rule["alert"] for rule in alert_rules}
    found += test_problems(names, {rule["record"] for rule in record_rules}, documents)
    return found


def check_self():
    """A bad example of everything is found."""
    alert = {"alert": "Memstatbad", "expr": "rate(memstat_type_failures_total[5m]) > 0", "labels": {"severity": "bad"},
             "annotations": {"summary": "something", "description": "{{ $labels.instance }} {{ $value }}"}}
    record = {"record": "instance:memstat_type_bytes:sum", "expr": "sum by (job, instance, allocator) (memstat_type_bytes)"}
    test = {"name": "t", "alert_rule_test": [{"alertname": "Memstatbad", "exp_alerts": [{"exp_labels": {}}]}, {"alertname": "Other", "exp_alerts": []}]}
    found = "\n".join(problems({"groups": [{"rules": [alert]}]}, {"groups": [{"rules": [record]}]}, {"t.yml": {"tests": [test]}},
                               "# Runbooks\n"))
    for word in ("alerts are called", "severity", "no `for`", "the runbook is", "has no section", "summary does not name",
                 "$labels.type", "$labels.allocator", "human units", "bucket zones", "level does not name", "there is no alert Other",
                 "fires, does not fire", "shows its value"):
        if word not in found:
            raise AssertionError(f"the lint does not find: {word}\n{found}")


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=250, check=False)
    if done.returncode != 0:
        raise AssertionError(f"promtool {' '.join(arguments)}:\n{done.stdout[-6000:]}{done.stderr[-6000:]}")


def check_promtool():
    tests = sorted(f"tests/{path.name}" for path in (FOLDER / "tests").glob("*_test.yml"))
    promtool("check", "rules", "alerts.yml", "recording_rules.yml")
    promtool("test", "rules", *tests)


def main():
    check_self()
    read = lambda path: yaml.safe_load(path.read_text())  # noqa: E731
    documents = {path.name: read(path) for path in sorted((FOLDER / "tests").glob("*_test.yml"))}
    runbooks = (ROOT / "dashboards" / "runbooks.md").read_text()
    alerts, records = read(FOLDER / "alerts.yml"), read(FOLDER / "recording_rules.yml")
    found = problems(alerts, records, documents, runbooks)
    print("\n".join(found))
    if found:
        return 1
    print(f"{len(list(rules_of(alerts)))} alerts, {len(list(rules_of(records)))} recording rules")
    if not shutil.which("promtool"):
        print("promtool is not installed (Debian package prometheus): the rules' own tests were not run")
        return 77
    check_promtool()
    return 0


if __name__ == "__main__":
    sys.exit(main())
