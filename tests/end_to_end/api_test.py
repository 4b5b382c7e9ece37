#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every document of /api/v1/ matches its JSON schema, for every captured system and this machine; a wrong document is detected."""
import json
import os
import subprocess
import sys
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import node_packages  # noqa: E402
import program  # noqa: E402

LISTS = ("types", "history", "growth", "findings", "sources", "events", "memory")


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = node_packages.installed("browser")

    def problems(self, documents):
        done = subprocess.run(["node", "validate.mjs"], cwd=self.packages, input=json.dumps(documents), capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def get(self, daemon, path):
        _, headers, body = daemon.request("/api/v1/" + path)
        self.assertEqual(headers["content-type"], "application/json")
        return json.loads(body)

    def documents(self, daemon):
        """One of each list, and those of some types of every allocator."""
        program.wait_until(lambda: daemon.request("/api/v1/memory")[0] == 200, "a first poll")
        found = {name: [self.get(daemon, name)] for name in LISTS} | {"error": [self.get(daemon, path) for path in ("nothing", "types?x=1")]}
        seen = {}
        for row in found["types"][0]["types"]:
            seen.setdefault(row["allocator"], []).append(row["type"])
        for allocator, types in seen.items():
            for name in types[:3]:
                quoted = urllib.parse.quote(name, safe="")
                found.setdefault("type", []).append(self.get(daemon, f"types/{allocator}/{quoted}"))
                found.setdefault("type_history", []).append(self.get(daemon, f"history?allocator={allocator}&type={quoted}"))
        return found

    def test_documents_match_their_schema(self):
        self.assertNotEqual(self.problems({"types": [{"generation": 0, "time": 1, "types": [], "unlisted": []}]}), [], "what is wrong is found")
        for name in ("freebsd-15.0-amd64-2cpu-limits", "linux-7.2-profiling-4cpu-2nodes", "linux-6.1-4cpu-2nodes"):
            with self.subTest(name), program.Daemon("--replay", captures.fixtures()[name], "--replay-speed", "1000") as daemon:
                documents = self.documents(daemon)
                self.assertGreater(len(documents["types"][0]["types"]), 100)
                self.assertEqual(self.problems(documents), [])
                memory = documents["memory"][0]
                self.assertEqual(memory["free_bytes"] + memory["unaccounted_bytes"] + sum(part["bytes"] for part in memory["parts"]),
                                 memory["total_bytes"])
        with program.Daemon() as daemon:
            self.assertEqual(self.problems(self.documents(daemon)), [])


if __name__ == "__main__":
    program.main()
