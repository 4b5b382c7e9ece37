#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Types every command that memstatctl doctor can print, with a systemctl that records its calls, in a mount namespace with an empty /etc.

Commands stand in backticks. A daemon that lacks each privilege of each source, in each state, is imitated by its API; missing file systems
are those of the namespace; commands that need a broken kernel are read from doctor's source. An advice without a command must be one of
WITHOUT_COMMAND, so a new advice is typed or fails here.
"""
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import MEMSTATCTL, run  # noqa: E402

STATES = ("up", "not present", "not permitted", "down", "off", "replaced", "not read yet")
ACCOUNTS = ("user 5 (m) without capabilities", "root with all capabilities that memstatd uses")
WITHOUT_COMMAND = (r"root may not read it here either: .*", r"start memstatd as root: it opens the kernel's files before it drops root",
                   r"run it as root( \(.*\))?; memstatd opens its files before it drops root", r"it was recorded without this; record it as root",
                   r"not all of the machine is visible: .*")
DROP_INS = "/etc/systemd/system/memstatd.service.d"
SYSTEMCTL = "#!/bin/sh\necho \"$@\" >>\"$RECORD\"\n"


def advice_of(document):
    """Each text of the answer that says what to do."""
    return {source["advice"] for source in document["sources"] if source.get("advice") and source["state"] != "absent"}


def commands_in(text):
    return re.findall(r"`([^`]+)`", text)


class Advice(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.record = os.path.join(self.directory, "calls")
        for name in ("systemctl", "dmesg"):
            path = os.path.join(self.directory, "bin", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(SYSTEMCTL)
            os.chmod(path, 0o755)
        if (probe := self.inside("mount -t tmpfs none /etc")).returncode != 0:
            self.skipTest(f"no mount namespace here: {probe.stderr.strip()}")

    def inside(self, script):
        path = ":".join((os.path.join(self.directory, "bin"), os.path.dirname(MEMSTATCTL), os.environ["PATH"]))
        try:
            return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=program.PATIENCE, check=False,
                                  stdin=subprocess.DEVNULL, cwd=self.directory, env={**os.environ, "PATH": path, "RECORD": self.record})
        except FileNotFoundError:
            return self.skipTest("no unshare, which gives a mount namespace")

    def type(self, command, lack=""):
        """Types it with an empty /etc, after the script `lack`. Returns the drop-ins that it made, and what it told systemctl."""
        open(self.record, "w", encoding="ascii").close()
        done = self.inside(f"mount -t tmpfs none /etc\n{lack}(eval {quoted(command)}) || exit\n! test -d {DROP_INS} || cat {DROP_INS}/*.conf")
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        with open(self.record, encoding="ascii") as file:
            return done.stdout, file.read().splitlines()

    def doctor_of(self, sources, account, **more):
        """Doctor's answer about a memstatd whose API answers with these sources."""
        body = json.dumps({"sources": sources, "daemon": {"version": "1", "kernel": "linux 6.1", "opened_as": account, "runs_as": "user 6", **more}}).encode()

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            done = run("doctor", "--from", f"http://127.0.0.1:{server.server_address[1]}", "--json")
            server.shutdown()
            thread.join()
        return json.loads(done.stdout)

    @program.needs_root
    def test_every_advice_about_privileges_is_typed(self):
        header, *rows = (line.split("\t") for line in program.run("--list-sources").stdout.decode().splitlines())
        needs = {row[header.index("needs")] for row in rows} - {"-"}
        self.assertLessEqual({"CAP_SYSLOG", "CAP_BPF,CAP_PERFMON", "CAP_DAC_READ_SEARCH", "CAP_PERFMON", "root", "group:systemd-journal"}, needs)
        for need in sorted(needs):
            for account in ACCOUNTS:
                for state in STATES:
                    source = {"name": "a", "origin": "/a", "state": state, "needs": need, "error": "a: no"}
                    for advice in advice_of(self.doctor_of([source], account)):
                        with self.subTest(advice):
                            self.check_grant(advice, need)

    def check_grant(self, advice, need):
        commands = commands_in(advice)
        if not commands:
            self.assertTrue(any(re.fullmatch(text, advice) for text in WITHOUT_COMMAND), "a new advice has a command, or stands in this list")
        self.assertNotRegex(re.sub(r"`[^`]+`", "", advice), r"\b(systemctl|mount|mkdir|cp|echo|printf) ", "a command stands in backticks")
        for command in commands:
            drop_in, calls = self.type(command)
            self.assertEqual(calls, ["daemon-reload", "restart memstatd"])
            settings = [line for line in drop_in.splitlines() if line and not line.startswith("#")]
            self.assertEqual(settings[0], "[Service]")
            if need.startswith("group:"):
                self.assertIn(f"SupplementaryGroups={need.removeprefix('group:')}", settings)
                continue
            granted = need.replace(",", " ")
            self.assertLessEqual({f"AmbientCapabilities={granted}", f"CapabilityBoundingSet={granted}"}, set(settings))

    def test_words_of_a_daemon_never_become_a_command(self):
        for need in ("CAP_X; reboot", "CAP_X' `reboot`", "CAP_X\nreboot", "cap_x"):
            source = {"name": "a", "origin": "/a", "state": "not permitted", "needs": need, "error": "a: no"}
            for advice in advice_of(self.doctor_of([source], ACCOUNTS[0])):
                self.assertEqual(commands_in(advice), [], advice)

    @program.needs_root
    def test_every_missing_file_system_is_mounted_as_typed(self):
        for lack in ("mount -t tmpfs none /proc", "mount -t proc -o subset=pid proc /proc", "mount -t tmpfs none /proc/sys", "mount -t tmpfs none /sys"):
            with self.subTest(lack):
                ask = f"{MEMSTATCTL} doctor --from live --json >{self.directory}/"
                self.inside(f"{lack}; {ask}before")
                before = self.mounts("before")
                self.assertNotEqual(before, [])
                typed = [command for line in before for command in commands_in(line) if "debugfs" not in command]
                self.assertNotEqual(typed, [])
                self.inside(f"{lack}; " + "; ".join(typed) + f"; {ask}after")
                for line in self.mounts("after"):
                    self.assertTrue("debugfs" in line or any(re.fullmatch(text, line) for text in WITHOUT_COMMAND), line)

    def mounts(self, name):
        with open(os.path.join(self.directory, name), encoding="utf-8") as file:
            return [line for line in json.load(file).get("mounts", "").split("; ") if " are" in line or "`" in line]

    @program.needs_root
    def test_commands_for_a_broken_kernel_are_typed(self):
        with open(os.path.join(program.SOURCE_DIR, "daemon", "selftest", "selftest.cpp"), encoding="ascii") as file:
            whole = set(re.findall(r"`([a-z][^`\"\n]*)`", file.read()))
        self.assertIn("dmesg", whole)
        for command in whole:
            lack = f"mount -t tmpfs none {command.split()[-1]}\n" if command.startswith("mount ") else ""
            self.type(command, lack)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


if __name__ == "__main__":
    program.main()
