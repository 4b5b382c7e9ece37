#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""On a machine that is busy, the largest holder is named each time. MEMSTAT_BUSY_ROUNDS=50 asks as often as that."""
import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import run  # noqa: E402

ROUNDS = int(os.environ.get("MEMSTAT_BUSY_ROUNDS", "3"))
BUSY_LOOPS = 20
OTHERS = 300
PIPES, EVENTFDS = 3000, 2000
# Each of the others has a few pipes, eventfds and files.
CROWD = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None)
held = [os.pipe() for _ in range(5)] + [libc.eventfd(0, 0) for _ in range(5)] + [open("/dev/null") for _ in range(10)]
ours, theirs = os.pipe()
for _ in range({OTHERS}):
    if os.fork() == 0:
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""
HOARDER = f"""
import ctypes, os, resource, sys
libc = ctypes.CDLL(None)
resource.setrlimit(resource.RLIMIT_NOFILE, (2 * {PIPES} + {EVENTFDS} + 100,) * 2)
held = [os.pipe() for _ in range({PIPES})] + [libc.eventfd(0, 0) for _ in range({EVENTFDS})]
assert -1 not in held
print("ready", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def child(code):
    """A process that has said that it is ready, until its input is closed."""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise unittest.SkipTest(f"this user may not have {2 * PIPES + EVENTFDS} descriptors")
        yield process.pid
    finally:
        process.stdin.close()
        process.wait(timeout=program.PATIENCE)
        process.stdout.close()


@contextlib.contextmanager
def busy_machine():
    """The number of the process that holds most, which began last, beside many others."""
    with child(CROWD), child(HOARDER) as hoarder, contextlib.ExitStack() as stack:
        for _ in range(BUSY_LOOPS):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(loop.wait)
            stack.callback(loop.kill)
        yield hoarder


def answer(*arguments):
    done = run("who", *arguments, "--json")
    if done.returncode not in (0, 3):
        raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def times_of(recording):
    """The monotonic time of each poll, ns."""
    with tarfile.open(recording) as archive:
        polls = sorted(name for name in archive.getnames() if name.endswith("/poll.yaml"))
        return [int(re.search(rb"monotonic_ns: (\d+)", archive.extractfile(name).read()).group(1)) for name in polls]


class BusyMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hoarder = cls.enterClassContext(busy_machine())

    def check_that_it_is_first(self, document, count):
        """It is named, and nobody is before it except a copy of this test that runs beside this one. Of a cut answer the amount is a lower bound."""
        own = next((row for row in document["holders"] if row.get("pid") == self.hoarder), {"count": 0})
        self.assertIn(own["count"], range(100 if document["is_cut"] else count, count + 4))  # its input and output are pipes, too
        if not document["is_cut"]:
            self.assertLess(document["holders"][0]["count"], own["count"] + 4)
        elif document["holders"][0] != own:
            self.assertGreaterEqual(document["holders"][0]["count"], OTHERS)

    def test_the_largest_holder_is_named_each_time(self):
        cut = {"pipes": 0, "eventfds": 0}
        for number in range(ROUNDS):
            for question, count in (("pipes", PIPES), ("eventfds", EVENTFDS)):
                with self.subTest(question=question, number=number):
                    document = answer(question)
                    cut[question] += document["is_cut"]
                    self.check_that_it_is_first(document, count)
        print(f"{ROUNDS} rounds beside {BUSY_LOOPS} loops; cut: {cut}")

    def test_a_recording_names_it_too(self):
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "busy.tar")
            self.assertIn(run("record", recording, "--who", "--count", "1").returncode, (0, 3))
            for question, count in (("pipes", PIPES), ("eventfds", EVENTFDS)):
                self.check_that_it_is_first(answer(question, "--from", recording), count)

    def test_polls_after_a_slow_one_do_not_follow_at_once(self):
        """The first one takes long, because it asks all questions."""
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "slow.tar")
            done = run("record", recording, "--who", "--count", "7", "--interval", "100ms")
            self.assertIn(done.returncode, (0, 3), done.stderr)
            times = times_of(recording)
            self.assertEqual(len(times), 7)
            self.assertGreater(times[5] - times[1], 3 * 100_000_000, "the second to the sixth are at their interval")


if __name__ == "__main__":
    program.main()
