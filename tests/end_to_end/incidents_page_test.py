#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: opens the page in Chromium
"""Incidents on the status page: the same fields as in the API, and charts of the last minutes from the figures that it serves."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import incident_captures  # noqa: E402
import program  # noqa: E402

CHROMIUM = shutil.which("chromium")
PICTURES = os.path.join(os.environ.get("BUILD_DIR") or os.path.join(program.SOURCE_DIR, "build"), "pictures")


def browse(url, *options):
    """Standard output of a headless Chromium that has run the page's scripts for some seconds of its own time."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,1000", "--virtual-time-budget=5000", *options, url]
    return subprocess.run(command, capture_output=True, text=True, timeout=program.PATIENCE, check=True).stdout


@unittest.skipUnless(CHROMIUM, "chromium is not installed (Debian package chromium)")
class Page(unittest.TestCase):
    def test_has_what_the_api_has(self):
        directory = self.enterContext(program.temporary_directory())
        kept = os.path.join(directory, "incidents")
        configuration = captures.write_file(os.path.join(directory, "memstatd.yaml"), f"incidents: {{directory: {kept}}}\n")
        capture = incident_captures.two_incidents(os.path.join(directory, "capture"))
        with program.Daemon("--config", configuration, "--replay", capture) as daemon:
            served = program.wait_until(lambda: self.incidents_of(daemon, 2), lambda: "two incidents\n" + daemon.log)
            daemon.wait_log("the replay has ended")
            url = f"http://{daemon.host}:{daemon.port}/"
            page = browse(url, "--dump-dom")
            os.makedirs(PICTURES, exist_ok=True)
            browse(url, f"--screenshot={os.path.join(PICTURES, 'incidents.png')}")
        rows = re.search(r'<ol id="incident-list"[^>]*>(.*?)</ol>', page, re.DOTALL)[1].split("<li>")[1:]
        self.assertEqual(len(rows), len(served))
        for number, (row, one) in enumerate(zip(rows, served), 1):
            text = html.unescape(re.sub(r"<[^>]*>", "\n", row))
            for field in ("headline", "killed", "killer", "culprit"):
                self.assertIn(one.get(field, ""), text)
            self.assertIn(f"memstatctl why --incident {number}\n", text)
            self.assertIn(f'href="/api/v1/incidents/{one["file"]}"', row)
            self.assertEqual(row.count("<svg"), 2 if one.get("object") == "/app" else 1, "available memory, and the group")
            self.assertIn("Available memory: 1.2 GiB", text)
        group = next(row for row, one in zip(rows, served) if one.get("object") == "/app")
        self.assertRegex(group, "/app: 20 MiB, then from [24] MiB to 50 MiB")
        self.assertIn("its limit is 64 MiB", group)
        bound = re.search(r'<path class="bound" d="M0 ([\d.]+)H100"', group)
        self.assertEqual(float(bound[1]), 0.0, "the limit is the highest")
        heights = [float(place) for place in re.findall(r"[ML][\d.]+ ([\d.]+)", re.findall(r'<path class="spark" d="([^"]*)"', group)[1])]
        expected = [30 - 30 * one["bytes"] / incident_captures.LIMIT for one in next(one for one in served if one.get("object") == "/app")["figures"]]
        self.assertEqual(len(heights), len(expected))
        for height, wanted in zip(heights, expected):
            self.assertAlmostEqual(height, wanted, delta=0.06)

    @staticmethod
    def incidents_of(daemon, number):
        incidents = json.loads(daemon.request("/api/v1/incidents")[2]).get("incidents", [])  # none before the first poll
        return incidents if len(incidents) == number else None


if __name__ == "__main__":
    program.main()
