#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: installs Grafana's types from npm
"""Every dashboard matches Grafana's own types: JSON schemas are generated from the npm package @grafana/schema for the dashboard, its
panels, the options of each kind of panel, and the queries. A mistake of each kind is detected."""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import grafana  # noqa: E402
import node_packages  # noqa: E402
import program  # noqa: E402


@unittest.skipIf(program.SANITIZER, "dashboards are the same in every tree")
class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = node_packages.installed("grafana_schema")

    def problems(self, *files):
        done = subprocess.run(["node", "validate.mjs", *files], cwd=self.directory, capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout.strip().splitlines()

    def test_dashboards_fit_grafanas_types(self):
        # Grafana's types lack the annotations of Prometheus, whose fields belong to the plugin: they are checked here.
        with tempfile.TemporaryDirectory() as directory:
            files = []
            for name, dashboard in grafana.dashboards().items():
                for annotation in dashboard["annotations"]["list"]:
                    self.assertEqual(annotation["datasource"], {"type": "prometheus", "uid": "${datasource}"})
                    self.assertTrue(annotation["name"] and annotation["iconColor"] and annotation["expr"])
                dashboard["annotations"]["list"] = []
                files.append(os.path.join(directory, f"{name}.json"))
                with open(files[-1], "w", encoding="utf-8") as file:
                    json.dump(dashboard, file)
            self.assertEqual(self.problems(*files), [])

    def test_mistakes_are_found(self):
        good = grafana.dashboards()["host"]
        good["annotations"]["list"] = []

        def first(dashboard, kind):
            return next(panel for panel in dashboard["panels"] if panel["type"] == kind)
        mistakes = {
            "/schemaVersion": lambda bad: bad.update(schemaVersion="39"), "graphToolTip": lambda bad: bad.update(graphToolTip=1),
            "/gridPos": lambda bad: first(bad, "stat")["gridPos"].pop("w"), "colorMode": lambda bad: first(bad, "stat")["options"].update(colorMode="red"),
            "fillOpacity": lambda bad: first(bad, "timeseries")["fieldConfig"]["defaults"]["custom"].update(fillOpacity="8"),
            "query A": lambda bad: first(bad, "bargauge")["targets"][0].update(format="matrix"),
        }
        with tempfile.TemporaryDirectory() as directory:
            files = []
            for index, spoil in enumerate(mistakes.values()):
                bad = copy.deepcopy(good)
                spoil(bad)
                files.append(os.path.join(directory, f"{index}.json"))
                with open(files[-1], "w", encoding="utf-8") as file:
                    json.dump(bad, file)
            found = self.problems(*files)
        for index, words in enumerate(mistakes):
            self.assertTrue(any(f"{index}.json" in line and words in line for line in found), (words, found))


if __name__ == "__main__":
    program.main()
