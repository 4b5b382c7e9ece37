#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The demo: what `why` answers, then the page of the same moment, at once; and a start that logs little before its address."""
import os
import re
import signal
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import program  # noqa: E402

FULL = "zone mbuf_jumbo_page is full: 400 of 400 (100 %), 1532 requests failed"
LINE = re.compile(r"^open http://(127\.0\.0\.1:\d+)/ - Ctrl-C stops\n", re.M)


class Demo(unittest.TestCase):
    def start(self, *command):
        """(process, what it printed, its address)."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        printed = ""
        while not LINE.search(printed):
            line = process.stdout.readline()
            self.assertNotEqual(line, "", printed)
            printed += line
        return process, printed, LINE.search(printed).group(1)

    def get(self, address, path):
        with urllib.request.urlopen(f"http://{address}{path}", timeout=program.PATIENCE) as answer:
            return answer.read().decode()

    def check_page(self, address):
        """The page is that of the moment of the trouble, though the capture took 20 s."""
        program.wait_until(lambda: "memstat_poll" in self.get_or_nothing(address), "the first poll")
        program.wait_until(lambda: FULL in self.get(address, "/plain"), "the finding", 15)

    def get_or_nothing(self, address):
        try:
            return self.get(address, "/metrics")
        except urllib.error.HTTPError:  # 503: no poll yet
            return ""

    def test_it_is_what_why_answers_and_the_page_of_that_moment(self):
        process, printed, address = self.start(ctl.MEMSTATCTL, "demo")
        answer = ctl.run("why", "--from", captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]).stdout
        self.assertIn(FULL, answer)
        self.assertIn(answer, printed)
        self.assertLessEqual(len(printed.split(answer)[1].splitlines()), 3, printed)  # a blank line, "is taken", "open"
        self.check_page(address)
        process.send_signal(signal.SIGINT)
        self.assertEqual((process.wait(), process.stdout.read()), (0, ""))

    def test_a_taken_port_is_said(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", 8947))
                taken.listen()
            except OSError:
                pass  # it is taken already
            _, printed, address = self.start(program.MEMSTATD, "--demo")
        self.assertNotEqual(address, "127.0.0.1:8947")
        self.assertIn("127.0.0.1:8947 is taken, so the demo takes a free port", printed)
        self.check_page(address)

    def test_it_takes_the_address_that_is_given(self):
        done = subprocess.run([program.MEMSTATD, "--demo", "--replay", "x"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        _, printed, _ = self.start(program.MEMSTATD, "--demo", "--listen", "127.0.0.1:0")
        self.assertEqual(len(printed.splitlines()), 1, printed)

    @program.needs_root
    def test_a_default_start_logs_at_most_three_lines_before_its_address(self):
        with program.Daemon() as daemon:
            before = daemon.log.split("listening on")[0].splitlines()
        self.assertLessEqual(len(before) - 1, 3, before)


if __name__ == "__main__":
    program.main()
