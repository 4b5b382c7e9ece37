#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: a run of memstatd for each allocation that fails
"""A sample of memstatd runs with failing allocations; support/out_of_memory.py runs all."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import out_of_memory  # noqa: E402
import program  # noqa: E402

SAMPLES = 20  # of each burst


class OutOfMemory(unittest.TestCase):
    def test_it_continues_to_serve_or_reports_why_not(self):
        if program.SANITIZER:
            self.skipTest("a sanitizer has malloc to itself")
        with program.temporary_directory() as directory:
            sweep = out_of_memory.Sweep(directory)
            whole = sweep.whole()
            self.assertEqual((whole.status, whole.problem()), (0, None))
            self.assertGreater(whole.allocations, 1000)
            # Most of the code runs early, so more of the places are early.
            places = [1 + int(whole.allocations * (place / SAMPLES) ** 2) for place in range(SAMPLES)]
            sweep.run([(at, burst) for at in places for burst in out_of_memory.BURSTS])
            print(f"{whole.allocations} allocations in a whole run; runs by how they ended: {dict(sweep.endings)}")
            self.assertEqual(sum(sweep.endings.values()), SAMPLES * len(out_of_memory.BURSTS))
            self.assertGreater(sweep.endings[1], 0)  # some runs must end, or nothing failed
            self.assertFalse(sweep.problems, f"{len(sweep.problems)} runs ended badly:\n" + "\n".join(sweep.problems[:20]))


if __name__ == "__main__":
    program.main()
