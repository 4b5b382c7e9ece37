#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tests/agreement on a FreeBSD, a Linux and a profiling kernel finds no difference, and finds a value that was changed on purpose."""
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

SCRIPT = os.path.join(program.SOURCE_DIR, "tests", "agreement")
SOME = ("freebsd-15.0-amd64-2cpu-limits", "linux-6.12-4cpu", "linux-6.12-evidence", "linux-7.2-profiling-4cpu-2nodes")


def agreement():
    loader = importlib.machinery.SourceFileLoader("agreement", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("agreement", loader))
    loader.exec_module(module)
    return module


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Agreement(unittest.TestCase):
    def test_every_place_gives_one_number(self):
        for name in SOME:
            with self.subTest(name):
                comparison = agreement().compare(captures.fixtures()[name])
                self.assertEqual(comparison.differences, [])
                self.assertGreater(comparison.compared, 2000)

    def test_a_difference_is_found(self):
        module = agreement()
        ask = module.ask

        def changed(daemon, path):
            document = ask(daemon, path)
            if path == "types":
                document["types"][7]["bytes"] = document["types"][7].get("bytes", 0) + 1
            return document
        module.ask = changed
        self.assertGreaterEqual(len(module.compare(captures.fixtures()["linux-6.12-4cpu"]).differences), 2, "on /metrics, and in memstatctl")

    def test_another_finding_is_found(self):
        module = agreement()
        ask = module.ask

        def changed(daemon, path):
            document = ask(daemon, path)
            if path == "findings":
                document["findings"].reverse()
            return document
        module.ask = changed
        found = "\n".join(module.compare(captures.fixtures()[SOME[0]]).differences)
        for place in ("why of the daemon, finding 0", "why of the capture, finding 0", "verdict of the page and of /plain"):
            self.assertIn(place, found)


if __name__ == "__main__":
    program.main()
