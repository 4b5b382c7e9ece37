#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every document of /api/v1/ matches its JSON schema, for every captured system and this machine; a wrong document is detected."""
import gzip
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

    def get(self, daemon, path, headers=None):
        status, headers, body = daemon.request("/api/v1/" + path, headers=headers)
        self.assertEqual(headers["content-type"], "application/json")
        return status, headers, json.loads(gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body)

    def documents(self, daemon):
        """One of each list, and those of some types of every allocator."""
        program.wait_until(lambda: daemon.request("/api/v1/memory")[0] == 200, "a first poll")
        found = {name: [self.get(daemon, name)[2]] for name in LISTS}
        seen = {}
        for row in found["types"][0]["types"]:
            seen.setdefault(row["allocator"], []).append(row["type"])
        for allocator, types in seen.items():
            for name in types[:3]:
                quoted = urllib.parse.quote(name, safe="")
                found.setdefault("type", []).append(self.get(daemon, f"types/{allocator}/{quoted}")[2])
                found.setdefault("type_history", []).append(self.get(daemon, f"history?allocator={allocator}&type={quoted}")[2])
        return found

    def test_documents_match_their_schema(self):
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

    def test_a_document_that_is_wrong_is_found(self):
        good = {"generation": 1, "time": 1700000000.5, "types": [{"allocator": "slab", "type": "a", "bytes": 1}], "unlisted": []}
        self.assertEqual(self.problems({"types": [good]}), [])
        for wrong in ({**good, "generation": 0}, {**good, "more": 1}, {**good, "types": [{"allocator": "slab"}]},
                      {**good, "types": [{"allocator": "slab", "type": "a", "bytes": -1}]}, {**good, "types": [{"allocator": "slab", "type": "a", "size": 1}]}):
            self.assertEqual(len(self.problems({"types": [wrong]})[:1]), 1, wrong)

    def test_conditional_compressed_and_wrong_requests(self):
        with program.Daemon("--replay", captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"], "--replay-speed", "1000000") as daemon:
            daemon.wait_log("the replay has ended")
            _, headers, plain = self.get(daemon, "types")
            status, compressed, same = self.get(daemon, "types", {"Accept-Encoding": "gzip"})
            self.assertEqual((status, same, compressed.get("content-encoding")), (200, plain, "gzip"))
            status, again, body = daemon.request("/api/v1/types", headers={"If-None-Match": headers["etag"]})
            self.assertEqual((status, body, again["etag"]), (304, b"", headers["etag"]))
            for path, expected in (("history?points=1", 400), ("types?x=1", 400), ("types?allocator=slob", 400), ("history?allocator=slob", 400), ("types/uma/none", 404), ("nothing", 404)):
                status, _, document = self.get(daemon, path)
                self.assertEqual(status, expected, path)
                self.assertEqual(self.problems({"error": [document]}), [])
            status, headers, _ = daemon.request("/api/v1/types", method="POST")
            self.assertEqual((status, headers["allow"]), (405, "GET, HEAD"))


if __name__ == "__main__":
    program.main()
