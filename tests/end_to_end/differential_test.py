#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: captures with changed numbers
"""A few captures with changed files, read by memstatd and by the checker of tests/guests; support/differential.py runs any number."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import differential  # noqa: E402
import program  # noqa: E402

SEEDS = (1, 2, 6)


class Differential(unittest.TestCase):
    def test_changed_files_are_read_as_the_checker_reads_them(self):
        values = 0
        for seed in SEEDS:
            with self.subTest(seed):
                count, wrong = differential.round_of(seed)
                self.assertEqual(wrong, [])
                values += count
        print(f"{values} values of {len(SEEDS)} changed captures")
        self.assertGreater(values, 300)

    def test_a_change_that_one_of_them_did_not_read_is_found(self):
        self.assertNotEqual(differential.round_of(SEEDS[0], page_of_unchanged=True)[1], [])


if __name__ == "__main__":
    program.main()
