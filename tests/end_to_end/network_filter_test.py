#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Another host scrapes memstatd: with the keys listen and allow alone, behind a filter like a systemd unit's, and with an exception in
it."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import network  # noqa: E402
import program  # noqa: E402
from ctl import MEMSTATCTL  # noqa: E402

LOOPBACK = "127.0.0.0/8"
NETWORK = "192.0.2.0/24"
PATIENT, IMPATIENT = 60, 3  # seconds: a page that comes; one that must not, which costs this long


@program.needs_root
class NetworkFilter(unittest.TestCase):
    def run_behind(self, allowed, check, allow=NETWORK):
        """check(daemon, hosts) with a memstatd HERE whose control group admits these networks; None: no filter."""
        with program.temporary_directory() as directory, network.Namespaces() as hosts:
            path = os.path.join(directory, "memstatd.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'listen: ["0.0.0.0:0"]\nallow: [{allow}]\nevents: {{mode: off}}\n')
            if allowed is None:
                with program.Daemon("--config", path, listen=False, preexec_fn=lambda: hosts.enter(0)) as daemon:
                    return check(daemon, hosts)
            with network.AddressFilter(*allowed) as group:
                def enter():
                    group.enter()
                    hosts.enter(0)
                with program.Daemon("--config", path, listen=False, preexec_fn=enter) as daemon:
                    return check(daemon, hosts)

    def fetch(self, daemon, hosts, place, path, address=network.HERE, seconds=PATIENT):
        """What a client receives once the first poll is served; None: nothing within the time."""
        if seconds == PATIENT:
            return program.wait_until(lambda: hosts.fetch(place, f"http://{address}:{daemon.port}{path}", seconds), "the page")
        return hosts.fetch(place, f"http://{address}:{daemon.port}{path}", seconds)

    def doctor(self, daemon, hosts):
        done = hosts.run(0, MEMSTATCTL, "doctor", "--json", "--from", f"http://127.0.0.1:{daemon.port}", timeout=program.PATIENCE)
        return done, json.loads(done.stdout)

    def check_is_reached(self, daemon, hosts):
        self.assertIn("memstat_poll_timestamp_seconds", self.fetch(daemon, hosts, 1, "/metrics"))
        self.assertNotIn("key allow", daemon.log)
        _, found = self.doctor(daemon, hosts)
        self.assertNotIn("warning", found)

    def test_without_a_filter_it_is_reached(self):
        self.run_behind(None, self.check_is_reached)

    def test_with_an_opening_it_is_reached(self):
        self.run_behind((LOOPBACK, NETWORK), self.check_is_reached)

    def test_an_opening_for_a_part_that_has_this_host_is_enough(self):
        self.run_behind((LOOPBACK, NETWORK), self.check_is_reached, allow="192.0.0.0/8")

    def test_behind_the_filter_it_is_unavailable_and_reported(self):
        def check(daemon, hosts):
            warning = daemon.wait_log(r"warning: (clients in .*)").group(1)
            self.assertIn(f"clients in {NETWORK} (key allow) cannot connect", warning)
            self.assertIn(f"IPAddressAllow={NETWORK}", warning)
            self.assertIn("memstat_poll_timestamp_seconds", self.fetch(daemon, hosts, 0, "/metrics", "127.0.0.1"))
            self.assertIsNone(self.fetch(daemon, hosts, 1, "/metrics", seconds=IMPATIENT))
            done, found = self.doctor(daemon, hosts)
            self.assertEqual(found["warning"], warning)
            self.assertFalse(found["healthy"])
            self.assertEqual(done.returncode, 1)
            self.assertIn(warning, done.stderr)
            text = hosts.run(0, MEMSTATCTL, "doctor", "--from", f"http://127.0.0.1:{daemon.port}", timeout=program.PATIENCE).stdout
            self.assertIn("  warning: " + warning, text)
            self.assertIn(warning, self.fetch(daemon, hosts, 0, "/plain", "127.0.0.1").replace("&#39;", "'"))
        self.run_behind((LOOPBACK,), check)

    def test_listening_on_loopback_alone_there_is_nothing_to_say(self):
        with program.temporary_directory() as directory, network.AddressFilter(LOOPBACK) as group:
            path = os.path.join(directory, "memstatd.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"allow: [{NETWORK}]\nevents: {{mode: off}}\n")
            with program.Daemon("--config", path, preexec_fn=group.enter) as daemon:
                daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                self.assertNotIn("cannot connect", daemon.log)


class Doctor(unittest.TestCase):
    def test_an_address_without_an_answer_is_a_problem_only_if_it_was_given(self):
        done = subprocess.run([MEMSTATCTL, "doctor", "--from", "http://127.0.0.1:1"], capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("127.0.0.1:1", done.stderr)
        done = subprocess.run([MEMSTATCTL, "doctor", "--from", "capture"], capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not a URL", done.stderr)


if __name__ == "__main__":
    program.main()
