#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The dashboards, rules and Kubernetes objects that ship are what dashboards/render makes of dashboards/mixin, and the dashboards keep the
rules for good ones: one datasource variable, variables for cluster, job and host, a title, a description, a unit, links and a word on why
it may be empty for every panel, and queries that choose cluster, job and host, take rates of counters over Grafana's own interval, and in
the fleet dashboard ask for recorded series only."""
import copy
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIRECTORY = ROOT / "dashboards" / "grafana"
NAMES = ("fleet", "host", "type", "daemon")
UIDS = {f"memstatd-{name}" for name in NAMES}
PANEL_TYPES = {"timeseries", "stat", "table", "bargauge", "heatmap", "state-timeline", "text", "row"}
GRAFANA_VARIABLES = {"__rate_interval", "__range", "__url_time_range", "__interval"}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
PROMQL_WORDS = {"by", "without", "on", "ignoring", "and", "or", "unless", "bool", "group_left", "group_right", "offset"}
SINCE_BOOT = {"memstat_checker_bugs_total", "memstat_kernel_reports_total"}  # it only matters that there was one
DISJOINT = {"memstat_accounted_bytes", "memstat_unaccounted_bytes", "memstat_memory_total_bytes", "instance:memstat_memory_total_bytes:max"}

# A host has few of these, and they have no other recorded name.
FEW = {"memstat_accounted_bytes", "memstat_unaccounted_bytes", "memstat_finding", "memstat_finding_info"}


def selectors(expression):
    """(metric, matchers) of each series that an expression asks for."""
    without_groups = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", "", expression)
    found = []
    for match in re.finditer(r"([a-zA-Z_:][\w:]*)?\{([^}]*)\}", without_groups):
        name = match.group(1) or re.search(r'__name__=~?"([^"]*)"', match.group(2)).group(1)
        found.append((name, match.group(2)))
    rest = re.sub(r'([a-zA-Z_:][\w:]*)?\{[^}]*\}|\[[^\]]*\]|"[^"]*"', "", without_groups)
    for match in re.finditer(r"(?<![\w$\"])([a-zA-Z_:][\w:]*)(?!\w*\s*\()", rest):
        if match.group(1) not in PROMQL_WORDS:
            found.append((match.group(1), ""))
    return found


def has_level(metric, label):
    """Whether series of this name have the label: recorded ones have those of their level."""
    return ":" not in metric or label in metric.split(":")[0].split("_") or label in ("cluster", "job")


def query_problems(where, expression, is_fleet):
    for metric, matchers in selectors(expression):
        if metric in ("memstat_kernel_info", "kube_pod_info") or 'cause="fleet"' in matchers:  # about all hosts
            continue
        for label in ("cluster", "job", "instance"):
            if has_level(metric, label) and not re.search(rf'{label}=~"(\${label}|\(\${label}\)(\(-percpu\)\?)?)"', matchers):
                yield f"{where}: {metric} is queried without {label}=~\"${label}\""
        if is_fleet and ":" not in metric and metric not in FEW | {"ALERTS"}:
            yield f"{where}: {metric} is no recorded series"
        if metric not in SINCE_BOOT and metric.endswith(("_total", "_sum", "_count", "_bucket")) and ":" not in metric:
            if not re.search(rf"\b(rate|increase)\({metric}\{{[^}}]*\}}\[\$__(rate_interval|range)\]\)", expression):
                yield f"{where}: {metric} is a counter, and not in rate(...[$__rate_interval])"
    # Rules that look back over hours are computed only every slowInterval: use the last result.
    if re.search(r"\[\d+[smhd]", re.sub(r"last_over_time\(.*?\[15m\]", "", expression)):
        yield f"{where}: a window that does not follow the time shown"


def ranking_problems(where, expression):
    """Types whose memory is in other types are in no ranking by size: a control group contains those below it, and slabs of its tasks."""
    if "topk(" in expression:
        for metric, matchers in selectors(expression):
            is_ranked = re.search(r"memstat_type_(bytes|growth)", metric) and not metric.startswith("namespace_pod:")  # pods contain no pods
            if is_ranked and not re.search(r'allocator!~"memcg\|[^"]*\bsocket\b', matchers) and " - " not in expression:
                yield f"{where}: {metric} is ranked with types that contain each other"


def link_problems(where, links):
    if not links:
        yield f"{where}: no links"
    for link in links:
        target = re.match(r"/d/([\w-]+)", link["url"])
        if not target or target.group(1) not in UIDS:
            yield f"{where}: a link to {link['url']}"


def panel_problems(panel, is_fleet):
    where = panel.get("title") or f"panel {panel['id']}"
    if panel["type"] not in PANEL_TYPES:
        yield f"{where}: of type {panel['type']}"
    if not panel.get("title"):
        yield f"{where}: no title"
    if panel["type"] == "row":
        return
    if len(panel.get("description", "")) < 15:
        yield f"{where}: no description"
    yield from link_problems(where, panel.get("links"))
    if panel["type"] == "text":
        return
    shown = panel["fieldConfig"]["defaults"]
    if not shown.get("unit"):
        yield f"{where}: no unit"
    if not shown.get("noValue"):
        yield f"{where}: it does not explain when and why it is empty"
    if shown.get("links"):
        yield from link_problems(where, shown["links"])
    if panel.get("datasource") != DATASOURCE or any(target["datasource"] != DATASOURCE for target in panel["targets"]):
        yield f"{where}: the datasource is not the variable"
    if not panel["targets"]:
        yield f"{where}: no query"
    for target in panel["targets"]:
        yield from query_problems(where, target["expr"], is_fleet)
        yield from ranking_problems(where, target["expr"])
    if shown.get("custom", {}).get("stacking", {}).get("mode") == "normal":
        for target in panel["targets"]:
            for metric, _ in selectors(target["expr"]):
                if metric not in DISJOINT:
                    yield f"{where}: {metric} is stacked, and may overlap with others"


def reading_problems(dashboards):
    """Mistakes that make pictures hard to read: legends that repeat with two hosts, a part of memory that changes its color, a leak without the kernel."""
    for panel in all_panels(dashboards["host"]):
        is_stack = panel.get("fieldConfig", {}).get("defaults", {}).get("custom", {}).get("stacking", {}).get("mode") == "normal"
        for target in panel.get("targets", []):
            if panel["type"] in ("timeseries", "stat", "bargauge") and not is_stack and not re.search(r"\{\{(instance|namespace)\}\}", target["legendFormat"]):
                yield f"host: {panel['title']}: with two hosts the legend {target['legendFormat']} repeats"
    parts = {part for path in (ROOT / "core" / "sources").glob("*_memory.cpp") for part in re.findall(r'accounts\.add\w*\("(\w+)"', path.read_text())}
    for where, title in (("host", "Where memory is (sum over $instance)"), ("fleet", "Memory by part")):
        panel = next(panel for panel in all_panels(dashboards[where]) if panel["title"] == title and panel["type"] == "timeseries")
        bound = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"] if any(found["id"] == "color" for found in override["properties"])}
        if len(parts) < 10 or parts - bound:
            yield f"{where}: {title}: without a color of their own: {sorted(parts - bound)}"
    for title in ("Hosts", "Which type grows, and on how many hosts"):
        panel = next(panel for panel in all_panels(dashboards["fleet"]) if panel["title"] == title and panel["type"] == "table")
        if "kernel release" not in json.dumps(panel["transformations"]):
            yield f"fleet: {title}: without the kernel release"


def all_panels(dashboard):
    """Those of rows that are closed as well."""
    return [panel for top in dashboard["panels"] for panel in [top, *top.get("panels", [])]]


def variable_problems(dashboard, is_fleet):
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    sources = [variable for variable in variables.values() if variable["type"] == "datasource"]
    if [variable["name"] for variable in sources] != ["datasource"] or sources[0]["query"] != "prometheus":
        yield "the one variable for datasources is called datasource, for Prometheus"
    for name in ("cluster", "job", "instance"):
        if name not in variables:
            yield f"no variable {name}"
    for name, variable in variables.items():
        if variable["type"] != "query":
            continue
        if not variable["multi"] or variable["allValue"] != (".*" if name == "cluster" else ".+") or variable["datasource"] != DATASOURCE or variable["refresh"] != 2:
            yield f"variable {name}: several values, .+ for all, the variable datasource, and read again when the time changes"
        metric = re.match(r"label_values\(([\w:]+)", variable["query"]["query"])
        if is_fleet and (not metric or ":" not in metric.group(1)):
            yield f"variable {name}: {variable['query']['query']} is no recorded series"
    used = json.dumps([panel.get("targets") for panel in all_panels(dashboard)]) + json.dumps([v["query"] for v in variables.values()])
    for name in variables:
        if name != "datasource" and f"${name}" not in used:
            yield f"variable {name} is used nowhere"
    for name in re.findall(r"\$([a-zA-Z_]\w*)", used):
        if name not in variables and name not in GRAFANA_VARIABLES:
            yield f"there is no variable {name}"


def problems(name, dashboard):
    is_fleet = name == "fleet"
    wanted = {"uid": f"memstatd-{name}", "schemaVersion": 39, "editable": False, "graphTooltip": 1, "refresh": "1m"}
    found = [f"{key} is {dashboard.get(key)!r} and not {value!r}" for key, value in wanted.items() if dashboard.get(key) != value]
    found += [f"{key} belongs to exports" for key in ("__inputs", "__requires", "id") if key in dashboard]
    found += variable_problems(dashboard, is_fleet)
    found += link_problems("the dashboard", dashboard["links"])
    cells, seen = {}, set()
    for panel in all_panels(dashboard):
        found += panel_problems(panel, is_fleet)
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24 or panel["id"] in seen:
            found.append(f"{panel['title']}: beyond the right edge, or a number twice")
        seen.add(panel["id"])
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if cells.setdefault((x, y), panel["id"]) != panel["id"]:
                    found.append(f"{panel['title']}: over another panel")
    return [f"{name}: {problem}" for problem in dict.fromkeys(found)]


def render():
    """dashboards/render as a module."""
    path = ROOT / "dashboards" / "render"
    loader = importlib.machinery.SourceFileLoader("render", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("render", loader))
    loader.exec_module(module)
    return module


def stale():
    """Files that differ from what the mixin generates. The configuration must matter: another one generates other files."""
    module = render()
    made = module.rendered()
    found = [f"dashboards/{name} differs from what dashboards/render generates from dashboards/mixin: run it"
             for name, text in made.items() if (ROOT / "dashboards" / name).read_text() != text]
    other = module.rendered(module.PROGRAM.replace("import 'mixin/mixin.libsonnet'", "(import 'mixin/mixin.libsonnet') + { _config+:: {"
        "selector: 'team=\"x\"', clusterLabels: ['dc'], runbookBase: 'https://runs.example', grafanaBase: 'https://look.example',"
        "memoryLow: 0.17, interval: '3m', slowInterval: '8m' } }"))
    rules, alerts = other["prometheus/recording_rules.yml"], other["prometheus/alerts.yml"]
    for words, text in {'memstat_memory_total_bytes{team="x"}': rules, "by (dc, job, instance)": rules, "interval: 8m": rules,
                        "interval: 3m": alerts, "https://runs.example#memstatmemorylow": alerts, "https://look.example/d/": alerts,
                        "< 0.17": alerts, "var-dc=": alerts}.items():
        if words not in text:
            found.append(f"the configuration of the mixin has no effect: {words} is not in what is made with it")
    for words in ("cluster", "site,", "memstat_memory_total_bytes)", "example.org"):
        found += [f"the mixin ignores its configuration: there is still {words}" for text in (rules, alerts) if words in text]
    inhibitions = yaml.safe_load(other["prometheus/alertmanager.yml"])["inhibit_rules"]
    found += [f"alertmanager.yml: {rule['source_matchers']} of one cluster inhibits alerts of another" for rule in inhibitions if "dc" not in rule["equal"]]
    queries = [target["expr"] for name in NAMES for panel in all_panels(json.loads(other[f"grafana/{name}.json"])) for target in panel.get("targets", [])]
    found += [f"{query}: without the selector" for query in queries if 'team="x"' not in query]
    return found


def check_promql(expressions):
    """Prometheus's own parser, through rules."""
    rules = []
    for index, expression in enumerate(expressions):
        for name, value in {"__rate_interval": "5m", "__range": "1h", "__interval": "5m"}.items():
            expression = expression.replace(f"${name}", value)
        rules.append({"record": f"check:expression{index}:of", "expr": expression})
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "rules.yml"
        path.write_text(yaml.safe_dump({"groups": [{"name": "check", "rules": rules}]}))
        done = subprocess.run(["promtool", "check", "rules", str(path)], capture_output=True, text=True, timeout=600, check=False)
        return [] if done.returncode == 0 else [done.stdout + done.stderr]


