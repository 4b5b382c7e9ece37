#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong with incidents is said in one line, and costs neither polls nor other incidents."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import incident_captures  # noqa: E402
import program  # noqa: E402

NOT_KEPT = "incidents are not kept"


class Troubles(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.kept = os.path.join(self.directory, "incidents")

    def path(self, name):
        return os.path.join(self.directory, name)

    def files(self):
        return sorted(name for name in os.listdir(self.kept) if not name.startswith(".")) if os.path.isdir(self.kept) else []

    def replay(self, capture, *arguments):
        configuration = captures.write_file(self.path("memstatd.yaml"), f"incidents: {{directory: {self.kept}}}\n")
        return program.Daemon("--config", configuration, "--replay", capture, *arguments)

    def listed(self):
        return json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]

    def check_said_once(self, pattern):
        """A memstatd whose incidents cannot be kept says so once, and serves every poll."""
        polls = [incident_captures.poll(), incident_captures.poll(), *[incident_captures.poll(kills=n) for n in (1, 2, 3)],
                 incident_captures.poll(kills=3, open_files=1000)]
        with self.replay(incident_captures.write(self.path("capture"), polls)) as daemon:
            daemon.wait_log("the replay has ended")
            daemon.wait_page(lambda now: now.number("memstat_oom_kills_total") == 3, "the last poll")
            self.assertEqual(daemon.log.count(NOT_KEPT), 1, daemon.log)
            self.assertRegex(daemon.log, rf"{NOT_KEPT}[^\n]*: {pattern}")

    def mount(self, options):
        os.makedirs(self.kept, exist_ok=True)
        user = program.account()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"{options},uid={user.pw_uid},gid={user.pw_gid},mode=0700", "none", self.kept], capture_output=True, check=False).returncode:
            self.skipTest("this machine permits no mounts")
        self.addCleanup(subprocess.run, ["umount", self.kept], check=True)

    @program.needs_root
    def test_a_directory_of_another_account(self):
        os.mkdir(self.kept)
        os.chown(self.kept, 12345, 12345)
        self.check_said_once(rf"{self.kept}: [^\n]*(owner|belongs|Permission)")
        self.assertEqual(self.files(), [])

    def test_a_directory_that_is_a_file(self):
        captures.write_file(self.kept, "mine")
        self.check_said_once(rf"{self.kept}: [^\n]*Not a directory")
        with open(self.kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    @program.needs_root
    def test_a_read_only_file_system(self):
        self.mount("size=64k,ro")
        self.check_said_once(rf"{self.kept}[^\n]*: [^\n]*Read-only file system")

    def test_a_thousand_kills_a_minute_are_one_incident_of_each_minute(self):
        polls = [incident_captures.poll(kills=17 * second) for second in range(64)]
        capture = incident_captures.write(self.path("capture"), polls, apart_ns=1_000_000_000)
        with self.replay(capture, "--replay-speed", "16") as daemon:
            daemon.wait_log("the replay has ended")
            daemon.wait_page(lambda now: now.number("memstat_oom_kills_total") == 17 * 63, "the last poll")
            daemon.wait_page(lambda now: now.number("memstat_incidents_total", cause="cgroup_oom_kill") == 2, "one in the first minute, and one after it")
            self.assertNotIn(NOT_KEPT, daemon.log)
        self.assertEqual([one["cause"] for one in self.listed()], ["cgroup_oom_kill"] * 2)

    def test_a_clock_that_is_set_back(self):
        polls = [incident_captures.poll(), incident_captures.poll(group_bytes=50 << 20), incident_captures.poll(kills=1), incident_captures.poll(kills=1)]
        with self.replay(incident_captures.write(self.path("capture"), polls, back=(2, 3))) as daemon:
            program.wait_until(self.files, lambda: "an incident\n" + daemon.log)
            daemon.wait_log("the replay has ended")
        self.assertEqual(self.listed()[0]["killed"], "stress (pid 31050)")
        self.assertRegex(ctl.run("why", "--incident", "1", "--from", self.kept).stdout, r"(?m)^  15:05:00 .*\n  15:05:00 .* 50 MiB of 64 MiB\n  15:00:00 .*  <- noticed$")

    def test_a_damaged_incident(self):
        capture = incident_captures.two_incidents(self.path("capture"))
        with self.replay(capture) as daemon:
            program.wait_until(lambda: len(self.files()) == 2, lambda: "two incidents\n" + daemon.log)
        damaged = self.files()[1]
        os.truncate(os.path.join(self.kept, damaged), 40)
        rows = self.listed()
        self.assertEqual([("problem" in one, one["file"]) for one in rows], [(True, damaged), (False, self.files()[0])])
        done = ctl.run("why", "--incident", "1", "--from", self.kept)
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (1, "", 1), done.stderr)
        self.assertIn(damaged, done.stderr)
        self.assertEqual(ctl.run("why", "--incident", "2", "--from", self.kept).returncode, 11)
        with self.replay(capture) as daemon:
            daemon.wait_log("the replay has ended")
            served = json.loads(daemon.request("/api/v1/incidents")[2])["incidents"]
            self.assertEqual(sum("problem" in one for one in served), 1)


if __name__ == "__main__":
    program.main()
