#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: dnotify_struct
"""Slab events in the real memstatd: attached before privileges are dropped, counted without them, recorded and replayed."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from event_tests import CACHE, EventTest, descriptor_facts, has_cache, watch_directory  # noqa: E402

TIMES = 5000
ALLOCATIONS = "memstat_type_allocations_total"


@program.needs_root
@program.needs_slabinfo
class SlabEvents(EventTest):
    SOURCE = "linux_slab_events"

    def test_counters_are_exact_and_replay(self):
        if not has_cache():
            self.skipTest(f"this kernel has no slab cache {CACHE} of its own")
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            with program.Daemon("--config", self.configuration(directory, "events: {mode: counters, budget: 6400%}\n"), "--record", recording) as daemon:
                first = self.first_page(daemon, type=CACHE)
                self.assertEqual(int(program.status_of(daemon.process.pid)["CapEff"], 16), 0, "the privileges are gone")
                before = int(first.text(ALLOCATIONS, allocator="slab", type=CACHE) or 0)
                os.close(watch_directory(TIMES))
                after = daemon.wait_page(
                    lambda now: int(now.text(ALLOCATIONS, allocator="slab", type=CACHE) or 0) >= before + TIMES, "the counts")
                self.assertEqual(int(after.text(ALLOCATIONS, allocator="slab", type=CACHE)), before + TIMES)
                size = int(after.text("memstat_type_object_footprint_bytes", allocator="slab", type=CACHE))
                self.assertEqual(int(after.text("memstat_type_allocated_bytes_total", allocator="slab", type=CACHE)),
                                 size * (before + TIMES))
            replayed = self.replayed(recording)
            self.assertEqual(int(replayed.text(ALLOCATIONS, allocator="slab", type=CACHE)), before + TIMES)
            cpus = replayed.series("memstat_cpu_allocations_total", allocator="slab", type=CACHE)
            self.assertEqual(sum(int(sample.text) for sample in cpus), before + TIMES)

    def test_nothing_is_attached_unless_configured(self):
        for mode in ("off", "failures"):
            with program.temporary_directory() as directory:
                with program.Daemon("--config", self.configuration(directory, f"events: {{mode: {mode}, budget: 6400%}}\n")) as daemon:
                    daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                    self.assertNotIn("prog_id", "".join(descriptor_facts(daemon.process.pid)), mode)


if __name__ == "__main__":
    program.main()
