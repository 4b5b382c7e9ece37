#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the dashboards, fleet.json, host.json, type.json and daemon.json, from source/*.yaml: `dashboards/grafana/generate.py`.

A source says what a person decides: titles, descriptions, queries, units, widths. What Grafana needs beside that (identifiers, places,
the datasource at each query, links between the dashboards) comes from here. A panel of a source has these keys:

  title, description   what it shows; where it is empty on FreeBSD or on Linux, why
  kind                 timeseries, stack, stat, bars, table, heatmap, states or text
  unit                 an identifier of Grafana's, such as bytes
  queries              {expression: legend}; bars, stat and table ask for one moment, the others for the time shown
  width, height        of 24 columns, and in rows of 30 pixels
  empty                what stands there when nothing is to be shown
  to                   which dashboard a click on a series leads to
  thresholds           {value: color}
  columns              of a table: {label: heading}; the query's value is `Value`
  lines                series that are lines of their own in a stack, such as a total
  text                 of kind text: Markdown
"""
import json
import pathlib
import sys

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
NAMES = ["fleet", "host", "type", "daemon"]
INSTANT = {"stat", "bars", "table"}
ROW_HEIGHT = 1


def address(name, variables):
    return f"/d/memstatd-{name}?${{datasource:queryparam}}{variables}&${{__url_time_range}}"


def dashboard_link(name, url, keeps):
    """A link in the head of a panel, or of the dashboard; `keeps` says whether Grafana adds variables and time by itself."""
    return {"title": f"memstatd: {name}", "type": "link", "url": url, "icon": "dashboard", "tooltip": "", "tags": [], "asDropdown": False,
            "targetBlank": False, "includeVars": keeps, "keepTime": keeps}


def panel_links(name):
    """Each panel leads to the other dashboards, with the same variables."""
    kept = {"fleet": "&${job:queryparam}", "host": "&${job:queryparam}&${instance:queryparam}"}
    kept["daemon"] = kept["type"] = kept["host"]
    return [dashboard_link(other, address(other, kept[other]), False) for other in NAMES if other != name]


def data_links(to, is_table):
    """A click on a series leads to its host or its type."""
    if not to:
        return []
    value = (lambda label: f"${{__data.fields.{label}}}") if is_table else (lambda label: f"${{__field.labels.{label}}}")
    # Recording rules over all hosts leave no instance to go to.
    variables = {"host": ["job", "instance"], "daemon": ["job", "instance"], "type": ["job", "instance", "allocator", "type"],
                 "fleet": ["job", "allocator", "type"]}[to]
    return [{"title": f"show in memstatd: {to}", "url": address(to, "".join(f"&var-{label}={value(label)}" for label in variables))}]


def thresholds(steps):
    entries = [{"color": "green", "value": None}] if steps else [{"color": "text", "value": None}]
    return {"mode": "absolute", "steps": entries + [{"color": color, "value": value} for value, color in (steps or {}).items()]}


def mappings(source):
    options = {str(value): {"text": text, "color": color, "index": index}
               for index, (value, (text, color)) in enumerate((source or {}).items())}
    return [{"type": "value", "options": options}] if options else []


def defaults(panel):
    kind = panel["kind"]
    found = {"unit": panel["unit"], "mappings": mappings(panel.get("mappings")), "thresholds": thresholds(panel.get("thresholds")),
             "links": data_links(panel.get("to"), kind == "table"), "color": {"mode": "palette-classic"}, "custom": {}}
    if panel.get("empty"):
        found["noValue"] = panel["empty"]
    for bound in ("min", "max", "decimals"):
        if bound in panel:
            found[bound] = panel[bound]
    if kind in ("timeseries", "stack"):
        found["custom"] = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 60 if kind == "stack" else 8, "showPoints": "auto",
                           "pointSize": 4, "spanNulls": False, "lineInterpolation": "linear", "axisPlacement": "auto",
                           "stacking": {"mode": "normal" if kind == "stack" else "none", "group": "A"},
                           "thresholdsStyle": {"mode": "off"}}
    elif kind in ("stat", "bars"):
        found["color"] = {"mode": "thresholds"}
        if not panel.get("thresholds") and kind == "bars":
            found["color"] = {"mode": "continuous-BlPu"}
    elif kind == "states":
        found["color"] = {"mode": "thresholds"}
        found["custom"] = {"fillOpacity": 80, "lineWidth": 0}
    elif kind == "table":
        found["color"] = {"mode": "thresholds"}
        found["custom"] = {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False, "filterable": True}
    return found


def options(panel):
    kind = panel["kind"]
    reduce = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    if kind in ("timeseries", "stack"):
        return {"legend": {"displayMode": "table", "placement": panel.get("legend", "bottom"), "showLegend": True,
                           "calcs": ["lastNotNull", "max"], "sortBy": "Last *", "sortDesc": True},
                "tooltip": {"mode": "multi", "sort": "desc"}}
    if kind == "stat":
        return {"reduceOptions": reduce, "orientation": "auto", "textMode": "auto", "wideLayout": True, "colorMode": "value",
                "graphMode": "none", "justifyMode": "auto", "showPercentChange": False}
    if kind == "bars":
        return {"reduceOptions": reduce, "orientation": "horizontal", "displayMode": "gradient", "showUnfilled": True,
                "valueMode": "color", "namePlacement": "auto", "sizing": "auto", "minVizWidth": 8, "minVizHeight": 16,
                "maxVizHeight": 300}
    if kind == "table":
        return {"showHeader": True, "cellHeight": "sm", "frameIndex": 0,
                "footer": {"show": False, "reducer": ["sum"], "countRows": False, "fields": []},
                "sortBy": [{"displayName": panel.get("sort", "Value"), "desc": True}]}
    if kind == "heatmap":
        return {"calculate": False, "cellGap": 1, "cellValues": {"unit": panel["unit"]},
                "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "reverse": False, "exponent": 0.5, "fill": "dark-orange",
                          "scale": "exponential"},
                "exemplars": {"color": "rgba(255,0,255,0.7)"}, "filterValues": {"le": 1e-9}, "legend": {"show": True},
                "rowsFrame": {"layout": "auto"}, "showValue": "never", "tooltip": {"mode": "single", "yHistogram": False},
                "yAxis": {"axisPlacement": "left", "axisLabel": panel["rows"], "unit": panel.get("row_unit", "none"), "reverse": False}}
    if kind == "states":
        return {"mergeValues": True, "showValue": "never", "alignValue": "left", "rowHeight": 0.9,
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                "tooltip": {"mode": "single", "sort": "none"}}
    return {"mode": "markdown", "content": panel["text"]}


def target(index, expression, legend, panel):
    is_instant = panel["kind"] in INSTANT
    shape = "table" if panel["kind"] == "table" else "heatmap" if panel.get("buckets") else "time_series"
    return {"refId": chr(ord("A") + index), "datasource": DATASOURCE, "editorMode": "code", "expr": " ".join(expression.split()),
            "legendFormat": legend or "__auto", "instant": is_instant, "range": not is_instant, "format": shape}


def transformations(panel):
    """Tables: one row for each set of labels, with the values of the queries as columns, and no label that says nothing."""
    if panel["kind"] != "table":
        return []
    columns = panel["columns"]
    names = {("Value" if len(panel["queries"]) == 1 and key == "Value #A" else key): heading for key, heading in columns.items()}
    kept = {"id": "filterFieldsByName", "options": {"include": {"names": list(names)}}}
    order = {"id": "organize", "options": {"excludeByName": {}, "indexByName": {key: index for index, key in enumerate(names)},
                                           "renameByName": names}}
    return [{"id": "merge", "options": {}}, kept, order]


def overrides(panel):
    found = []
    for name, unit in panel.get("units", {}).items():
        found.append({"matcher": {"id": "byName", "options": name}, "properties": [{"id": "unit", "value": unit}]})
    for name, shown in panel.get("column_mappings", {}).items():
        found.append({"matcher": {"id": "byName", "options": name}, "properties": [{"id": "mappings", "value": mappings(shown)}]})
    for name in panel.get("lines", []):  # a limit is a line of its own, not an area among the others
        found.append({"matcher": {"id": "byName", "options": name}, "properties": [
            {"id": "custom.fillOpacity", "value": 0}, {"id": "custom.stacking", "value": {"mode": "none", "group": "A"}},
            {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}},
            {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}]})
    return found


GRAFANA_KINDS = {"stack": "timeseries", "bars": "bargauge", "states": "state-timeline"}


def made_panel(identifier, panel, place, name):
    kind = panel["kind"]
    made = {"id": identifier, "type": GRAFANA_KINDS.get(kind, kind), "title": panel["title"],
            "description": " ".join(panel["description"].split()), "gridPos": place, "links": panel_links(name),
            "options": options(panel)}
    if kind == "text":
        return made
    found = defaults(panel)
    if kind == "heatmap":
        found["custom"] = {"hideFrom": {"legend": False, "tooltip": False, "viz": False}, "scaleDistribution": {"type": "linear"}}
    made.update({"datasource": DATASOURCE, "fieldConfig": {"defaults": found, "overrides": overrides(panel)},
                 "targets": [target(index, *query, panel) for index, query in enumerate(panel["queries"].items())],
                 "transformations": transformations(panel)})
    if kind in INSTANT:
        made["maxDataPoints"] = 1
    return made


def variable(name, source):
    if name == "datasource":
        return {"name": name, "label": "Datasource", "type": "datasource", "query": "prometheus", "regex": "", "refresh": 1, "hide": 0,
                "multi": False, "includeAll": False, "options": [], "skipUrlSync": False}
    query = f"label_values({' '.join(source['from'].split())}, {name})"
    made = {"name": name, "label": source["label"], "description": source["description"], "type": "query", "datasource": DATASOURCE,
            "query": {"query": query, "refId": name, "qryType": 1}, "regex": "", "refresh": 2, "sort": 1, "hide": 0, "multi": True,
            "includeAll": source.get("all", True), "allValue": ".+", "options": [], "skipUrlSync": False}
    if made["includeAll"]:
        made["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return made


def made_panels(source, name):
    """Panels from left to right, in rows as wide as 24; the headings of groups fill one."""
    made, x, y, tallest, identifier = [], 0, 0, 0, 0
    for group in source["rows"]:
        y, x, tallest = y + tallest, 0, 0
        identifier += 1
        made.append({"id": identifier, "type": "row", "title": group["title"], "collapsed": False, "panels": [],
                     "gridPos": {"h": ROW_HEIGHT, "w": 24, "x": 0, "y": y}})
        y += ROW_HEIGHT
        for panel in group["panels"]:
            width, height = panel.get("width", 12), panel.get("height", 9)
            if x + width > 24:
                x, y, tallest = 0, y + tallest, 0
            identifier += 1
            made.append(made_panel(identifier, panel, {"h": height, "w": width, "x": x, "y": y}, name))
            x, tallest = x + width, max(tallest, height)
    return made


def dashboard(name):
    source = yaml.safe_load((FOLDER / "source" / f"{name}.yaml").read_text())
    links = [dashboard_link(other, f"/d/memstatd-{other}", True) for other in NAMES if other != name]
    return {"uid": f"memstatd-{name}", "title": source["title"], "description": " ".join(source["description"].split()),
            "tags": ["memstatd", "kernel", "memory"], "schemaVersion": 39, "version": 1, "editable": False, "graphTooltip": 1,
            "refresh": "", "time": {"from": source.get("from", "now-6h"), "to": "now"}, "timepicker": {}, "timezone": "browser",
            "weekStart": "", "fiscalYearStartMonth": 0, "liveNow": False, "annotations": {"list": []}, "links": links,
            "templating": {"list": [variable("datasource", None)] + [variable(*item) for item in source["variables"].items()]},
            "panels": made_panels(source, name)}


def text_of(name):
    return json.dumps(dashboard(name), indent=2) + "\n"


def main():
    for name in NAMES:
        (FOLDER / f"{name}.json").write_text(text_of(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
