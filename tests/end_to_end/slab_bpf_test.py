#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: dnotify_struct
"""The pass over the slab caches in the real memstatd: loaded by default, run without privileges, recorded and replayed."""
import json
import os
import signal
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from event_tests import CACHE, EventTest, descriptor_facts, watch_directory  # noqa: E402

HELD = 200
OBJECTS = "memstat_type_objects"


@program.needs_root
@program.needs_slabinfo
class SlabBpf(EventTest):
    SOURCE = "linux_slab_bpf"

    def test_objects_in_use_are_exact_and_replay(self):
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            with program.Daemon("--config", self.configuration(directory), "--record", recording) as daemon:
                first = self.first_page(daemon)
                if not first.series(OBJECTS, type=CACHE):
                    self.skipTest(f"this kernel has no slab cache {CACHE} of its own")
                before = int(first.text(OBJECTS, allocator="slab", type=CACHE))
                held = [watch_directory() for _ in range(HELD)]
                try:
                    daemon.wait_page(lambda now: int(now.text(OBJECTS, allocator="slab", type=CACHE)) == before + HELD, "the objects")
                finally:
                    for descriptor in held:
                        os.close(descriptor)
                daemon.wait_page(lambda now: int(now.text(OBJECTS, allocator="slab", type=CACHE)) == before, "their end")
            replayed = self.replayed(recording)
            self.assertEqual(replayed.text("memstat_source_up", source=self.SOURCE), "1")
            self.assertEqual(int(replayed.text(OBJECTS, allocator="slab", type=CACHE)), before)
            self.assertTrue(replayed.series("memstat_cpu_free_objects", allocator="slab", type="dentry"))
            with tarfile.open(os.path.join(recording, "000000.tar")) as recorded:
                for poll in range(2):  # readers of captures that lack such a pass have the caches, too
                    for path in ("fs/proc/slabinfo", "source/" + self.SOURCE):
                        self.assertTrue(recorded.getmember(f"{poll:06}/{path}").size)

    def test_slabinfo_is_not_read_meanwhile(self):
        with program.temporary_directory() as directory:
            with program.Daemon("--config", self.configuration(directory)) as daemon:
                page = self.first_page(daemon)
                sources = {source["name"]: source for source in json.loads(daemon.request("/api/v1/sources")[2])["sources"]}
                self.assertEqual(sources["linux_slabinfo"]["state"], "replaced")
                self.assertEqual(sources["linux_slabinfo"]["error"], f"{self.SOURCE} replaces it")
                self.assertFalse(page.series("memstat_source_up", source="linux_slabinfo"))
                self.assertFalse(page.series("memstat_source_read_seconds_count", source="linux_slabinfo"))
                self.configuration(directory, "events: {mode: off}\n")
                daemon.process.send_signal(signal.SIGHUP)
                page = daemon.wait_page(lambda now: now.number("memstat_source_up", source="linux_slabinfo") == 1, "slabinfo")
                self.assertFalse(page.series("memstat_source_up", source=self.SOURCE))
                self.assertTrue(page.series("memstat_type_bytes", allocator="slab", type="dentry"))

    def test_the_default_sources_hold_few_files(self):
        with open("/sys/devices/system/node/online", encoding="ascii") as nodes:
            if nodes.read().strip() != "0":
                self.skipTest("this machine has several nodes")
        with program.Daemon() as daemon:
            page = self.first_page(daemon)
            sources = {source["name"]: source for source in json.loads(daemon.request("/api/v1/sources")[2])["sources"]}
            self.assertEqual(sources["linux_slab_sysfs"]["state"], "replaced", sources["linux_slab_sysfs"])
            self.assertTrue(page.series("memstat_type_held_bytes", allocator="slab", type="dentry"))
            # The connections of these requests are closed shortly after their answers.
            program.wait_until(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/fd")) <= 64, "at most 64 descriptors")

    def test_nothing_is_loaded_when_events_are_off(self):
        with program.temporary_directory() as directory:
            with program.Daemon("--config", self.configuration(directory, "events: {mode: off}\n")) as daemon:
                page = daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                self.assertFalse(page.series("memstat_source_up", source=self.SOURCE))
                self.assertNotIn("prog_id", "".join(descriptor_facts(daemon.process.pid)))


if __name__ == "__main__":
    program.main()
