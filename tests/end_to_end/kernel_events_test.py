#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: dnotify_struct kills
"""Programs on the kernel's events in the real memstatd: loaded before privileges are dropped, counted without them, recorded and replayed."""
import json
import os
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from control_group import ControlGroup  # noqa: E402
from event_tests import CACHE, EventTest, descriptor_facts, has_cache, watch_directory  # noqa: E402

TIMES = 5000
HELD = 200
ALLOCATIONS = "memstat_type_allocations_total"
OBJECTS = "memstat_type_objects"
ORIGIN = "memstat_slab_origin_allocations_total"
GROUP = f"memstat_end_to_end_{os.getpid()}"
WATCHER = f"""
import ctypes, fcntl, os
ctypes.CDLL(None).prctl(15, b"dir watcher")
descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
for _ in range({TIMES}):
    fcntl.fcntl(descriptor, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT)
"""
VICTIM = "memstat victim"
# Takes this name, and then memory until it is killed.
EATER = f"""
with open("/proc/self/comm", "w") as file: file.write("{VICTIM}")
bytearray(b"x" * (256 << 20))
"""


def watch_directories(group):
    subprocess.run([sys.executable, "-c", WATCHER], check=True, preexec_fn=group.enter)  # pylint: disable=subprocess-popen-preexec-fn


def kill_for_memory(name):
    """Makes the kernel kill a process in its own group; returns whether it did."""
    with ControlGroup(name, 16 << 20) as group:
        done = subprocess.run([sys.executable, "-c", EATER], check=False, capture_output=True,
                              preexec_fn=group.enter)  # pylint: disable=subprocess-popen-preexec-fn
        return done.returncode == -signal.SIGKILL


@program.needs_root
@program.needs_slabinfo
class SlabEvents(EventTest):
    """Attached before privileges are dropped, counted without them."""
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


@program.needs_root
@program.needs_slabinfo
class SlabBpf(EventTest):
    """The pass over the slab caches: loaded by default, run without privileges."""
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
            reserve = 64 + 32  # of files that are given up to accept connections, and to poll (SpareFiles in daemon/http and core/kernel)
            pinned = 6  # directories of procfs that the sandbox may read (PrivilegeReport)
            program.wait_until(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/fd")) <= 64 + pinned + reserve, "at most 70 descriptors and the reserve")

    def test_nothing_is_loaded_when_events_are_off(self):
        with program.temporary_directory() as directory:
            with program.Daemon("--config", self.configuration(directory, "events: {mode: off}\n")) as daemon:
                page = daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                self.assertFalse(page.series("memstat_source_up", source=self.SOURCE))
                self.assertNotIn("prog_id", "".join(descriptor_facts(daemon.process.pid)))


@program.needs_root
@program.needs_slabinfo
class CallSites(EventTest):
    """What makes a slab cache grow: control group, program and call."""
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


@program.needs_root
@program.needs_slabinfo
class VmEvents(EventTest):
    """Rare events of memory management, attached by default."""
    SOURCE = "linux_vm_events"

    def test_the_victim_of_a_full_group_is_named_by_default_and_replayed(self):
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            with program.Daemon("--config", self.configuration(directory), "--record", recording) as daemon:
                first = self.first_page(daemon)
                self.assertIn("link_type", "".join(descriptor_facts(daemon.process.pid)))
                before = int(first.text("memstat_vm_events_total", event="oom_kill"))
                if not kill_for_memory(f"memstat_e2e_{os.getpid()}"):
                    self.skipTest("no control group with a limit of memory can be made here")
                after = daemon.wait_page(lambda now: now.series("memstat_oom_victims_total", command=VICTIM), "the victim")
                self.assertGreater(int(after.text("memstat_vm_events_total", event="oom_kill")), before)
                victims = after.text("memstat_oom_victims_total", command=VICTIM)
            replayed = self.replayed(recording)
            self.assertGreaterEqual(int(replayed.text("memstat_oom_victims_total", command=VICTIM)), int(victims))


if __name__ == "__main__":
    program.main()
