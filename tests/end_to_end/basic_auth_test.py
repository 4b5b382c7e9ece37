#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan
"""Key basic_auth: every path requires a name and a password, a reload changes them, and the file that contains them must be private."""
import base64
import contextlib
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

SECRET = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"  # of "secret"
OTHER = "$2y$04$abcdefghijklmnopqrstuu0HtfOlPbTiymk5tcV.3TsFPDd3SYZqu"  # of "other"
PATHS = ("/", "/metrics", "/metrics/percpu", "/plain", "/-/healthy", "/-/ready", "/api/v1/types", "/nothing")


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


class BasicAuth(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.config = os.path.join(self.directory, "memstatd.yaml")
        capture = captures.write_capture(os.path.join(self.directory, "capture"),
                                         [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry", 10, 20, 192, 1, 2))}])
        self.arguments = ("--config", self.config, "--replay", capture)

    @contextlib.contextmanager
    def daemon(self):
        with program.Daemon(*self.arguments) as daemon:
            daemon.wait_log("the replay has ended")  # after its only poll
            yield daemon

    def write(self, users, mode=0o640):
        captures.write_file(self.config, "enable_reload: true\nbasic_auth: {%s}\n" % ", ".join(f'{k}: "{v}"' for k, v in users.items()))
        os.chmod(self.config, mode)
        if os.geteuid() == 0:
            os.chown(self.config, 0, program.account().pw_gid)  # as the manual says

    def test_every_path_wants_a_password(self):
        self.write({"prometheus": SECRET})
        with self.daemon() as daemon:
            for path in PATHS:
                for headers in ({}, basic("prometheus", "wrong"), basic("x", "secret"), basic("", ""), {"Authorization": "Basic !"},
                                {"Authorization": "Bearer secret"}):
                    status, got, body = daemon.request(path, headers=headers)
                    self.assertEqual((path, headers, status), (path, headers, 401))
                    self.assertEqual(got["www-authenticate"], 'Basic realm="memstatd", charset="UTF-8"')
                    self.assertNotIn(b"memstat_", body)
            self.assertEqual(daemon.request("/-/reload", method="POST")[0], 401)
            self.assertEqual(daemon.request("/metrics", method="HEAD")[0], 401)
            good = basic("prometheus", "secret")
            statuses = {path: daemon.request(path, headers=good)[0] for path in PATHS}
            self.assertEqual(statuses, dict.fromkeys(PATHS, 200) | {"/metrics/percpu": 400, "/nothing": 404})
            self.assertEqual(daemon.request("/-/reload", method="POST", headers=good)[0], 200)

    def test_a_reload_brings_new_passwords_and_a_bad_file_keeps_the_old_ones(self):
        self.write({"a": SECRET})
        with self.daemon() as daemon:
            def status(name, password):
                return daemon.request("/metrics", headers=basic(name, password))[0]
            self.assertEqual((status("a", "secret"), status("a", "other"), status("b", "other")), (200, 401, 401))
            self.write({"a": OTHER, "b": OTHER})
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("the configuration was reloaded")
            self.assertEqual((status("a", "secret"), status("a", "other"), status("b", "other")), (401, 200, 200))
            self.write({"a": SECRET}, mode=0o644)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("basic_auth: is in a file that every account can read")
            self.assertEqual((status("a", "secret"), status("a", "other")), (401, 200))
            self.write({})
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("the configuration was reloaded", 2)
            self.assertEqual(daemon.request("/metrics")[0], 200)

    def test_a_file_that_every_account_can_read_is_refused_and_no_message_has_a_hash(self):
        for mode, status in ((0o644, 2), (0o604, 2), (0o640, 0), (0o600, 0)):
            self.write({"prometheus": SECRET}, mode)
            done = program.run("--config", self.config, "--check-config")
            self.assertEqual((mode, done.returncode), (mode, status), done.stderr)
            self.assertIn("" if status == 0 else "every account can read; run chmod o-r", done.stderr)
        self.write({"prometheus": SECRET[:-1]})
        done = program.run("--config", self.config, "--check-config")
        self.assertEqual(done.returncode, 2)
        self.assertIn("memstatd.yaml:2:26: basic_auth.prometheus: is not a hash of bcrypt", done.stderr)
        self.assertNotIn(SECRET[:20], done.stderr)


if __name__ == "__main__":
    program.main()
