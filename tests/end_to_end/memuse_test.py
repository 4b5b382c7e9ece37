#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: dnotify_struct
"""memstatctl stacks on this machine's kernel: finds a known leak with its exact count, and no suspect without a leak."""
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
from ctl import MEMSTATCTL  # noqa: E402
from event_tests import CACHE, descriptor_facts, has_cache, watch_directory  # noqa: E402

OLDER = 0.5  # s


def attached_programs(process):
    """The number of programs that it has attached to the kernel."""
    return sum("tp_name" in facts for facts in descriptor_facts(process.pid))


@program.needs_root
@program.needs_slabinfo
class Memuse(unittest.TestCase):
    def setUp(self):
        if not has_cache():
            self.skipTest(f"this kernel has no slab cache {CACHE} of its own")

    def watch(self, work, *options):
        """Runs `work` until the watch can judge, ends it as ^C does, and returns its output."""
        command = [MEMSTATCTL, "memuse", "--seconds", "600", "--older", f"{int(OLDER * 1000)}ms", "--type", CACHE, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            program.wait_until(lambda: attached_programs(process) == 4 or process.poll() is not None, "the programs")
            start = before = time.monotonic()
            longest = 0.0
            # A leak shows as blocks from each quarter of the time, so a machine that stalls must be watched for longer.
            while process.poll() is None and time.monotonic() < start + max(1.5, 8 * longest):
                work()
                time.sleep(0.01)
                longest = max(longest, time.monotonic() - before)
                before = time.monotonic()
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            output, problem = process.communicate(timeout=program.PATIENCE)
        if process.returncode == 1 and re.search("No such|Operation not permitted|Permission denied|built without|only root", problem):
            self.skipTest("this kernel or this build cannot watch: " + problem.strip())
        self.assertEqual((process.returncode, problem), (0, ""))
        return output

    def test_a_leak_is_a_suspect_with_its_exact_count(self):
        held = []
        with program.temporary_directory() as directory:
            try:
                document = json.loads(self.watch(lambda: held.append(watch_directory(directory=directory)), "--json"))
            finally:
                for descriptor in held:
                    os.close(descriptor)
        suspects = [group for group in document["groups"] if group["verdict"] == "suspect"]
        self.assertEqual(len(suspects), 1, document)
        leak = suspects[0]
        self.assertEqual(leak["frames"][0], "fcntl_dirnotify")
        self.assertEqual((leak["type"], leak["growing"]), (CACHE, True))
        self.assertEqual(leak["blocks"], len(held))
        self.assertEqual(leak["allocations"], len(held))
        self.assertGreater(leak["old_blocks"], 0)
        with open("/proc/self/comm", encoding="utf-8") as file:
            self.assertEqual(leak["command"], file.read().strip())
        self.assertEqual(document["counts"]["lost_blocks"] + document["counts"]["lost_stacks"], 0)

    def test_memory_held_once_or_freed_is_not_a_suspect(self):
        held = []
        with program.temporary_directory() as directory:
            def work():
                while len(held) < 50:
                    held.append(watch_directory(directory=directory))
                os.close(watch_directory(directory=directory))
            try:
                text = self.watch(work)
            finally:
                for descriptor in held:
                    os.close(descriptor)
        self.assertIn("nothing looks like a leak\n", text)
        self.assertIn(f"in use: {len(held)} blocks, ", text)
        self.assertIn("    fcntl_dirnotify\n", text)

    def test_a_type_that_the_kernel_does_not_have_is_a_mistake(self):
        done = subprocess.run([MEMSTATCTL, "memuse", "--type", "dnotify_strukt"], capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(CACHE, done.stderr)


if __name__ == "__main__":
    program.main()
