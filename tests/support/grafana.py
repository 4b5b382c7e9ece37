# SPDX-License-Identifier: BSD-2-Clause
"""The dashboards of dashboards/grafana for tests: their panels, the panels' queries, and Grafana's substitution of variables."""
import json
import os
import re

import program

DIRECTORY = os.path.join(program.SOURCE_DIR, "dashboards", "grafana")
NAMES = ("fleet", "host", "type", "daemon")


def dashboards():
    """{name: dashboard} of all shipped ones."""
    found = {}
    for name in NAMES:
        with open(os.path.join(DIRECTORY, f"{name}.json"), encoding="utf-8") as file:
            found[name] = json.load(file)
    return found


def panels(dashboard):
    """All panels except the headings of rows, including those in closed rows."""
    inside = [panel for row in dashboard["panels"] for panel in row.get("panels", [])]
    return [panel for panel in dashboard["panels"] + inside if panel["type"] != "row"]


def opened(dashboard):
    """Panels from top to bottom with all rows open, as after a click on the headings."""
    found, below = [], 0

    def moved(panel):
        return {**panel, "gridPos": {**panel["gridPos"], "y": panel["gridPos"]["y"] + below}}
    for panel in dashboard["panels"]:
        inside = panel.get("panels", [])
        found += [moved({**panel, "panels": []})] + [moved(one) for one in inside]
        if inside:
            below += max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in inside) - panel["gridPos"]["y"] - 1
    return found


def queries(dashboard):
    """(panel, target) of every query."""
    return [(panel, target) for panel in panels(dashboard) for target in panel.get("targets", [])]


def said(panel):
    """The text of a panel: its description, and its text when it is empty."""
    return panel["description"] + " " + panel.get("fieldConfig", {}).get("defaults", {}).get("noValue", "")


def substitute(expression, values):
    """The expression with $name and ${name} replaced, as Grafana does with several values chosen: as a regular expression.
    $1 belongs to the query: label_replace's first group."""
    def value(match):
        name = match.group(1) or match.group(2)
        if name not in values:
            raise AssertionError(f"no value for ${name} in {expression}")
        return values[name]
    return re.sub(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))", value, expression)
