#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""dashboards/runbooks.md: every section says what an alert means on FreeBSD and on Linux, what to run next and how to quiet it; what it
says to run of ours exists, and does so on a real daemon; its links lead somewhere."""
import os
import re
import shlex
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402

MEMSTATCTL = os.environ.get("MEMSTATCTL") or os.path.join(program.SOURCE_DIR, "build", "bin", "memstatctl")
CAPTURE = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "captures", "freebsd-15.0-amd64-2cpu-limits.tar.zst")
DASHBOARDS = os.path.join(program.SOURCE_DIR, "dashboards")


def read(name):
    with open(os.path.join(DASHBOARDS, name), encoding="utf-8") as file:
        return file.read()


def sections(text):
    """{heading: text} of the second level."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def commands(text):
    """The commands of all blocks, without their comments."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            yield shlex.split(line, comments=True)


def exists(target, text):
    """Whether a link of a document in dashboards/ leads somewhere."""
    if target.startswith("https://"):
        return True
    file, _, anchor = target.partition("#")
    if file and not os.path.exists(os.path.join(DASHBOARDS, file)):
        return False
    if not anchor:  # a picture, perhaps
        return True
    anchors = {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")
               for heading in re.findall(r"^#+ (.*)", read(file) if file else text, re.MULTILINE)}
    return anchor in anchors


class Runbooks(unittest.TestCase):
    def setUp(self):
        self.text = read("runbooks.md")

    def test_every_section_tells_of_both_systems_what_to_run_and_how_to_quiet(self):
        found = sections(self.text)
        self.assertGreater(len(found), 10)
        for name, text in found.items():
            for words in (r"^\* FreeBSD(, Linux)?: ", r"^\* (FreeBSD, )?Linux: ", r"^\* Next:", r"^```sh$", r"^\* Quiet it: "):
                self.assertRegex(text, re.compile(words, re.MULTILINE), name)

    def test_links_lead_somewhere(self):
        for document in ("runbooks.md", "README.md"):
            text = read(document)
            for target in re.findall(r"\]\(([^)]*)\)", text):
                with self.subTest(document=document, target=target):
                    self.assertTrue(exists(target, text))
        self.assertFalse(exists("#nothing-of-the-kind", self.text))
        self.assertFalse(exists("nothing.md", self.text))

    def test_commands_of_memstatctl_run(self):
        found = {tuple(command[1:]) for command in commands(self.text) if command and command[0] == "memstatctl"}
        self.assertGreater(len(found), 3)
        for arguments in found:
            if arguments[0] in ("memuse", "origins"):  # of a kernel or memstatd that counts events: dentry_story_test.py runs them
                told = subprocess.run([MEMSTATCTL, arguments[0], "--help"], capture_output=True, text=True, timeout=program.PATIENCE, check=True).stdout
                self.assertEqual([word for word in arguments if word.startswith("--") and not re.search(re.escape(word) + r"\b", told)], [])
                continue
            if "--from" in arguments:
                arguments = arguments[:arguments.index("--from")]
            done = subprocess.run([MEMSTATCTL, *arguments, "--from", CAPTURE], capture_output=True, timeout=program.PATIENCE,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout.count(b"\n") > 3), (0, True), (arguments, done.stderr))

    def test_options_of_memstatd_exist(self):
        told = program.run("--help").stdout.decode()
        found = {word for command in commands(self.text) if command and command[0] == "memstatd" for word in command[1:]
                 if word.startswith("--")}
        self.assertIn("--check-config", found)
        for option in found:
            self.assertRegex(told, re.escape(option) + r"\b")

    def test_requests_are_answered(self):
        requests = [word for command in commands(self.text) if command and command[0] == "curl" for word in command[1:]
                    if ":8947/" in word]
        self.assertGreater(len(requests), 3)
        metrics = {line.split("\t")[0] for line in program.run("--list-metrics").stdout.decode().splitlines()[1:]}
        with program.Daemon("--replay", CAPTURE, "--replay-speed", "100") as daemon:
            daemon.wait_page(lambda page: True, "a first page")
            known = metrics | set(re.findall(r"^# HELP (\S+)", daemon.scrape().decode(), re.MULTILINE))
            # These are there only once there is something to tell.
            known |= {"memstat_source_errors_total"}
            for request in requests:
                path = "/" + request.split("/", 3)[3]
                self.assertEqual(daemon.request(path)[0], 200, request)
                for metric in re.findall(r"name\[\]=(\w+)", path):
                    self.assertIn(metric, known)


if __name__ == "__main__":
    program.main()
