#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Another host scrapes memstatd behind a filter like a systemd unit's, without and with an exception in it."""
import json
import os
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
    def run_behind(self, allowed, check):
        """check(daemon, hosts) with a memstatd HERE whose control group admits these networks."""
        with program.temporary_directory() as directory, network.Namespaces() as hosts:
            path = os.path.join(directory, "memstatd.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'listen: ["0.0.0.0:0"]\nallow: [{NETWORK}]\nevents: {{mode: off}}\n')
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

    def test_with_an_opening_it_is_reached(self):
        self.run_behind((LOOPBACK, NETWORK), self.check_is_reached)

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


if __name__ == "__main__":
    program.main()
