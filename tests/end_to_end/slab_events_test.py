#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: dnotify_struct
"""Slab events in the real memstatd: attached before privileges are dropped, counted without them, recorded and replayed."""
import fcntl
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import page as pages  # noqa: E402
import program  # noqa: E402

CACHE = "dnotify_struct"  # nothing but fcntl(F_NOTIFY) takes objects of it
TIMES = 5000
ALLOCATIONS = "memstat_type_allocations_total"


def watch_directory(times):
    """Each call takes an object; all but one are given back at once, and that one with the descriptor."""
    descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(times):
        fcntl.fcntl(descriptor, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT)
    os.close(descriptor)


def has_cache():
    with open("/proc/slabinfo", encoding="utf-8", errors="replace") as file:
        return any(line.startswith(CACHE + " ") for line in file)


@program.needs_root
@program.needs_slabinfo
class SlabEvents(unittest.TestCase):
    def configuration(self, directory, mode):
        return program.configure_only(os.path.join(directory, "memstatd.yaml"), ("linux_slabinfo", "linux_slab_events"),
                                      f"events: {{mode: {mode}, budget: 6400%}}\n")

    def test_counters_are_exact_and_replay(self):
        if not has_cache():
            self.skipTest(f"this kernel has no slab cache {CACHE} of its own")
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            with program.Daemon("--config", self.configuration(directory, "counters"), "--record", recording) as daemon:
                first = daemon.wait_page(lambda now: now.series("memstat_type_bytes", type=CACHE), "the first poll")
                if not first.series("memstat_source_up", source="linux_slab_events"):
                    status = daemon.request("/api/v1/sources")[2].decode()
                    self.skipTest("this kernel or this build has no slab events: " + status[status.find("linux_slab_events"):][:300])
                self.assertEqual(first.text("memstat_source_up", source="linux_slab_events"), "1", daemon.log)
                with open(f"/proc/{daemon.process.pid}/status", encoding="utf-8") as file:
                    rights = [line.split()[1] for line in file if line.startswith("CapEff:")]
                self.assertEqual(int(rights[0], 16), 0, "the privileges are gone")
                before = int(first.text(ALLOCATIONS, allocator="slab", type=CACHE) or 0)
                watch_directory(TIMES)
                after = daemon.wait_page(
                    lambda now: int(now.text(ALLOCATIONS, allocator="slab", type=CACHE) or 0) >= before + TIMES, "the counts")
                self.assertEqual(int(after.text(ALLOCATIONS, allocator="slab", type=CACHE)), before + TIMES)
                size = int(after.text("memstat_type_object_footprint_bytes", allocator="slab", type=CACHE))
                self.assertEqual(int(after.text("memstat_type_allocated_bytes_total", allocator="slab", type=CACHE)),
                                 size * (before + TIMES))
            replayed, problems = pages.check(program.run("--replay", recording, "--once").stdout)
            self.assertEqual(problems, [])
            self.assertEqual(int(replayed.text(ALLOCATIONS, allocator="slab", type=CACHE)), before + TIMES)
            cpus = replayed.series("memstat_cpu_allocations_total", allocator="slab", type=CACHE)
            self.assertEqual(sum(int(sample.text) for sample in cpus), before + TIMES)

    def test_nothing_is_attached_unless_asked_for(self):
        for mode in ("off", "failures"):
            with program.temporary_directory() as directory:
                with program.Daemon("--config", self.configuration(directory, mode)) as daemon:
                    daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                    facts = f"/proc/{daemon.process.pid}/fdinfo"
                    for descriptor in os.listdir(facts):
                        try:
                            with open(os.path.join(facts, descriptor), encoding="utf-8") as file:
                                self.assertNotIn("prog_id", file.read(), mode)
                        except FileNotFoundError:  # it was closed meanwhile
                            pass


if __name__ == "__main__":
    program.main()
