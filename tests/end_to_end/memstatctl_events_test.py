#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Events of the kernel's log are the same from a capture, from the memstatd that replays it, and from a recording of that."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import program  # noqa: E402

LOG = captures.fixtures()["linux-6.18-kernel-log"]


def events(*arguments):
    done = ctl.run("events", "--json", *arguments)
    if done.stderr or done.returncode:
        raise AssertionError(f"{done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["events"]


class Events(unittest.TestCase):
    def test_of_a_capture_are_those_of_its_log(self):
        found = events("--from", LOG)
        self.assertEqual([event["event"] for event in found], ["oom_kill"] * 5 + ["pids_full"])
        self.assertEqual(found[4]["command"], "python3")
        self.assertEqual(found[4]["group"], "/ev-oom-13976")
        self.assertIn("Killed process 14017 (python3)", found[4]["line"])
        self.assertIn("constraint=CONSTRAINT_MEMCG", found[4]["context"])
        self.assertEqual(found[5]["group"], "/ev-pids-13976")
        self.assertLess(found[0]["time"], found[5]["time"])
        self.assertRegex(ctl.output("events", "--from", LOG), r"\n\d{4}-\d\d-\d\dT22:20:05Z +pids_full ")

    def test_of_a_memstatd_and_of_its_recording_are_the_same(self):
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            with program.Daemon("--replay", LOG, "--record", recording) as daemon:
                program.wait_until(lambda: daemon.request("/api/v1/events")[0] == 200, "a first poll")
                served = events("--from", f"http://{daemon.host}:{daemon.port}")
                self.assertEqual(served, events("--from", LOG))
                document = json.loads(daemon.request("/api/v1/events")[2])
                self.assertEqual(document["counts"]["oom_kill"], 5)
                self.assertEqual(document["events"][4]["fields"]["anonymous_bytes"], 15460 * 1024)
                self.assertEqual(document["events"][4]["fields"]["constraint"], "memcg")
            self.assertEqual(events("--from", recording), served)

    def test_without_a_log_is_reported(self):
        done = ctl.run("events", "--from", captures.fixtures()["linux-6.12-4cpu"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("log was not read", done.stderr)


if __name__ == "__main__":
    program.main()
