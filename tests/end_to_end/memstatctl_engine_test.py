#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl reading a capture and a memstatd replaying it give the same answer, for every capture."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import run  # noqa: E402

BOUNDED = "call_site"  # only its largest rows are on memstatd's pages


def rows(document, command):
    return {(row["allocator"], row["type"]): {key: value for key, value in row.items() if key != "detail"}
            for row in document[command]}


class OneAnswer(unittest.TestCase):
    def test_of_every_capture(self):
        compared = 0
        for name, path in captures.fixtures().items():
            with self.subTest(name), program.Daemon("--replay", path, "--replay-speed", "1000000") as daemon:
                program.wait_until(lambda: "the replay has ended" in daemon.log, "the end of the replay")
                for command in ("types", "limits"):
                    served, read = (run(command, "--json", "--from", source) for source in (f"http://127.0.0.1:{daemon.port}", path))
                    if read.returncode == 1:  # a capture without memory types
                        self.assertEqual((read.stdout, "no source" in read.stderr), ("", True))
                        continue
                    self.assertEqual((read.returncode, served.returncode), (0, 0), name + read.stderr + served.stderr)
                    served, read = rows(json.loads(served.stdout), command), rows(json.loads(read.stdout), command)
                    left_out = {key for key in read if key not in served}
                    self.assertLessEqual({allocator for allocator, _ in left_out}, {BOUNDED})
                    self.assertEqual(served, {key: row for key, row in read.items() if key not in left_out})
                    compared += len(served)
        self.assertGreater(compared, 5000)

    def test_a_slow_source_has_its_last_values_in_the_polls_between(self):
        """vmalloc is read every 30 s, so only every third poll of a recording has it."""
        area = "0xffffc90000000000-0xffffc90000005000   20480 kernel_clone+0x9d/0x3b0 pages=4 vmalloc N0=4\n"
        polls = [{"fs/proc/meminfo": b"MemTotal: 1000 kB\nMemFree: 10 kB\n"} for _ in range(5)]
        for number in (0, 3):
            polls[number]["fs/proc/vmallocinfo"] = area.encode() * (number + 1)
        with program.temporary_directory() as directory:
            path = captures.write_capture(directory, polls, system="linux", cpus="0-1")
            for poll, bytes_in_use in ((0, 16384), (1, 16384), (2, 16384), (3, 65536), (4, 65536)):
                row = next(row for row in json.loads(run("types", "--json", "--from", f"{path}@{poll}").stdout)["types"]
                           if row["allocator"] == "vmalloc")
                self.assertEqual((row["type"], row["bytes"]), ("kernel_clone", bytes_in_use), poll)
            self.assertEqual(run("diff", path + "@1", path + "@2", "--csv").stdout.count("\n"), 1, "nothing changed")
            with program.Daemon("--replay", path, "--polls", "3", "--replay-speed", "1000000") as daemon:
                program.wait_until(lambda: "the replay has ended" in daemon.log, "the end of the replay")
                states = {source["name"]: source["state"] for source in json.loads(daemon.request("/api/v1/sources")[2])["sources"]}
                self.assertEqual(states["linux_vmalloc"], "up")


if __name__ == "__main__":
    program.main()
