#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Listening addresses: IPv6 and unix sockets, the sockets' files, and memstatctl reading from them."""
import grp
import http.client
import json
import os
import re
import socket
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import program  # noqa: E402


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("any.example", timeout=program.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(program.PATIENCE)
        self.sock.connect(self.path)


def get(connection, path="/-/healthy", headers=None):
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read()


class Listening(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        os.chmod(self.directory, 0o755)
        self.capture = captures.write_capture(os.path.join(self.directory, "capture"),
                                              [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry", 10))}])
        self.path = os.path.join(self.directory, "run", "memstatd.sock")  # in a directory that memstatd makes

    def daemon(self, *arguments):
        return program.Daemon("--replay", self.capture, *arguments)

    def refused(self, *arguments):
        """The standard error of a memstatd that does not start."""
        done = subprocess.run([program.MEMSTATD, "--replay", self.capture, *arguments], capture_output=True, text=True, timeout=program.PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def check_answers(self):
        connection = UnixConnection(self.path)
        self.assertEqual(get(connection)[0], 200)
        connection.close()

    def check_memstatctl(self, daemon, reference):
        daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")
        types = json.loads(ctl.output("types", "--json", "--from", reference))["types"]
        self.assertEqual([row["type"] for row in types], ["dentry"])

    def test_ipv6(self):
        if not program.has_ipv6():
            self.skipTest("this machine has no ::1")
        with self.daemon("--listen", "[::1]:0") as daemon:
            port = int(daemon.wait_log(r"listening on http://\[::1\]:(\d+)/").group(1))
            connection = http.client.HTTPConnection("::1", port, timeout=program.PATIENCE)
            self.assertEqual(get(connection)[0], 200)
            self.assertEqual(get(connection, headers={"Host": f"[::1]:{port}"})[0], 200)
            connection.close()
            connection = http.client.HTTPConnection("::1", port, timeout=program.PATIENCE)
            self.assertEqual(get(connection, headers={"Host": "evil.example"})[0], 403)
            connection.close()
            self.check_memstatctl(daemon, f"http://[::1]:{port}")

    def test_unix_socket(self):
        with self.daemon("--listen", "unix:" + self.path) as daemon:
            daemon.wait_log("listening on unix:" + re.escape(self.path))
            file = os.stat(self.path)
            self.assertTrue(stat.S_ISSOCK(file.st_mode))
            self.assertEqual(stat.S_IMODE(file.st_mode), 0o660)
            account = os.stat(f"/proc/{daemon.process.pid}")
            self.assertEqual((file.st_uid, file.st_gid), (account.st_uid, account.st_gid))
            connection = UnixConnection(self.path)
            for _ in range(3):  # any Host, on one connection
                self.assertEqual(get(connection)[0], 200)
            connection.close()
            self.check_memstatctl(daemon, "unix:" + self.path)
            # It is in use: a second memstatd does not take it.
            problem = self.refused("--listen", "unix:" + self.path)
            self.assertIn("unix:" + self.path, problem)
            self.assertIn("stop the program that listens there", problem)
            self.check_answers()
        self.assertFalse(os.path.exists(self.path), "it is removed at the end")
        done = ctl.run("types", "--from", "unix:" + self.path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does memstatd run", done.stderr)

    def test_a_socket_that_nobody_listens_on_is_replaced(self):
        self.path = os.path.join(self.directory, "memstatd.sock")
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(self.path)
        before = os.stat(self.path).st_ino, os.stat(self.path).st_mtime_ns
        with self.daemon("--listen", "unix:" + self.path):
            self.assertNotEqual((os.stat(self.path).st_ino, os.stat(self.path).st_mtime_ns), before)
            self.check_answers()

    def test_other_files_stay(self):
        path = captures.write_file(os.path.join(self.directory, "file"), "mine")
        self.assertIn("not a socket", self.refused("--listen", "unix:" + path))
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    def test_mode_and_group_are_configured(self):
        group = grp.getgrgid(os.getgroups()[0] if os.geteuid() != 0 and os.getgroups() else os.getegid())
        config = os.path.join(self.directory, "memstatd.yaml")
        captures.write_file(config, f'listen: ["127.0.0.1:0", "unix:{self.path}"]\n'
                                    f'unix_socket: {{mode: "0600", group: "{group.gr_name}"}}\n')
        with program.Daemon("--config", config, "--replay", self.capture, listen=False):
            file = os.stat(self.path)
            self.assertEqual(stat.S_IMODE(file.st_mode), 0o600)
            self.assertEqual(file.st_gid, group.gr_gid)
        captures.write_file(config, f'listen: ["unix:{self.path}"]\nunix_socket: {{group: no_such_group}}\n')
        self.assertIn("no such group", self.refused("--config", config))


if __name__ == "__main__":
    unittest.main()
