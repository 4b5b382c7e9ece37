#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: replays every capture of the tree and asks for each of its values in five places
# Seconds: 60
"""tests/agreement finds no difference in any capture, and finds values that were changed on purpose."""
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402


def agreement():
    loader = importlib.machinery.SourceFileLoader("agreement", os.path.join(program.SOURCE_DIR, "tests", "agreement"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("agreement", loader))
    loader.exec_module(module)
    return module


def reverse(findings):
    findings["findings"].reverse()


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Agreement(unittest.TestCase):
    def test_of_every_capture(self):
        self.assertEqual(agreement().main([]), 0)

    def test_a_difference_is_found(self):
        for name, changed, change, places in (
                ("linux-6.12-4cpu", "types", lambda types: types["types"][7].update(bytes=1), ("/metrics and /api/v1/types", "/api/v1/types and memstatctl")),
                ("freebsd-15.0-amd64-2cpu-limits", "findings", reverse, ("why of the daemon, finding 0", "why of the capture, finding 0", "verdict of the page and of /plain"))):
            module = agreement()
            ask = module.ask

            def spoiled(daemon, path, ask=ask, changed=changed, change=change):
                document = ask(daemon, path)
                if path == changed:
                    change(document)
                return document
            module.ask = spoiled
            found = "\n".join(module.compare(captures.fixtures()[name]).differences)
            for place in places:
                self.assertIn(place, found)

    def test_a_different_series_of_a_finding_is_found(self):
        module = agreement()
        read = module.documents.read

        def spoiled(form, body):
            page = read(form, body)
            of = next(key for key in page.values if key[0] == "memstat_finding")
            page.values[of] -= 1
            info = next(key for key in page.values if key[0] == "memstat_finding_info")
            words = tuple((name, "somebody" if name == "culprit" else text + "!" if name == "headline" else text) for name, text in info[1])
            page.values[(info[0], words)] = page.values.pop(info)
            return page
        module.documents.read = spoiled
        self.addCleanup(setattr, module.documents, "read", read)
        found = "\n".join(module.compare(captures.fixtures()["linux-6.18-kernel-log"]).differences)
        for place in ("memstat_finding and memstatctl why of each poll", "memstat_finding_info and memstatctl why of each poll", "culprit of"):
            self.assertIn(place, found)


if __name__ == "__main__":
    program.main()
