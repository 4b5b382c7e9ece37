# SPDX-License-Identifier: BSD-2-Clause
"""The checker's verdict on what a guest recorded in rounds (guest.sh, round)."""
import pathlib
import tempfile

import checker
import machine


def check_rounds(outcome, environment):
    """(number of groups of rounds, verdicts of all values of all groups)"""
    known = {"processes": True, "migrate_types": environment.get("ACCOUNT", "root") == "root"}
    groups = {}
    with tempfile.TemporaryDirectory(prefix="memstat-rounds-") as directory:
        machine.keep(outcome.files, directory)
        for name in outcome.files.get("order", b"").decode().split():
            found = checker.recorded_round(pathlib.Path(directory) / name) if f"{name}/page" in outcome.files else None
            if found:
                groups.setdefault(name.split(".")[0], []).append(checker.compare(*found, known))
            else:
                print(f"  round {name}: no page whose sources were all read in the quiet time after the first reading")
    best = {(metric, (("in", group), *labels)) if len(groups) > 1 else (metric, labels): verdict
            for group, rounds in groups.items() for (metric, labels), verdict in checker.judge_rounds(rounds).items()}
    return sum(len(rounds) >= 3 for rounds in groups.values()), best
