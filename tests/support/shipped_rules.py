# SPDX-License-Identifier: BSD-2-Clause
"""The shipped alert and recording rules, in a hurry."""
import os
import re

import captures
import program

FOLDER = os.path.join(program.SOURCE_DIR, "dashboards", "prometheus")
NAMES = ("recording_rules.yml", "alerts.yml")


def in_seconds(rules):
    """Rules with seconds for minutes where they say how long a state must last and how often they are computed, because no test waits a
    quarter of an hour. Expressions, with the windows in them, and annotations stay as they are."""
    hurried, count = re.subn(r"^( *(?:for|interval): \d+)[mh]$", r"\1s", rules, flags=re.MULTILINE)
    if not count:
        raise AssertionError("the rules no longer say minutes")
    return hurried


def write(folder):
    """Writes them to a directory; the configuration of Prometheus names them by this list of paths."""
    for name in NAMES:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            captures.write_file(os.path.join(folder, name), in_seconds(file.read()))
    return [os.path.join(folder, name) for name in NAMES]
