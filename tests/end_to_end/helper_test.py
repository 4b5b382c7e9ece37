#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: waits for a budget to be spent and granted again
# Seconds: 70
# Lock: dnotify_struct
"""The helper process of the real memstatd: it re-attaches programs after the budget was exceeded; the effects of its death; and nothing
of it remains at the end."""
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from event_tests import CACHE, descriptor_facts, has_cache, watch_directory  # noqa: E402
from kernel_events_test import ALLOCATIONS, TIMES  # noqa: E402

SOURCE = "linux_slab_events"
COUNTED = "memstat_events_counted_ratio"
UP = "memstat_helper_up"
FIRST_DELAY = 60  # seconds until it tries again
BPF_AND_PERFMON = 1 << 39 | 1 << 38
BUSY = "import os\nwhile True: os.close(os.eventfd(0))\n"


class Busy:
    """Processes that cause millions of slab events a second, even while other tests run."""

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(4)]

    def __exit__(self, kind, error, trace):
        for process in self.processes:
            process.kill()
            process.wait()


def children(process):
    with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:
        return [int(number) for number in file.read().split()]


def links_of(process):
    """Numbers of the links of programs to events that a process holds."""
    return {int(number) for facts in descriptor_facts(process) for number in re.findall(r"^link_id:\s*(\d+)", facts, re.MULTILINE)}


