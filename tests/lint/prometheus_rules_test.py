#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The alert and recording rules of dashboards/prometheus: each alert has all that is asked of one and a runbook, each rule and alert
has promtool tests (an alert fires, does not fire before, and resolves), and promtool reads the rules. The tests of ctest called
rules/... run promtool's tests."""
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
DIRECTORY = ROOT / "dashboards" / "prometheus"
SERVED = "http://{{ $labels.instance }}/runbooks/"  # by memstatd itself
TYPED = re.compile(r"curl -s http://127\.0\.0\.1(:8947|\{\{ with .*:8947\{\{ end \}\})/runbooks/(\w+)")
SEVERITIES = {"none", "info", "warning", "critical"}
CAUSES = {"memory", "integrity", "limit", "growth", "group", "daemon", "fleet"}
LOOKBACK = 300  # seconds within which Prometheus takes the last sample of a series for the present one
ALWAYS_FIRES = {"MemstatWatchdog"}
SECONDS = {"s": 1, "m": 60, "h": 3600}


def rules_of(document):
    for group in document["groups"]:
        for rule in group["rules"]:
            yield group, rule


def anchors(markdown):
    """The link targets that Markdown viewers derive from the headings; each alert has one."""
    return {re.sub(r"[^a-z0-9 -]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            for line in markdown.splitlines() if line.startswith("#")}


def alert_problems(rule, sections):
    name = rule["alert"]
    labels, notes = rule.get("labels", {}), rule.get("annotations", {})
    is_finding = re.match(r"(\w+:)?memstat_finding\b", rule["expr"])
    if not re.fullmatch(r"Memstat[A-Z]\w+", name):
        yield f"{name}: alerts are called Memstat..."
    if labels.get("severity") not in SEVERITIES:
        yield f"{name}: severity is one of {sorted(SEVERITIES)}"
    if labels.get("cause") not in CAUSES and not is_finding:  # these have the finding's
        yield f"{name}: cause is one of {sorted(CAUSES)}"
    if "dashboard_url" in notes:
        yield f"{name}: a link to Grafana although none is configured"
    typed = TYPED.fullmatch(notes.get("runbook_command", ""))
    if is_finding and "$labels.words" not in notes.get("summary", ""):
        yield f"{name}: no words of the finding"
    if not is_finding and (typed is None or typed.group(2) != name):
        yield f"{name}: runbook_command gets the page of memstatd with the runbook"
    if "example.org" in str(rule):
        yield f"{name}: a link that leads nowhere"
    if "for" not in rule:
        yield f"{name}: no `for`"
    url = notes.get("runbook_url", "")
    if labels.get("cause") != "fleet" and SERVED + name + "{" not in url or "file:" in url:  # nothing else has an address that all can reach
        yield f"{name}: the runbook is {SERVED}{name}"
    if name.lower() not in sections:
        yield f"{name}: dashboards/runbooks.md has no section {name}"
    for note in () if is_finding else ("summary", "description"):  # the words of a finding name the host
        if labels.get("cause") != "fleet" and "$labels.instance" not in notes.get(note, ""):
            yield f"{name}: the {note} does not name the host"
    description = notes.get("description", "")
    grouping = re.search(r"\$labels\.type|\$labels\.group", description)
    if re.search(r"\bmemstat_type_", rule["expr"]) and "memcg" in rule["expr"].split("}")[0] and not grouping and "oom_kills" not in rule["expr"]:
        yield f"{name}: the description does not name the group"
    if re.search(r"{{\s*\$value\s*}}", description):
        yield f"{name}: a figure in the description is not in human units"
    if "memstat_type_failures_total" in rule["expr"] and "Bucket" not in rule["expr"] and not re.search('allocator="(memcg|table)"', rule["expr"]):
        yield f"{name}: uma's bucket zones fail routinely and are not left out"


def cost_problems(group, rule):
    """Series of every type are expensive: only one rule uses them, at one moment, rarely."""
    for match in re.finditer(r"(?<![\w:])memstat_type_(?:bytes|held_bytes|objects|free_objects|object_footprint_bytes)(?![\w:])(\{[^}]*\})?(\[)?", rule["expr"]):
        name, matchers, window = rule.get("record") or rule["alert"], match.group(1) or "", match.group(2)
        if not re.search(r'allocator="', matchers) and (window or group["interval"] == "1m" or name != "instance_allocator_type:memstat_type_bytes:large"):
            yield f"{name}: it reads every type: {match.group()}"


def record_problems(rule):
    name = rule["record"]
    if not re.fullmatch(r"(job|instance)(_[a-z_]+)?:memstat_\w+:(sum|max|count|ratio|rate5m|increase1h|large|followed|exhausted|described|median30m|increase10m|growth(30m|6h|1d)|seconds[14]h|growing_hosts|gone)", name):
        yield f"{name}: not of the form level:metric:operation"
    level = name.split(":")[0]
    grouped = re.match(r"(?:sum|max|count) by \(([^)]*)\)", rule["expr"])
    everywhere = {"cluster", "site", "job"}  # of every level: clusters are never added up
    if grouped and (not everywhere <= set(grouped.group(1).split(", ")) or set(level.split("_")) - {"job"} != set(grouped.group(1).split(", ")) - everywhere):
        yield f"{name}: the level does not name the labels that are left ({grouped.group(1)})"


def offset_problems(documents):
    """Prometheus computes a group at an offset that comes of the path of its file. A result of another group that is written less often than
    each five minutes is not there at most moments, and on some paths never: it is read over a window. promtool knows nothing of this."""
    made = {rule["record"]: (group["name"], int(group["interval"][:-1]) * SECONDS[group["interval"][-1]])
            for document in documents for group, rule in rules_of(document) if "record" in rule}
    for document in documents:
        for group, rule in rules_of(document):
            for match in re.finditer(r"(?<![\w:])([a-z_]+(?:_[a-z]+)*:[\w:]+)(?:\{[^}]*\})?(\[)?", rule["expr"]):
                maker, seconds = made.get(match.group(1), (group["name"], 0))
                if maker != group["name"] and seconds >= LOOKBACK and not match.group(2):
                    yield f"{rule.get('record') or rule['alert']}: {match.group(1)} is another group's, and is read at one moment"


def test_problems(alerts, records, documents):
    """`documents`: the parsed promtool tests, by name. Each alert has to be seen quiet, then firing, then quiet in one test; all alerts that
    fire at a time are listed, so that one too many is found."""
    said = {name: False for name in alerts}
    recorded = set()
    for file, document in documents.items():
        for test in document["tests"]:
            times = []
            for check in test.get("promql_expr_test", []):
                recorded |= {name for name in records if name in check["expr"]} if check["exp_samples"] else set()
                if "ALERTS" in check["expr"] and all("alertname" in sample["labels"] for sample in check["exp_samples"]):
                    times.append({re.search(r'alertname="(\w+)"', sample["labels"]).group(1) for sample in check["exp_samples"]})
            firing = set().union(*times) if times else set()
            for name in firing | {check["alertname"] for check in test.get("alert_rule_test", [])}:
                if name not in alerts:
                    yield f"{file}: {test['name']}: there is no alert {name}"
                elif re.fullmatch("0+1+0+", "".join(str(int(name in one)) for one in times)):
                    said[name] = True
    for name, tested in said.items():
        if not tested and name not in ALWAYS_FIRES:
            yield f"{name}: no promtool test shows that it fires, does not fire before, and resolves"
    for name in sorted(records - recorded):
        yield f"{name}: no promtool test shows its value"


def table_problems(alerts, readme):
    """Rows of the table of reactions that are missing or differ; tests/bench/reaction_bench.py prints it."""
    wanted = [(rule["alert"], rule["labels"]["severity"], rule["for"], group["interval"]) for group, rule in rules_of(alerts) if rule.get("for")]
    found = re.findall(r"^\| (Memstat\w+) \| (\w+) \| (\w+) \| (\w+) \| (?:always|[\d.]+ (?:min|h|d)) \|$", readme, re.MULTILINE)
    yield from (f"README.md: the table of reactions lacks {row}" for row in wanted if row not in found)
    yield from (f"README.md: the table of reactions has {row}, which no rule is" for row in found if row not in wanted)


def problems(alerts, records, documents, runbooks, readme):
    sections = anchors(runbooks)
    alert_rules = [rule for _, rule in rules_of(alerts) if "alert" in rule]
    record_rules = [rule for document in (records, alerts) for _, rule in rules_of(document) if "record" in rule]
    found = [problem for rule in alert_rules for problem in alert_problems(rule, sections)]
    found += [problem for rule in record_rules for problem in record_problems(rule)]
    found += [problem for document in (alerts, records) for group, rule in rules_of(document) for problem in cost_problems(group, rule)]
    found += offset_problems((records, alerts))
    names = {rule["alert"] for rule in alert_rules}
    found += test_problems(names, {rule["record"] for rule in record_rules}, documents)
    found += table_problems(alerts, readme)
    return found


def check_self():
    """A bad example of each kind is found."""
    alert = {"alert": "Memstatbad", "expr": "rate(memstat_type_failures_total[5m]) > 0", "labels": {"severity": "bad"},
             "annotations": {"summary": "something", "description": "{{ $labels.instance }} {{ $value }}", "dashboard_url": "https://grafana.example.org"}}
    record = {"record": "instance:memstat_type_bytes:sum", "expr": "sum by (job, instance, allocator) (memstat_type_bytes)"}
    late = {"record": "job:memstat_type_bytes:sum", "expr": "sum by (cluster, site, job) (instance:memstat_type_bytes:sum)"}
    test = {"name": "t", "alert_rule_test": [{"alertname": "Other", "exp_alerts": []}]}
    found = "\n".join(problems({"groups": [{"name": "a", "interval": "1m", "rules": [alert, {**alert, "alert": "MemstatB", "for": "1m"}, {**alert, "alert": "MemstatC", "expr": "memstat_finding > 2"}]}]},
                               {"groups": [{"name": "b", "interval": "10m", "rules": [record]}, {"name": "c", "interval": "10m", "rules": [late]}]}, {"t.yml": {"tests": [test]}},
                               "# Runbooks\n", "| MemstatB | bad | 2m | 1m | 3 min |\n"))
    for word in ("alerts are called", "severity", "cause is", "although none is configured", "gets the page of memstatd", "no words of", "leads nowhere", "read at one moment", "no `for`", "the runbook is", "has no section",
                 "summary does not name", "human units", "bucket zones", "level does not name", "there is no alert Other",
                 "fires, does not fire", "shows its value", "reads every type", "reactions lacks", "which no rule is"):
        if word not in found:
            raise AssertionError(f"the lint does not find: {word}\n{found}")


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=DIRECTORY, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f"promtool {' '.join(arguments)}:\n{done.stdout[-6000:]}{done.stderr[-6000:]}")


def check_promtool():
    promtool("check", "rules", "alerts.yml", "recording_rules.yml")


def main():
    check_self()
    read = lambda path: yaml.safe_load(path.read_text())  # noqa: E731
    documents = {path.name: read(path) for path in sorted((DIRECTORY / "tests").glob("*_test.yml"))}
    runbooks = (ROOT / "dashboards" / "runbooks.md").read_text()
    alerts, records = read(DIRECTORY / "alerts.yml"), read(DIRECTORY / "recording_rules.yml")
    found = problems(alerts, records, documents, runbooks, (ROOT / "dashboards" / "README.md").read_text())
    print("\n".join(found))
    if found:
        return 1
    counted = [rule for document in (alerts, records) for _, rule in rules_of(document)]
    print(f"{sum('alert' in rule for rule in counted)} alerts, {sum('record' in rule for rule in counted)} recording rules")
    if not shutil.which("promtool"):
        print("promtool is not installed (Debian package prometheus): it did not check the rules")
        return 77
    check_promtool()
    return 0


if __name__ == "__main__":
    sys.exit(main())
