# SPDX-License-Identifier: BSD-2-Clause
"""The shipped alert and recording rules, with shorter times."""
import os
import re

import captures
import program

DIRECTORY = os.path.join(program.SOURCE_DIR, "dashboards", "prometheus")
NAMES = ("recording_rules.yml", "alerts.yml")


def hurried(rules, minute):
    """Rules with `minute` seconds for each minute (and hour) where they say how long a state must last and how often they are computed (once
    a second at most), because no test waits a quarter of an hour. Expressions, with the windows in them, and annotations stay as they are."""
    def shorter(match):
        seconds = int(match.group(3)) * minute
        return f"{match.group(1)}{match.group(2)}: {1000 * (max(seconds, 1) if match.group(2) == 'interval' else seconds):.0f}ms"
    text, count = re.subn(r"^( *)(for|interval): (\d+)[mh]$", shorter, rules, flags=re.MULTILINE)
    if not count:
        raise AssertionError("the rules no longer say minutes")
    return text


def write(directory, minute=1):
    """Writes them to a directory. Returns their paths as a list for the configuration of Prometheus."""
    for name in NAMES:
        with open(os.path.join(DIRECTORY, name), encoding="utf-8") as file:
            captures.write_file(os.path.join(directory, name), hurried(file.read(), minute))
    return [os.path.join(directory, name) for name in NAMES]
