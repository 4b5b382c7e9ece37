#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: installs Grafana's types from npm
"""Every dashboard matches Grafana's own types: JSON schemas are generated from the npm package @grafana/schema for the dashboard, its
panels, the options of each kind of panel, and the queries. A mistake of each kind is detected."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
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
                captures.write_file(files[-1], json.dumps(dashboard))
            self.assertEqual(self.problems(*files), [])
            dashboard["panels"][-1]["gridPos"].pop("w")
            captures.write_file(files[-1], json.dumps(dashboard))
            self.assertIn("/gridPos", "\n".join(self.problems(*files)), "a mistake is found")


if __name__ == "__main__":
    program.main()
