#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl process, node and resident as used by people and scripts."""
import json
import mmap
import os
import platform
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import output, run  # noqa: E402

PAGE = mmap.PAGESIZE
PROCESSES = "linux-6.18-processes"
NODES = "linux-7.2-2cpu-2nodes-pools"
IS_LINUX = platform.system() == "Linux"


class Process(unittest.TestCase):
    def test_of_a_capture(self):
        path = captures.fixtures()[PROCESSES]
        files = captures.read_fixture(path)
        pids = sorted({int(match.group(1)) for name in files if (match := re.match(r"000001/fs/proc/(\d+)/statm", name))})
        self.assertGreater(len(pids), 3)
        rows = json.loads(output("process", "--json", "--from", path, *map(str, pids)))["processes"]
        for pid, row in zip(pids, rows, strict=True):
            size, resident, shared, text, _, data, _ = (4096 * int(word) for word in files[f"000001/fs/proc/{pid}/statm"].split())
            name = files[f"000001/fs/proc/{pid}/comm"].decode().rstrip("\n")
            self.assertEqual(row, {"pid": pid, "name": name, "size_bytes": size, "resident_bytes": resident, "shared_bytes": shared,
                                   "text_bytes": text, "data_bytes": data})
        lines = output("process", "--from", path, *map(str, pids)).splitlines()
        self.assertEqual(lines[0].split(), ["PID", "NAME", "SIZE", "RESIDENT", "SHARED", "TEXT", "DATA"])
        self.assertEqual(lines[-1].split()[0], str(pids[-1]))
        done = run("process", "--from", path)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("process IDs", done.stderr)

    @unittest.skipUnless(IS_LINUX, "processes are those of Linux")
    def test_by_name_and_all_without_memstatctl_itself(self):
        name = open("/proc/self/comm", encoding="ascii").read().strip()
        found = json.loads(output("process", name, "--json"))["processes"]
        self.assertIn(os.getpid(), [row["pid"] for row in found])
        with subprocess.Popen([os.environ["MEMSTATCTL"], "process", "--json"], stdout=subprocess.PIPE) as started:
            everything = json.loads(started.communicate()[0])["processes"]
        self.assertNotIn(started.pid, [row["pid"] for row in everything])
        sizes = [row["resident_bytes"] for row in everything]
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_hostile_names(self):
        with program.temporary_directory() as directory:
            captures.write_capture(directory, [{"fs/proc/5/statm": b"9 8 7 6 5 4 3\n", "fs/proc/5/comm": b"a\x1b[2J\"\xff\n"},
                                            ], system="linux", cpus="0-1")
            self.assertRegex(output("process", "--from", directory, "5"), r'(?m)^ +5  a\\x1b\[2J"\?  +36K +32K ')
            self.assertEqual(json.loads(output("process", "--json", "--from", directory, "5"))["processes"][0]["name"], 'a\\x1b[2J"?')


class Node(unittest.TestCase):
    def test_of_a_machine_with_two_nodes(self):
        with program.temporary_directory() as directory:
            block = "fs/sys/devices/system/memory/"
            captures.write_capture(directory, [{
                block + "block_size_bytes": b"8000000\n", block + "memory0/phys_index": b"00000000\n", block + "memory0/state": b"online\n",
                block + "memory0/node0/x": b"", block + "memory32/phys_index": b"00000020\n", block + "memory32/state": b"offline\n",
                block + "memory32/node1/x": b""}], system="linux", cpus="0-1")
            self.assertEqual(output("node", "--from", directory, "4096", "0x100000000"),
                             "0x1000: node 0 (block 0x0-0x7ffffff)\n0x100000000: node 1 (block 0x100000000-0x107ffffff, offline)\n")
            rows = json.loads(output("node", "--json", "--from", directory, "0x100000001"))["addresses"]
            self.assertEqual(rows, [{"address": 0x100000001, "node": 1, "kind": "block", "first": 0x100000000, "last": 0x107ffffff,
                                     "state": "offline"}])
            done = run("node", "--from", directory, "0x8000000", "0", "0x108000000")
            self.assertEqual((done.returncode, done.stdout), (1, "0x0: node 0 (block 0x0-0x7ffffff)\n"))
            self.assertIn("0x8000000 is not memory", done.stderr)
            self.assertIn("beyond the last block, which ends at 0x107ffffff", done.stderr)

    def test_of_a_capture_without_blocks(self):
        path = captures.fixtures()[NODES]
        self.assertRegex(output("node", "--from", path, "0x1000"), r"^0x1000: node 0 \(zone 0x1000-")
        done = run("node", "--from", path, str(2**63))
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not memory", done.stderr)


class Resident(unittest.TestCase):
    def table(self, *arguments):
        lines = output("resident", *arguments).splitlines()
        self.assertEqual(lines[0].split(), ["RESIDENT", "SIZE", "SHARE", "FILE"])
        return [line.split(maxsplit=3) for line in lines[1:]]

    def rows(self, *arguments):
        return json.loads(output("resident", "--json", *arguments))

    def test_of_files_just_written_and_of_holes(self):
        with program.temporary_directory() as directory:
            full, hole, empty = (os.path.join(directory, name) for name in ("full", "hole", "empty"))
            captures.write_file(full, b"x" * (3 * PAGE + 1))
            captures.write_file(empty, b"")
            with open(hole, "wb") as file:
                file.truncate(1 << 30)
            table = self.table(directory)
            self.assertEqual([row[3] for row in table[:1]] + sorted(row[3] for row in table[1:3]), [full, empty, hole], "the most first")
            self.assertEqual(" ".join(table[3]), f"{table[0][0]} of 1.0G (<0.1%) in 3 files")
            document = self.rows(full)
            self.assertEqual(document["files"], [{"path": full, "size_bytes": 3 * PAGE + 1, "pages": 4, "resident_bytes": 3 * PAGE + 1,
                                                  "resident_ratio": 1, "resident_pages": 4}], "what was just written is in memory, its end in part")
            self.assertEqual(document["resident_bytes"], 3 * PAGE + 1)
            self.assertEqual(len(self.table(full)), 1, "no sums of one file")

    def test_what_is_not_asked_for(self):
        with program.temporary_directory() as directory:
            os.mkfifo(os.path.join(directory, "fifo"))
            os.symlink("fifo", os.path.join(directory, "link"))
            captures.write_file(os.path.join(directory, "below", "file\x1b\n"), b"x")
            table = self.table(directory)
            self.assertEqual([row[3] for row in table], [os.path.join(directory, "below", "file\\x1b\\x0a")], "neither pipes nor links")
            for path, word in ((os.path.join(directory, "fifo"), "not a regular file"), ("/no/such", "No such file"), ("", "No such")):
                done = run("resident", path)
                self.assertEqual(done.returncode, 1)
                self.assertIn(word, done.stderr)
            done = run("resident", "/no/such", os.path.join(directory, "below"))
            self.assertEqual(done.returncode, 1)
            self.assertIn("file\\x1b\\x0a", done.stdout, "the rest is shown")


if __name__ == "__main__":
    program.main()
