#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The command of dashboards/README.md that counts series prints the number of the page that is scraped. A first poll has no deltas."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402

# Groups and types come and go between the two counts. Series of deltas are a fifth of the page.
TOLERANCE = 0.05


class SeriesCount(unittest.TestCase):
    def test_the_command_counts_the_series_of_the_page(self):
        with open(os.path.join(program.SOURCE_DIR, "dashboards", "README.md"), encoding="utf-8") as file:
            commands = re.findall(r"(?m)^(memstatd --once .*\| grep -vc '\^#') ", file.read())
        self.assertEqual(len(commands), 1, commands)
        with program.Daemon("--interval", "1s") as daemon:
            daemon.wait_page(lambda now: now.number("memstat_poll_duration_seconds_count") > 2, "three polls")
            counted = int(subprocess.run(["sh", "-c", commands[0]], capture_output=True, text=True, check=True, timeout=program.PATIENCE,
                                         env={**os.environ, "PATH": os.path.dirname(program.MEMSTATD) + ":" + os.environ["PATH"]}).stdout)
            page = daemon.request("/metrics")[2].decode()
        served = sum(1 for line in page.splitlines() if not line.startswith("#"))
        self.assertAlmostEqual(counted, served, delta=TOLERANCE * served)


if __name__ == "__main__":
    program.main()
