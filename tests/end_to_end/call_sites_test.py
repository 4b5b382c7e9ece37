#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: dnotify_struct
"""What makes a slab cache grow, in the real memstatd: control group, program and call, counted without privileges."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import page as pages  # noqa: E402
import program  # noqa: E402

CACHE = "dnotify_struct"  # nothing but fcntl(F_NOTIFY) takes objects of it
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


def has_cache():
    with open("/proc/slabinfo", encoding="utf-8", errors="replace") as file:
        return any(line.startswith(CACHE + " ") for line in file)


def make_group():
    """A control group of the memory controller; None where this machine lets us make none."""
    for root in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
        path = os.path.join(root, GROUP)
        try:
            os.mkdir(path)
        except OSError:
            continue
        if any(os.path.exists(os.path.join(path, name)) for name in ("memory.current", "memory.usage_in_bytes")):
            return path
        os.rmdir(path)
    return None


def watch_directories(group):
    def join():
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    subprocess.run([sys.executable, "-c", WATCHER], check=True, preexec_fn=join)  # pylint: disable=subprocess-popen-preexec-fn


@program.needs_root
@program.needs_slabinfo
class CallSites(unittest.TestCase):
    def test_the_group_the_program_and_the_call_are_named_and_replay(self):
        if not has_cache():
            self.skipTest(f"this kernel has no slab cache {CACHE} of its own")
        group = make_group()
        if group is None:
            self.skipTest("this machine lets us make no control group with the memory controller")
        self.addCleanup(os.rmdir, group)
        who = {"cache": CACHE, "group": "/" + GROUP, "command": "dir watcher", "call_site": "fcntl_dirnotify"}
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            configuration = program.configure_only(os.path.join(directory, "memstatd.yaml"), ("linux_slabinfo", "linux_call_sites"),
                                                   "events: {mode: full, budget: 6400%}\n")
            with program.Daemon("--config", configuration, "--record", recording) as daemon:
                first = daemon.wait_page(lambda now: now.series("memstat_type_bytes", type=CACHE), "the first poll")
                if not first.series("memstat_source_up", source="linux_call_sites"):
                    status = daemon.request("/api/v1/sources")[2].decode()
                    self.skipTest("this kernel or this build has no slab events: " + status[status.find("linux_call_sites"):][:300])
                self.assertEqual(first.text("memstat_source_up", source="linux_call_sites"), "1", daemon.log)
                watch_directories(group)
                after = daemon.wait_page(lambda now: now.series(ORIGIN, **who), "the program")
                self.assertEqual(int(after.text(ORIGIN, **who)), TIMES)
                size = int(after.text("memstat_type_object_footprint_bytes", allocator="slab", type=CACHE))
                self.assertEqual(int(after.text("memstat_slab_origin_allocated_bytes_total", **who)), size * TIMES)
                self.assertGreaterEqual(int(after.text("memstat_slab_group_allocations_total", group="/" + GROUP)), TIMES)
            replayed, problems = pages.check(program.run("--replay", recording, "--once").stdout)
            self.assertEqual(problems, [])
            self.assertEqual(int(replayed.text(ORIGIN, **who)), TIMES)
            self.assertTrue(replayed.series("memstat_type_allocations_total", allocator="kmalloc_site"))
            self.assertTrue(replayed.series("memstat_call_site_size_bytes_count"))

    def test_a_group_has_the_name_of_its_type_of_memcg(self):
        group = make_group()
        if group is None or not has_cache():
            self.skipTest("this machine lets us make no control group with the memory controller, or has no such cache")
        self.addCleanup(os.rmdir, group)
        with program.temporary_directory() as directory:
            configuration = program.configure_only(os.path.join(directory, "memstatd.yaml"), ("linux_memcg", "linux_call_sites"),
                                                   "events: {mode: full, budget: 6400%}\n")
            with program.Daemon("--config", configuration) as daemon:
                first = daemon.wait_page(lambda now: now.series("memstat_type_bytes", allocator="memcg"), "the first poll")
                if not first.series("memstat_source_up", source="linux_call_sites"):
                    self.skipTest("this kernel or this build has no slab events")
                watch_directories(group)
                daemon.wait_page(lambda now: now.series("memstat_type_bytes", allocator="memcg", type="/" + GROUP) and
                                 now.series("memstat_slab_group_charged_bytes_total", group="/" + GROUP), "the group, by one name")

    def test_mode_counters_attaches_none_of_it(self):
        with program.temporary_directory() as directory:
            configuration = program.configure_only(os.path.join(directory, "memstatd.yaml"), ("linux_slabinfo", "linux_call_sites"),
                                                   "events: {mode: counters, budget: 6400%}\n")
            with program.Daemon("--config", configuration) as daemon:
                page = daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                self.assertFalse(page.series("memstat_source_up", source="linux_call_sites"))


if __name__ == "__main__":
    program.main()
