#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""README is short, names only what exists, and its examples of the built programs work next to a serving memstatd."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
import typed_commands  # noqa: E402

MOST_LINES = 260
# Programs that need only the build and a memstatd that serves. typed_documents_test.py types all commands, in a bare system.
BUILT = ("curl", "export", "memstatctl", "memstatd")


def readme():
    with open(os.path.join(program.SOURCE_DIR, "README.md"), encoding="utf-8") as file:
        return file.read()


def column(flag, name):
    output = subprocess.run([program.MEMSTATD, flag], check=True, capture_output=True, text=True, timeout=program.PATIENCE).stdout
    header, *rows = (line.split("\t") for line in output.splitlines())
    return {dict(zip(header, row))[name] for row in rows}


class Readme(unittest.TestCase):
    def test_it_is_short(self):
        self.assertLessEqual(readme().count("\n"), MOST_LINES)

    def test_metrics_exist(self):
        printed = program.run("--once", "--replay", captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]).stdout.decode()
        known = column("--list-metrics", "name") | set(re.findall(r"^# TYPE (\w+) ", printed, re.M))
        # A good replay has no errors and is not recorded, and the age exists only in a scrape.
        known |= {"memstat_source_errors_total", "memstat_poll_age_seconds", "memstat_recording_polls_total"}
        functions = set()
        with open(os.path.join(program.SOURCE_DIR, "core", "include", "memstat.h"), encoding="utf-8") as file:
            functions.update(re.findall(r"\bmemstat_\w+", file.read()))
        named = set(re.findall(r"`(memstat_\w+)", readme()))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - known - functions, set())


class Examples(unittest.TestCase):
    maxDiff = None

    @program.needs_slabinfo
    def test_each_works(self):
        typed = 0
        with program.temporary_directory() as directory, program.Daemon("--interval", "500ms") as daemon:
            program.wait_until(lambda: b"memstat_type_delta_bytes{" in daemon.request("/metrics")[2], "the second poll")
            for name in ("config", "core", "tests"):
                os.symlink(os.path.join(program.SOURCE_DIR, name), os.path.join(directory, name))
            os.makedirs(os.path.join(directory, "build"))
            os.symlink(os.path.dirname(program.MEMSTATD), os.path.join(directory, "build", "bin"))
            session = ""
            for command in typed_commands.commands("README.md"):
                if command.text.split()[0] not in BUILT:
                    continue
                if command.text.startswith("export "):
                    session += command.text + "\n"
                    continue
                line = command.text.replace("127.0.0.1:8947", f"127.0.0.1:{daemon.port}")
                done = subprocess.run(["bash", "-c", session + typed_commands.as_typed(line)], cwd=directory, capture_output=True, text=True,
                                      check=False, stdin=subprocess.DEVNULL, timeout=program.PATIENCE)
                typed += 1
                # The status of why depends on what it found on this machine.
                good = (0, 10, 11) if line.startswith("memstatctl why") else (0,)
                self.assertIn(done.returncode, good, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
                self.assertEqual(typed_commands.difference(command, done.stdout), "")
        self.assertGreater(typed, 8)


if __name__ == "__main__":
    unittest.main()
