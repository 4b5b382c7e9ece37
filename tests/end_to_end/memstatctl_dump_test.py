#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan
"""memstatctl and memstatd with a kernel's crash dump: complete, extended, inconsistent, truncated, and with flipped bits."""
import csv
import io
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import output, run  # noqa: E402

MAKE_DUMP = os.path.join(os.path.dirname(program.MEMSTATD), "make_dump")
DENTRY = {"bytes": 165 * 200, "objects": 165, "held_bytes": 10 * 4096, "free_objects": 35}
KMALLOC = {"bytes": 256 * 64, "objects": 256, "held_bytes": 4 * 4096, "free_objects": 0}
MEMORY = 0x4000  # the offset of the dump's memory in its file; the kernel's own data is at the front


def memstatd(*arguments):
    done = subprocess.run([program.MEMSTATD, "--once", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=program.PATIENCE, check=False)
    program.check_no_report(done.stderr)
    return done


class Dump(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(program.temporary_directory())

    def dump(self, *options):
        path = os.path.join(self.directory, "-".join(("dump", *options)))
        if not os.path.exists(path):
            subprocess.run([MAKE_DUMP, path, *options], check=True, timeout=program.PATIENCE)
        return path

    def types(self, path):
        return {row["type"]: row for row in json.loads(output("types", "--json", "--from", path))["types"]}

    def test_types_of_every_kind_of_kernel_are_the_same(self):
        for options in ([], ["pages"], ["sheaves"], ["arm64"], ["empty=64"]):
            types = self.types(self.dump(*options))
            for name, wanted in (("dentry", DENTRY), ("kmalloc-64", KMALLOC)):
                self.assertEqual({key: types[name][key] for key in wanted}, wanted, (options, name))
        rows = list(csv.DictReader(io.StringIO(output("types", "--csv", "--from", self.dump()))))
        self.assertEqual([(row["type"], int(row["bytes"])) for row in rows],
                         [("node 0 Normal", 245760000), ("node 0 DMA", 8192000), ("percpu", 491520), ("dentry", 33000),
                          ("kmalloc-64", 16384), ("alloc_things", 16384), ("mod_alloc [fakemod]", 4096), ("empty", 0),
                          ("alloc_things (ioremap)", 0), ("unknown (unpurged)", 0), ("unknown (vm_map_ram)", 0)])
        self.assertRegex(output("types", "--from", self.dump()), r"slab +dentry +32K +40K +165 +35 ")

    def test_diff_of_two_dumps_and_of_a_dump_and_a_recording(self):
        grown = {"allocator": "slab", "type": "kmalloc-64", "bytes_before": 16384, "bytes_after": 24576, "bytes_change": 8192,
                 "objects_before": 256, "objects_after": 384, "objects_change": 128}
        recording = os.path.join(self.directory, "recording")
        done = memstatd("--replay", self.dump(), "--record", recording)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for before in (self.dump(), recording):
            self.assertEqual(json.loads(output("diff", before, self.dump("grown"), "--json"))["changes"], [grown])
        shrunk = {**grown, "bytes_before": 24576, "bytes_after": 16384, "bytes_change": -8192, "objects_before": 384,
                  "objects_after": 256, "objects_change": -128}
        for after in (self.dump(), recording):
            self.assertEqual(json.loads(output("diff", self.dump("grown"), after, "--json"))["changes"], [shrunk])

    def test_a_torn_list_is_a_note_and_the_rest(self):
        said = "slab cache dentry: the partial slabs of node 0: 2 of 3 were read"
        done = run("types", "--json", "--from", self.dump("torn"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(said, done.stderr)
        types = {row["type"]: row for row in json.loads(done.stdout)["types"]}
        self.assertEqual((types["dentry"]["objects"], types["kmalloc-64"]["objects"]), (184, 256))
        done = memstatd("--replay", self.dump("torn"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(said, done.stderr)

    def objects(self, path, *arguments):
        return json.loads(output("objects", *arguments, "--json", "--from", path))

    def test_objects_of_a_type_are_its_allocated_ones(self):
        for options, wanted in (([], 165), (["pages"], 165), (["sheaves"], 26), (["arm64"], 165), (["empty=64"], 165)):
            found = self.objects(self.dump(*options), "dentry", "--limit", "1000")
            self.assertEqual((found["allocated"], found["counted"], len(found["objects"]), found["object_size"]),
                             (wanted, wanted, wanted, 192), options)
            self.assertEqual([one["words"][1] for one in found["objects"]], [one["address"] for one in found["objects"]])
        some = self.objects(self.dump(), "slab/kmalloc-64")
        self.assertEqual((some["allocated"], len(some["objects"])), (177, 100))
        text = output("objects", "kmalloc-64", "--limit", "2", "--from", self.dump())
        self.assertRegex(text, r"^ADDRESS +FIRST WORDS *\n(0xffff8880[0-9a-f]{8}  0{15}[13] ffff8880[0-9a-f ]+\n){2}2 of 177 objects are listed")

    def test_objects_have_owners_where_the_kernel_keeps_them(self):
        path = self.dump("owners")
        found = self.objects(path, "tracked")["objects"]
        self.assertEqual(len(found), 11)
        for one in found:
            number = int(one["words"][0], 16)
            self.assertEqual({key: one[key] for key in ("caller", "stack", "age_seconds", "pid", "cpu")},
                             {"caller": "alloc_things+0x8/0x800", "stack": ["alloc_things+0x8/0x800", "alloc_things+0x10/0x800"],
                              "age_seconds": number * 60, "pid": 100 + number, "cpu": number % 2})
        self.assertRegex(output("objects", "tracked", "--from", path), r"  alloc_things\+0x8/0x800 +7m +107 +1\n")
        rows = list(csv.DictReader(io.StringIO(output("objects", "tracked", "--csv", "--limit", "3", "--from", path))))
        self.assertEqual([(row["age_seconds"], row["stack"]) for row in rows],
                         [(str(60 * number), "alloc_things+0x8/0x800;alloc_things+0x10/0x800") for number in range(3)])
        self.assertNotIn("caller", next(csv.DictReader(io.StringIO(output("objects", "dentry", "--csv", "--from", path)))))

    def test_an_allocator_without_objects_is_reported(self):
        for arguments, said in ((["dentri", "--from", self.dump()], "did you mean dentry"), (["dentry", "--from", "live"], "not a crash dump"),
                                (["dentry"], "give a crash dump with --from DUMP")):
            done = run("objects", *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""), arguments)
            self.assertIn(said, done.stderr)
        self.assertIn("165", run("objects", "dentry", environment={"MEMSTAT_CAPTURE": self.dump()}).stdout)
        torn = run("objects", "dentry", "--from", self.dump("torn"))
        self.assertEqual(torn.returncode, 0)
        self.assertIn("dentry: the partial slabs of node 0: 2 of 3 were read", torn.stderr)
        self.assertEqual(len(self.objects(self.dump(), "dentry", "--limit", "0")["objects"]), 165)

    def test_freebsd_has_its_types_and_zones_with_its_kernel(self):
        path = self.dump("freebsd")
        done = run("types", "--from", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("memstatctl --kernel FILE, elsewhere the environment variable MEMSTAT_KERNEL", done.stderr)
        named = ("--from", path, "--kernel", path + ".kernel")
        types = {row["type"]: row for row in json.loads(output("types", "--json", *named))["types"]}
        for name, wanted in (("temp", {"bytes": 1172, "objects": 1}), ("mbuf", {"bytes": 365 * 256, "objects": 365})):
            self.assertEqual({key: types[name][key] for key in wanted}, wanted, name)
        self.assertRegex(output("malloc", *named), r"temp +1 ")
        self.assertRegex(output("zones", *named), r"mbuf_packet: +256")
        found = json.loads(output("objects", "uma/tidhash", "--json", *named))
        self.assertEqual([found[key] for key in ("allocator", "allocated", "counted", "object_size")], ["uma", 13, 13, 200])
        self.assertEqual([one["words"][1] for one in found["objects"]], [one["address"] for one in found["objects"]])
        shared = run("objects", "shared", *named)
        self.assertEqual(shared.returncode, 0)
        self.assertIn("shares its slabs with shared again", shared.stderr)
        kegless = run("objects", "vm pgcache", *named)
        self.assertEqual((kegless.returncode, kegless.stdout), (1, ""))
        self.assertIn("caches items of another allocator", kegless.stderr)
        # A recording of it is read without the kernel.
        recording = os.path.join(self.directory, "freebsd-recording")
        os.environ["MEMSTAT_KERNEL"] = path + ".kernel"
        try:
            done = memstatd("--replay", path, "--record", recording)
        finally:
            del os.environ["MEMSTAT_KERNEL"]
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in ('memstat_type_bytes{allocator="uma",type="mbuf"} 93440', 'memstat_accounted_bytes{part="active"} 16388096',
                     'memstat_kernel_info{os="freebsd",release="15.0-RELEASE"} 1'):
            self.assertIn(line, done.stdout.splitlines())
        self.assertEqual({row["type"]: row for row in json.loads(output("types", "--json", "--from", recording))["types"]}, types)

    def damaged(self, content):
        """Runs both programs on such a dump: never a crash, always an error or a result."""
        path = os.path.join(self.directory, "damaged")
        with open(path, "wb") as file:
            file.write(content)
        done = run("types", "--json", "--from", path)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        if done.returncode == 0:
            self.assertIn("types", json.loads(done.stdout))
        else:
            self.assertRegex(done.stderr, r"^memstatctl: .*\S: .*\S\n$")
        return path, done

    def test_cut_short_is_an_error_or_a_result_with_a_note(self):
        with open(self.dump(), "rb") as file:
            whole = file.read()
        answers = set()
        for size in (30, 100, 3000, 5000, MEMORY, 60000, 200000, len(whole) - 1):
            path, done = self.damaged(whole[:size])
            self.assertIn("is cut short", done.stderr, size)
            answers.add(done.returncode)
        self.assertEqual(answers, {0, 1})
        self.assertIn(f"the file: is cut short: it has {len(whole) - 1} of {len(whole)} bytes", memstatd("--replay", path).stderr)


if __name__ == "__main__":
    if not os.path.exists(MAKE_DUMP):
        print("this build has no crash dumps: MEMSTAT_POSTMORTEM is off")
        sys.exit(77)
    unittest.main(verbosity=2)
