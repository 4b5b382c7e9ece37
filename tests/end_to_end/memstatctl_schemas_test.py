#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The JSON output of every command matches its schema in tests/fixtures/schemas, which also has the command lines to run.

In these, a capture has its name, OUTPUT is a file that does not exist, INCIDENTS a directory of incidents, URL a memstatd that replays LIMITS, DUMP a dump with owners of objects.
"""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import command_names, run, schemas  # noqa: E402
from json_schema import problems  # noqa: E402

LIMITS = captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]
MAKE_DUMP = os.path.join(os.path.dirname(program.MEMSTATD), "make_dump")


def documents(output):
    """The values that the text has, one after the other."""
    decoder, found = json.JSONDecoder(), []
    while output.strip():
        value, end = decoder.raw_decode(output.strip())
        found.append(value)
        output = output.strip()[end:]
    return found


def with_capture(word):
    """The word, or the path of the capture that it names, with @POLL."""
    name, at, poll = word.partition("@")
    return captures.fixtures().get(name, name) + at + poll


def real_output():
    """[(command, arguments, documents, what was wrong)] of the command lines."""
    found = []
    with program.temporary_directory() as directory, program.Daemon("--replay", LIMITS, "--polls", "2") as daemon:
        daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
        for command, schema in schemas().items():
            for line in schema["command_lines"]:
                words = {"OUTPUT": os.path.join(directory, "new.tar"), "URL": f"http://127.0.0.1:{daemon.port}", "DUMP": os.path.join(directory, "dump"),
                         "INCIDENTS": os.path.join(program.SOURCE_DIR, "tests", "fixtures", "incidents")}
                if "DUMP" in line and os.path.exists(MAKE_DUMP):
                    subprocess.run([MAKE_DUMP, words["DUMP"], "owners"], check=True, timeout=program.PATIENCE)
                done = run(command, "--json", *[words.get(word) or with_capture(word) for word in line])
                found.append((command, line, documents(done.stdout), done.stderr))
    return found


class Schemas(unittest.TestCase):
    maxDiff = None

    def test_each_command_with_json_has_a_schema(self):
        self.assertEqual({command for command in command_names() if "--json" in run(command, "--help").stdout}, set(schemas()))

    def test_output_matches_its_schema(self):
        self.assertIn("is int, not array", "".join(problems({"types": 5}, schemas()["types"])), "what is wrong is found")
        for command, line, found, said in real_output():
            with self.subTest(command=command, line=line):
                self.assertTrue(found or (said and schemas()[command].get("may_be_missing")), said)
                for document in found:
                    self.assertEqual(problems(document, schemas()[command]), [])


if __name__ == "__main__":
    program.main()
