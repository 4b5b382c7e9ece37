#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What memstatd sends to systemd, through a fake NOTIFY_SOCKET: ready when a poll is served, and no watchdog notifications while polls hang."""
import os
import signal
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import preload  # noqa: E402
import program  # noqa: E402

WATCHDOG = {"WATCHDOG_USEC": "400000"}  # a sign of life each 0.1 s
SIGN = "WATCHDOG=1"


class Manager:
    """systemd's end of NOTIFY_SOCKET."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(("\0" + name[1:]) if name.startswith("@") else name)
        if not name.startswith("@"):
            os.chmod(name, 0o777)
        self.environment = {"NOTIFY_SOCKET": name}
        self.socket.settimeout(program.PATIENCE)

    def next(self):
        return self.socket.recv(4096).decode()

    def wait(self, wanted):
        """The messages up to the one that begins so."""
        seen = []
        while not seen or not seen[-1].startswith(wanted):
            try:
                seen.append(self.next())
            except TimeoutError:
                raise AssertionError(f"no {wanted} came, but {seen}") from None
        return seen

    def drain(self):
        self.socket.setblocking(False)
        seen = []
        try:
            while True:
                seen.append(self.next())
        except BlockingIOError:
            return seen
        finally:
            self.socket.settimeout(program.PATIENCE)


class ServiceManager(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.config = captures.write_file(os.path.join(self.directory, "memstatd.yaml"), "poll: {interval: 100ms}\n")

    def manager(self, name=None):
        manager = Manager(name or os.path.join(self.directory, "notify"))
        self.addCleanup(manager.socket.close)
        return manager

    def test_a_life_from_ready_to_stopping_through_the_sandbox(self):
        for name in (None, f"@memstat-test-{os.getpid()}"):
            with self.subTest(name or "path"):
                manager = self.manager(name)
                with program.Daemon("--config", self.config, environment={**manager.environment, **WATCHDOG}) as daemon:
                    self.assertEqual(manager.wait("READY=1"), ["READY=1"])  # and nothing before
                    self.assertEqual(daemon.request("/metrics")[0], 200)
                    self.assertRegex(manager.wait("STATUS=")[-1], r"^STATUS=serving; sources up: [1-9]\d*")
                    manager.wait(SIGN)
                    manager.drain()
                    daemon.process.send_signal(signal.SIGHUP)
                    self.assertRegex(manager.wait("RELOADING=1")[-1], r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
                    seen = [message for message in manager.wait("READY=1") if message != SIGN]
                    self.assertEqual(seen, ["READY=1"])
                    daemon.wait_log("the configuration was reloaded")
                    self.assertEqual(program.status_of(daemon.process.pid)["NoNewPrivs"], "1")
                    self.assertEqual(daemon.terminate(), 0)
                    manager.wait("STOPPING=1")
                    self.assertNotIn("READY=1", manager.drain())

    def test_without_a_manager_or_with_one_that_is_gone_it_still_serves(self):
        gone = {"NOTIFY_SOCKET": os.path.join(self.directory, "gone"), **WATCHDOG}
        with program.Daemon("--config", self.config, environment=gone) as daemon:
            daemon.wait_page(lambda now: True, "the first poll")
        manager = self.manager()
        with program.Daemon("--config", self.config, environment={**manager.environment, **WATCHDOG}) as daemon:
            manager.wait("READY=1")
            manager.socket.close()
            polls = daemon.page().number("memstat_poll_timestamp_seconds")
            daemon.wait_page(lambda now: now.number("memstat_poll_timestamp_seconds") > polls, "further polls")

    @program.needs_root
    @program.needs_slabinfo
    @unittest.skipIf(program.SANITIZER, "a sanitizer's run-time must be loaded first")
    def test_no_sign_of_life_comes_while_a_poll_hangs(self):
        captures.write_file(self.config, "poll: {interval: 100ms, timeout: 1h}\n"  # so that the poll waits for the read
                                         "events: {mode: off}\n")  # nothing replaces linux_slabinfo
        hang = preload.Hang(self.directory, "hanging_read.c")
        manager = self.manager()
        with program.Daemon("--config", self.config, "--log-level", "debug",
                            environment={**hang.environment, **manager.environment, **WATCHDOG}) as daemon:
            manager.wait(SIGN)
            hang.turn(True)
            polled = [daemon.page().number("memstat_poll_timestamp_seconds")]

            def is_hanging():
                polled.append(daemon.page().number("memstat_poll_timestamp_seconds"))
                return len(polled) > 20 and len(set(polled[-20:])) == 1
            program.wait_until(is_hanging, "the polls to hang")
            manager.socket.settimeout(0.7)  # longer than the manager would wait: notifications under way have arrived
            with self.assertRaises(TimeoutError):
                for _ in range(20):
                    manager.next()
            manager.socket.settimeout(program.PATIENCE)
            self.assertEqual(daemon.request("/-/healthy")[0], 200)  # it serves the last figures
            hang.turn(False)
            manager.wait(SIGN)


if __name__ == "__main__":
    program.main()
