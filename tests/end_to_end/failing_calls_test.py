#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: a run of memstatd for each call that fails
"""A sample of memstatd runs with failing system calls; support/failing_calls.py runs all."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import failing_calls  # noqa: E402
import program  # noqa: E402

# For each call a place in the middle of a run; for calls that the start needs, the first one.
SAMPLES = {"open": (1, 300), "read": (5, 200), "pread": (1, 100), "write": (2,), "readdir": (40,), "stat": (2,), "accept": (2,),
           "recv": (5,), "send": (2,), "poll": (30,), "pipe": (2,), "socketpair": (1,), "thread": (1, 5), "fork": (1,)}
TRACED_SAMPLES = {"mmap": (1, 40), "getdents64": (1, 2)}  # after those of the loader


class FailingCalls(unittest.TestCase):
    def test_it_continues_to_serve_or_reports_why_not(self):
        if program.SANITIZER:
            self.skipTest("a sanitizer has calls of its own")
        with program.temporary_directory() as directory:
            sweep = failing_calls.Sweep(directory)
            self.assertGreater(sweep.count("pread"), 100)  # the library sees the calls
            sweep.run([(call, at, 3) for call, places in SAMPLES.items() for at in places])
            print(f"runs by call and how they ended: {dict(sweep.endings)}")
            self.assertFalse(sweep.problems, f"{len(sweep.problems)} runs ended badly:\n" + "\n".join(sweep.problems[:20]))

    def test_calls_of_the_c_library_itself(self):
        if program.SANITIZER:
            self.skipTest("a sanitizer has calls of its own")
        if not failing_calls.can_trace():
            self.skipTest("strace is not installed, or may not trace here")
        with program.temporary_directory() as directory:
            sweep = failing_calls.Sweep(directory)
            self.assertGreater(sweep.count("getdents64"), 2)
            sweep.run([(call, sweep.of_loader(call) + at, 3) for call, places in TRACED_SAMPLES.items() for at in places])
            print(f"runs by call and how they ended: {dict(sweep.endings)}")
            self.assertFalse(sweep.problems, f"{len(sweep.problems)} runs ended badly:\n" + "\n".join(sweep.problems[:20]))


if __name__ == "__main__":
    program.main()
