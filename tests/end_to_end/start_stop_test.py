#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Signals at any moment of a start and a stop, and what must not delay a stop: logs, files, clients."""
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

STARTS = 12 if program.SANITIZER else 60
STEP_SECONDS = 0.004
DROPPED = "memstat_log_lines_dropped_total"


def blocks_hangup(pid):
    """Whether the process already blocks SIGHUP: before that, the loader of shared libraries runs."""
    return int(program.status_of(pid)["SigBlk"], 16) & 1 << (signal.SIGHUP - 1)


class WithDirectory(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.config = captures.write_file(os.path.join(self.directory, "memstatd.yaml"), "poll: {interval: 100ms}\n")

    def start(self, log):
        process = subprocess.Popen([program.MEMSTATD, "--config", self.config, "--listen", "127.0.0.1:0"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.addCleanup(self.end, process)
        program.wait_until(lambda: blocks_hangup(process.pid), "main to begin")
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()

    def assert_stops(self, process, log=lambda: ""):
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(program.PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail("memstatd does not stop\n" + log())
        self.assertEqual(status, 0, log())
        self.assertNotIn(program.GAVE_UP, log())

    def assert_daemon_stops(self, daemon):
        self.assertEqual(daemon.terminate(), 0, daemon.log)
        self.assertNotIn(program.GAVE_UP, daemon.log)


class AnyMoment(WithDirectory):
    def log_text(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.directory, "log")

    def test_hangups_all_through_start_and_stop_harm_nothing(self):
        for _ in range(3):
            with open(self.log, "wb") as log:
                process = self.start(log)

            def hang_up():
                if process.poll() is None:
                    process.send_signal(signal.SIGHUP)
                return process.poll() is not None

            def was_reloaded():
                self.assertFalse(hang_up(), self.log_text())
                return "the configuration was reloaded" in self.log_text()
            program.wait_until(was_reloaded, self.log_text)
            process.send_signal(signal.SIGTERM)
            program.wait_until(hang_up, self.log_text)
            self.assertEqual(process.returncode, 0, self.log_text())
            self.assertIn("stopped", self.log_text())

    def test_a_stop_at_every_few_milliseconds_of_the_start(self):
        early = late = 0
        for step in range(STARTS):
            with open(self.log, "wb") as log:
                process = self.start(log)
            try:  # this far into the start
                process.wait(step * STEP_SECONDS)
                self.fail(f"memstatd ended by itself:\n{self.log_text()}")
            except subprocess.TimeoutExpired:
                pass
            process.send_signal(signal.SIGHUP)
            self.assert_stops(process, self.log_text)
            early += "asked to stop during start" in self.log_text()
            late += "stopped" in self.log_text()
        print(f"{early} of {STARTS} were stopped while they started, {late} while they served")
        self.assertEqual(early + late, STARTS)
        self.assertGreater(early, 0)


class NothingIsWaitedFor(WithDirectory):
    def test_a_configuration_that_became_a_pipe_is_refused_at_once(self):
        with program.Daemon("--config", self.config) as daemon:
            os.remove(self.config)
            os.mkfifo(self.config, 0o644)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log(r"memstatd\.yaml: the configuration must be a regular file")
            daemon.wait_page(lambda now: now.number("memstat_config_last_reload_successful") == 0, "the failed reload")
            self.assert_daemon_stops(daemon)
        done = program.run("--config", self.config, "--check-config")
        self.assertEqual(done.returncode, 2)
        self.assertIn("must be a regular file", done.stderr)

    def test_a_log_that_is_not_read_any_more_drops_lines_and_counts_them(self):
        with program.Daemon("--config", self.config, "--log-level", "trace", unread_after="listening on") as daemon:
            captures.write_file(self.config, "".join(f"no_such_key_{'x' * 40}_{number}: 1\n" for number in range(100)))

            def has_dropped(now):
                daemon.process.send_signal(signal.SIGHUP)
                return now.number(DROPPED) > 0
            daemon.wait_page(has_dropped, "lines to be dropped")
            self.assert_daemon_stops(daemon)

    def test_a_log_that_was_closed_ends_nothing(self):
        reader, writer = os.pipe()
        process = self.start(writer)
        os.close(writer)
        text = b""
        while b"listening on" not in text:
            piece = os.read(reader, 4096)
            self.assertTrue(piece, text)
            text += piece
        os.close(reader)
        for _ in range(20):
            process.send_signal(signal.SIGHUP)
            os.stat(f"/proc/{process.pid}")
        self.assert_stops(process)


if __name__ == "__main__":
    program.main()
