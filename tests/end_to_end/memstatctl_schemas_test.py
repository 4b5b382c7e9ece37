#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What every command prints as JSON, against its schema in tests/fixtures/schemas, from one table of commands."""
import copy
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import run  # noqa: E402
from json_schema import problems  # noqa: E402

SCHEMAS = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "schemas")
LINUX, FREEBSD, LIMITS, PROCESSES, LOG, ORIGINS = (captures.fixtures()[name] for name in (
    "linux-6.12-4cpu", "freebsd-15.0-amd64-4cpu", "freebsd-15.0-amd64-2cpu-limits", "linux-6.18-processes", "linux-6.18-kernel-log",
    "linux-6.18-call-sites"))
MAKE_DUMP = os.path.join(os.path.dirname(program.MEMSTATD), "make_dump")
# Command lines; OUTPUT is a file that is not there, URL a memstatd that replays LIMITS, DUMP a dump with owners of objects.
TABLE = {
    "why": (["--from", LINUX], ["--from", LIMITS], ["--from", "URL"]),
    "events": (["--from", LOG],),
    "types": (["--from", LINUX], ["--from", LIMITS], ["--from", "URL"]),
    "limits": (["--from", LINUX], ["--from", LIMITS], ["--from", "URL"]),
    "show": (["dentry", "--from", LINUX], ["mbuf_cluster", "--from", LIMITS], ["uma/socket", "--from", "URL"]),
    "diff": ([LIMITS + "@0", LIMITS], [LINUX + "@0", LINUX]),
    "watch": (["dentry", "--count", "1", "--from", LINUX], ["mbuf_cluster", "--count", "3", "--from", LIMITS]),
    "leaks": (["--from", LIMITS], ["--from", "URL"]),
    "record": (["OUTPUT", "--count", "1"],),
    "replay": ([LIMITS], [LIMITS, "--list"]),
    "malloc": (["--from", FREEBSD],),
    "zones": (["--from", FREEBSD],),
    "mbufs": (["--from", FREEBSD],),
    "who": ([], ["files"], ["locked"]),
    "process": (["1", "--from", PROCESSES],),
    "node": (["0x100000"],),
    "resident": (["/etc/passwd"],),
    "explain": (["dentry"], ["allocator"], ["held_bytes"], ["MemstatNearLimit"]),
    "doctor": (["--from", "live"], ["--from", "URL"]),
    "origins": (["--from", ORIGINS + "@0"],),
    "stacks": (["--for", "500ms", "--older", "100ms"],),
    "objects": (["tracked", "--from", "DUMP"], ["dentry", "--from", "DUMP"]),
    "counters": (["--list"], ["--user-only", "--events", "task-clock", "--", "true"]),
}
# What a machine, or a build, may not have: then they say why.
MAY_LACK = {"node", "resident", "stacks", "objects", "counters"}


def commands_with_json():
    listed = re.findall(r"(?m)^  ([a-z]+)  ", run("--help").stdout)
    return {command for command in listed if "--json" in run(command, "--help").stdout}


def documents(output):
    """The values that the text has, one after the other."""
    decoder, found = json.JSONDecoder(), []
    while output.strip():
        value, end = decoder.raw_decode(output.strip())
        found.append(value)
        output = output.strip()[end:]
    return found


def real_output():
    """[(command, arguments, documents, what was wrong)] of the table."""
    found = []
    with program.temporary_directory() as directory, program.Daemon("--replay", LIMITS, "--polls", "2") as daemon:
        daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
        for command, lines in TABLE.items():
            for line in lines:
                words = {"OUTPUT": os.path.join(directory, "new.tar"), "URL": f"http://127.0.0.1:{daemon.port}", "DUMP": os.path.join(directory, "dump")}
                if "DUMP" in line and os.path.exists(MAKE_DUMP):
                    subprocess.run([MAKE_DUMP, words["DUMP"], "owners"], check=True, timeout=program.PATIENCE)
                done = run(command, "--json", *[words.get(word, word) for word in line])
                found.append((command, line, documents(done.stdout), done.stderr))
    return found


def schema_of(command):
    with open(os.path.join(SCHEMAS, command + ".json"), encoding="utf-8") as file:
        return json.load(file)


class Schemas(unittest.TestCase):
    maxDiff = None

    def test_each_command_with_json_is_in_the_table(self):
        self.assertEqual(commands_with_json(), set(TABLE))
        self.assertEqual({name.removesuffix(".json") for name in os.listdir(SCHEMAS)}, set(TABLE))

    def test_what_is_printed_is_what_the_schema_says(self):
        for command, line, found, said in real_output():
            with self.subTest(command=command, line=line):
                self.assertTrue(found or (said and command in MAY_LACK), said)
                for document in found:
                    self.assertEqual(problems(document, schema_of(command)), [])

    def test_a_schema_finds_what_is_wrong(self):
        schema, good = schema_of("types"), documents(run("types", "--from", LINUX, "--json").stdout)[0]
        for spoil, words in ((lambda document: document["types"][0].pop("type"), "has no type"),
                             (lambda document: document["types"][0].update(bytes="4K"), "is str"),
                             (lambda document: document["types"][0].update(new=1), "does not know"),
                             (lambda document: document.update(types=5), "is int, not array")):
            bad = copy.deepcopy(good)
            spoil(bad)
            self.assertRegex("\n".join(problems(bad, schema)), words)


if __name__ == "__main__":
    program.main()