def links_of_kernel():
    """Numbers of all links: bpf(2), BPF_LINK_GET_NEXT_ID."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    request = (ctypes.c_uint32 * 32)()
    numbers = set()
    while libc.syscall(call, 31, ctypes.byref(request), ctypes.sizeof(request)) == 0:
        numbers.add(request[1])
        request[0] = request[1]
    return numbers


def is_gone(process):
    return not os.path.exists(f"/proc/{process}") or program.status_of(process)["State"].startswith("Z")


@program.needs_root
@program.needs_slabinfo
class Helper(unittest.TestCase):
    def daemon(self, directory, mode="counters", budget="2%"):
        configuration = program.configure_only(os.path.join(directory, "memstatd.yaml"), ("linux_slabinfo", SOURCE),
                                               f"events: {{mode: {mode}, budget: {budget}}}\n")
        return program.Daemon("--config", configuration)

    def helper_of(self, daemon):
        """The number of its helper process. Skips the test if there is none."""
        page = daemon.wait_page(lambda now: now.series("memstat_type_bytes", allocator="slab"), "the first poll")
        if not page.series("memstat_source_up", source=SOURCE):
            status = daemon.request("/api/v1/sources")[2].decode()
            self.skipTest("this kernel or this build has no slab events: " + status[status.find(SOURCE):][:300])
        self.assertEqual(page.text(UP), "1", daemon.log)
        helper = int(daemon.wait_log(r"the helper process .* has PID (\d+)").group(1))
        self.assertIn(helper, children(daemon.process.pid))
        return helper

    def note(self, daemon):
        sources = json.loads(daemon.request("/api/v1/sources")[2])
        return json.dumps(next(source for source in sources["sources"] if source["name"] == SOURCE))

    def wait_detached(self, daemon):
        with Busy():
            daemon.wait_page(lambda now: now.number(COUNTED, source=SOURCE) == 0, "detaching because of the load")

    def test_what_took_too_much_is_attached_again(self):
        if not has_cache():
            self.skipTest(f"this kernel has no slab cache {CACHE} of its own")
        with program.temporary_directory() as directory, self.daemon(directory) as daemon:
            self.helper_of(daemon)
            attached = links_of(daemon.process.pid)
            self.assertGreaterEqual(len(attached), 3)
            self.wait_detached(daemon)
            detached = time.monotonic()
            self.assertEqual(links_of(daemon.process.pid), set(), "detached means detached")
            program.wait_until(lambda: not attached & links_of_kernel(), "the kernel to release them")
            self.assertIn("tries again", self.note(daemon))
            program.wait_until(lambda: daemon.page().number(COUNTED, source=SOURCE) > 0, "attaching again",
                               FIRST_DELAY + program.PATIENCE)
            self.assertGreater(time.monotonic() - detached, FIRST_DELAY - 10)
            self.assertEqual(len(links_of(daemon.process.pid)), len(attached))
            page = daemon.wait_page(lambda now: now.number(COUNTED, source=SOURCE) == 1, "complete counts")
            before = int(page.text(ALLOCATIONS, allocator="slab", type=CACHE) or 0)
            os.close(watch_directory(TIMES))
            after = daemon.wait_page(
                lambda now: int(now.text(ALLOCATIONS, allocator="slab", type=CACHE) or 0) >= before + TIMES, "the counts")
            self.assertEqual(int(after.text(ALLOCATIONS, allocator="slab", type=CACHE)), before + TIMES)
            self.assertEqual(after.text(UP), "1")

    def test_it_has_only_its_two_capabilities(self):
        with program.temporary_directory() as directory, self.daemon(directory) as daemon:
            helper = self.helper_of(daemon)
            for field, rights in (("CapEff", BPF_AND_PERFMON), ("CapPrm", BPF_AND_PERFMON), ("CapInh", 0), ("CapBnd", 0), ("CapAmb", 0)):
                self.assertEqual(int(program.status_of(helper)[field], 16), rights, field)
            self.assertEqual(program.status_of(helper)["Uid"], program.status_of(daemon.process.pid)["Uid"])
            self.assertEqual(program.status_of(helper)["NoNewPrivs"], "1")
            if not program.SANITIZER:
                self.assertEqual(program.status_of(helper)["Seccomp"], program.status_of(daemon.process.pid)["Seccomp"])
            open_files = [os.readlink(f"/proc/{helper}/fd/{number}") for number in os.listdir(f"/proc/{helper}/fd")]
            self.assertEqual({re.sub(r":.*", "", file) for file in open_files}, {"/dev/null", "socket", "anon_inode"}, open_files)
            self.assertEqual(sum(file.startswith("socket:") for file in open_files), 1)
            self.assertEqual(links_of(helper), set(), "it keeps nothing attached")

    def test_its_death_costs_its_sources_only(self):
        # A budget that is too small even for sampling, when the load gets only half of a CPU.
        with program.temporary_directory() as directory, self.daemon(directory, budget="0.5%") as daemon:
            helper = self.helper_of(daemon)
            attached = links_of(daemon.process.pid)
            os.kill(helper, signal.SIGKILL)
            page = daemon.wait_page(lambda now: now.text(UP) == "0", "the end of the helper")
            daemon.wait_log("the helper process is gone: .*restart memstatd to count events again")
            self.assertEqual(page.text("memstat_source_up", source=SOURCE), "1", "attached programs stay attached")
            self.assertEqual(links_of(daemon.process.pid), attached)
            program.wait_until(lambda: helper not in children(daemon.process.pid), "the zombie to be reaped")
            self.wait_detached(daemon)
            self.assertEqual(links_of(daemon.process.pid), set())
            self.assertIn("restart memstatd to count events again", self.note(daemon))
            self.assertEqual(daemon.page().text("memstat_source_up", source="linux_slabinfo"), "1")
            self.assertEqual(daemon.log.count("the helper process is gone"), 1)

    def test_nothing_stays_of_a_killed_memstatd(self):
        with program.temporary_directory() as directory:
            daemon = self.daemon(directory)
            try:
                helper = self.helper_of(daemon)
                attached = links_of(daemon.process.pid)
                self.assertTrue(attached)
            finally:
                daemon.kill()
            program.wait_until(lambda: is_gone(helper), "the end of the helper")
            program.wait_until(lambda: not attached & links_of_kernel(), "everything to be detached")


if __name__ == "__main__":
    program.main()
