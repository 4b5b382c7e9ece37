#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`rule_test.py FILE`: promtool finds one file of tests of the rules to hold. Each file in dashboards/prometheus/tests is a test of
ctest by itself, called rules/FILE."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    if not shutil.which("promtool"):
        print("promtool is not installed (Debian package prometheus): this file of tests of the rules was not run")
        return 77
    file = ROOT / sys.argv[1]
    # Less time for the collector of promtool's garbage, at 200 MB of memory.
    done = subprocess.run(["promtool", "test", "rules", file.name], cwd=file.parent, capture_output=True, text=True, check=False,
                          env={**os.environ, "GOGC": "800"})
    print(done.stdout[-8000:] + done.stderr[-8000:])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
