#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""README is a front door: short, it names only what exists, and its examples work when they are typed.

They are typed in the order in which they stand, beside a memstatd that serves as daemon/run starts it. What is printed of a capture
must be what README shows, byte by byte; of the live kernel the same series with other values.
"""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

MOST_LINES = 260
PAGES = ("core/man", "daemon/man", "config/man")
# Commands that this test does not type, by how they begin, and what types them: they install, or need another system.
TYPED_ELSEWHERE = {
    "daemon/run ": "tests/fresh",
    "daemon/run --build && cpack": "tests/end_to_end/package_deb_test.py",
    "tests/run": "tests/fresh",
    "sudo apt-get install": "tests/end_to_end/package_deb_test.py",
    "sudo cp /usr/share/memstatd/dashboards": "tests/end_to_end/package_install_test.py",
    "cmake -S . -B build": "tests/end_to_end/package_port_test.py",
    "sysrc memstatd_enable=YES": "tests/unit/rc.d/rc_script_test.sh",
}


def readme():
    with open(os.path.join(program.SOURCE_DIR, "README.md"), encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """The language and the lines of each example."""
    return [(language, body.splitlines()) for language, body in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)]


def commands(text):
    """(command, lines that it prints or None) in the order of the text."""
    for language, lines in blocks(text):
        if language == "sh":
            for line in lines:
                yield re.sub(r"\s+# .*", "", line), None
        elif language == "console":
            command, shown = None, []
            for line in [*lines, "$ "]:
                if line.startswith("$ "):
                    if command:
                        yield command, shown
                    command, shown = line[2:], []
                elif line:
                    shown.append(line)


def typed_elsewhere(command):
    return max((start for start in TYPED_ELSEWHERE if (command + " ").startswith(start)), key=len, default=None)


def series(lines):
    return [line.rsplit(" ", 1)[0] for line in lines]


def column(flag, name):
    output = subprocess.run([program.MEMSTATD, flag], check=True, capture_output=True, text=True, timeout=60).stdout
    header, *rows = (line.split("\t") for line in output.splitlines())
    return {dict(zip(header, row))[name] for row in rows}


class Readme(unittest.TestCase):
    def test_it_is_short(self):
        self.assertLessEqual(readme().count("\n"), MOST_LINES)

    def test_metrics_exist(self):
        printed = program.run("--once", "--replay", captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]).stdout.decode()
        known = column("--list-metrics", "name") | set(re.findall(r"^# TYPE (\w+) ", printed, re.M))
        # A replay that goes well has no errors and is not recorded, and the age is of the moment of a scrape.
        known |= {"memstat_source_errors_total", "memstat_poll_age_seconds", "memstat_recording_polls_total"}
        functions = set()
        with open(os.path.join(program.SOURCE_DIR, "core", "include", "memstat.h"), encoding="utf-8") as file:
            functions.update(re.findall(r"\bmemstat_\w+", file.read()))
        named = set(re.findall(r"`(memstat_\w+)", readme()))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - known - functions, set())

    def test_manual_pages_exist(self):
        named = set(re.findall(r"\b(memstat[\w.-]*)\((\d)\)", readme()))
        self.assertIn(("memstatd-metrics", "7"), named)
        self.assertIn(("memstatd-sources", "7"), named)
        for page, number in named:
            paths = [os.path.join(program.SOURCE_DIR, directory, f"{page}.{number}") for directory in PAGES]
            self.assertTrue(any(os.path.exists(path) for path in paths), f"{page}({number})")

    def test_lists_of_all_metrics_and_sources_are_in_the_manual(self):
        text = readme()
        listed = {name for name in column("--list-metrics", "name") if f"| `{name}" in text}
        self.assertLess(len(listed), len(column("--list-metrics", "name")) / 2)
        for name in column("--list-sources", "name"):
            self.assertNotIn(f"| `{name}` |", text)


class Examples(unittest.TestCase):
    maxDiff = None

    def test_what_is_not_typed_here_is_typed_by_a_test_that_is_there(self):
        for path in TYPED_ELSEWHERE.values():
            self.assertTrue(os.path.exists(os.path.join(program.SOURCE_DIR, path)), path)
        used = {typed_elsewhere(command) for command, _ in commands(readme())}
        self.assertEqual(set(TYPED_ELSEWHERE) - used, set(), "README has no such command")

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
            for command, shown in commands(readme()):
                if typed_elsewhere(command):
                    continue
                if command.startswith("export "):
                    session += command + "\n"
                    continue
                line = command.replace("127.0.0.1:8947", f"127.0.0.1:{daemon.port}")
                if "| head" not in line:  # which ends before what it reads from
                    line = "set -o pipefail; " + line
                done = subprocess.run(["bash", "-c", session + line], cwd=directory, capture_output=True, text=True, check=False,
                                      stdin=subprocess.DEVNULL, timeout=program.PATIENCE)
                typed += 1
                self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
                if shown is None:
                    continue
                printed = done.stdout.splitlines()
                if "--from tests/" in command or "--check-config" in command:
                    self.assertEqual(printed, shown, command)
                elif shown[0].startswith("memstat_"):
                    self.assertLessEqual(set(series(shown)), set(series(printed)), command)
                else:  # A sentence: what comes after the colon depends on the kernel.
                    self.assertEqual(printed[0].partition(": ")[0], shown[0].partition(": ")[0], command)
        self.assertGreater(typed, 8)


if __name__ == "__main__":
    unittest.main()