def provisioning_problems():
    """Grafana's provisioning files: one datasource, and a provider of the directory that is installed."""
    found = []
    sources = yaml.safe_load((DIRECTORY / "provisioning" / "datasources" / "prometheus.yml").read_text())
    providers = yaml.safe_load((DIRECTORY / "provisioning" / "dashboards" / "memstatd.yml").read_text())
    if sources["apiVersion"] != 1 or [source["type"] for source in sources["datasources"]] != ["prometheus"]:
        found.append("provisioning: one datasource of type prometheus")
    path = providers["providers"][0]["options"]["path"]
    if providers["apiVersion"] != 1 or path != "/usr/share/memstatd/dashboards/grafana":
        found.append(f"provisioning: dashboards come from {path}, not from where they are installed")
    return found


def check_self(good):
    """A bad example of each kind is found."""
    def spoiled(spoil):
        bad = copy.deepcopy(good)
        spoil(bad)
        return "\n".join(problems("fleet", bad))

    def first(bad):
        return next(panel for panel in bad["panels"] if panel.get("targets"))

    def query(expression):
        return lambda bad: first(bad)["targets"][0].update(expr=expression)
    expected = {
        "schemaVersion": lambda bad: bad.update(schemaVersion=30), "no title": lambda bad: first(bad).update(title=""),
        "why it is empty": lambda bad: first(bad)["fieldConfig"]["defaults"].pop("noValue"), "no links": lambda bad: first(bad).update(links=[]),
        "datasource is not": lambda bad: first(bad).update(datasource={"type": "prometheus", "uid": "x"}),
        "over another": lambda bad: first(bad)["gridPos"].update(h=20), "without instance": query('instance:b:c{job=~"$job"}'),
        "no recorded": query('memstat_type_bytes{job=~"$job",instance=~"$instance"}'), "without job=~": query("sum(memstat_type_bytes)"),
        "is a counter": query('sum(memstat_x_total{job=~"$job",instance=~"$instance"})'),
        "does not follow": query('rate(memstat_x_total{job=~"$job",instance=~"$instance"}[5m])'),
        "no variable nothing": query('a:b:c{job=~"$nothing"}'), "several values": lambda bad: bad["templating"]["list"][2].update(multi=False),
        "contain each other": query('topk(5, instance_allocator_type:memstat_type_bytes:median30m{job=~"$job",cluster=~"$cluster"})'),
        "may overlap": lambda bad: first(bad)["fieldConfig"]["defaults"].update(custom={"stacking": {"mode": "normal"}}),
    }
    for words, spoil in expected.items():
        if words not in spoiled(spoil):
            raise AssertionError(f"the lint does not find: {words}\n{spoiled(spoil)}")


def main():
    dashboards = {name: json.loads((DIRECTORY / f"{name}.json").read_text()) for name in NAMES}
    check_self(dashboards["fleet"])
    found = [problem for name, dashboard in dashboards.items() for problem in problems(name, dashboard)]
    found += reading_problems(dashboards)
    has_jsonnet = shutil.which("jsonnet")
    found += stale() if has_jsonnet else []
    found += provisioning_problems()
    if {path.name for path in DIRECTORY.glob("*.json")} != {f"{name}.json" for name in NAMES}:
        found.append("dashboards/grafana has dashboards that this test does not check")
    expressions = [target["expr"] for dashboard in dashboards.values() for panel in all_panels(dashboard) for target in panel.get("targets", [])]
    has_promtool = shutil.which("promtool")
    found += check_promql(expressions) if has_promtool else []
    missing = [name for name, path in {"promtool": has_promtool, "jsonnet": has_jsonnet}.items() if not path]
    print("\n".join(found) or f"{len(expressions)} queries" + "".join(f"; not everything was checked: {name} is not installed" for name in missing))
    return 1 if found else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
