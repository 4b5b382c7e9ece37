#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: two minutes of polls, scrapes and reloads
# Seconds: 120
"""Two minutes of support/soak.py, which can run for hours by hand. Other tests run at the same time, so nothing depends on timing."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
import soak  # noqa: E402

SECONDS = 115  # and some to start and end


class Soak(unittest.TestCase):
    def test_it_stays_as_it_is(self):
        self.assertEqual(soak.run(SECONDS, busy=True)[0], [])


if __name__ == "__main__":
    program.main()
