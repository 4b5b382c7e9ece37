#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: dnotify_struct
"""What makes a slab cache grow, in the real memstatd: control group, program and call, counted without privileges."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from control_group import ControlGroup  # noqa: E402
from event_tests import CACHE, EventTest, has_cache  # noqa: E402

TIMES = 5000
GROUP = f"memstat_end_to_end_{os.getpid()}"
ORIGIN = "memstat_slab_origin_allocations_total"
WATCHER = f"""
import ctypes, fcntl, os
ctypes.CDLL(None).prctl(15, b"dir watcher")
descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
for _ in range({TIMES}):
    fcntl.fcntl(descriptor, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT)
"""


def watch_directories(group):
    subprocess.run([sys.executable, "-c", WATCHER], check=True, preexec_fn=group.enter)  # pylint: disable=subprocess-popen-preexec-fn


@program.needs_root
@program.needs_slabinfo
class CallSites(EventTest):
    SOURCE = "linux_call_sites"

    def setUp(self):
        if not has_cache():
            self.skipTest(f"this kernel has no slab cache {CACHE} of its own")

    def test_the_group_the_program_and_the_call_are_named_and_replay(self):
        who = {"cache": CACHE, "group": "/" + GROUP, "command": "dir watcher", "call_site": "fcntl_dirnotify"}
        with program.temporary_directory() as directory, ControlGroup(GROUP, 1 << 40) as group:
            recording = os.path.join(directory, "recording")
            configuration = self.configuration(directory, "events: {mode: full, budget: 6400%}\n")
            with program.Daemon("--config", configuration, "--record", recording) as daemon:
                self.first_page(daemon, type=CACHE)
                watch_directories(group)
                after = daemon.wait_page(lambda now: now.series(ORIGIN, **who), "the program")
                self.assertEqual(int(after.text(ORIGIN, **who)), TIMES)
                size = int(after.text("memstat_type_object_footprint_bytes", allocator="slab", type=CACHE))
                self.assertEqual(int(after.text("memstat_slab_origin_allocated_bytes_total", **who)), size * TIMES)
                self.assertGreaterEqual(int(after.text("memstat_slab_group_allocations_total", group="/" + GROUP)), TIMES)
            replayed = self.replayed(recording)
            self.assertEqual(int(replayed.text(ORIGIN, **who)), TIMES)
            self.assertTrue(replayed.series("memstat_type_allocations_total", allocator="kmalloc_site"))
            self.assertTrue(replayed.series("memstat_call_site_size_bytes_count"))

    def test_a_group_has_the_name_of_its_type_of_memcg(self):
        with program.temporary_directory() as directory, ControlGroup(GROUP, 1 << 40) as group:
            configuration = self.configuration(directory, "events: {mode: full, budget: 6400%}\n", roster="linux_memcg")
            with program.Daemon("--config", configuration) as daemon:
                self.first_page(daemon, allocator="memcg")
                watch_directories(group)
                daemon.wait_page(lambda now: now.series("memstat_type_bytes", allocator="memcg", type="/" + GROUP) and
                                 now.series("memstat_slab_group_charged_bytes_total", group="/" + GROUP), "the group, by one name")

    def test_mode_counters_attaches_none_of_it(self):
        with program.temporary_directory() as directory:
            configuration = self.configuration(directory, "events: {mode: counters, budget: 6400%}\n")
            with program.Daemon("--config", configuration) as daemon:
                page = daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                self.assertFalse(page.series("memstat_source_up", source=self.SOURCE))


if __name__ == "__main__":
    program.main()
