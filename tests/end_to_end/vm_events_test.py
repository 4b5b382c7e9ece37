#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rare events of memory management in the real memstatd: attached by default, counted without privileges, recorded and replayed."""
import errno
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import page as pages  # noqa: E402
import program  # noqa: E402

SOURCE = "linux_vm_events"
VICTIM = "memstat victim"
# Joins the group, takes the name, and takes memory until it is killed.
EATER = f"""
import os, sys
with open(sys.argv[1] + "/cgroup.procs", "w") as file: file.write(str(os.getpid()))
with open("/proc/self/comm", "w") as file: file.write("{VICTIM}")
bytearray(b"x" * (256 << 20))
"""


def memory_hierarchy():
    """Where control groups with the memory controller are made, and the file of their limit."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        try:
            if limit != "memory.max" and os.path.exists(os.path.join(root, limit)):
                return root, limit
            with open(os.path.join(root, "cgroup.subtree_control"), encoding="utf-8") as file:
                if "memory" in file.read().split():
                    return root, limit
        except OSError:
            continue
    return None


def is_removed(group):
    """The kernel may take a moment until the last process of it is quite gone."""
    try:
        os.rmdir(group)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def kill_for_memory(name):
    """Lets the kernel kill a process in a group of its own. False: no group can be made here."""
    found = memory_hierarchy()
    if not found:
        return False
    root, limit = found
    group = os.path.join(root, name)
    try:
        os.mkdir(group)
    except OSError:
        return False
    try:
        with open(os.path.join(group, limit), "w", encoding="utf-8") as file:
            file.write(str(16 << 20))
        done = subprocess.run([sys.executable, "-c", EATER, group], check=False, capture_output=True)
        return done.returncode == -signal.SIGKILL
    finally:
        program.wait_until(lambda: is_removed(group), "the end of the group")


@program.needs_root
@program.needs_slabinfo
class VmEvents(unittest.TestCase):
    def configuration(self, directory, text=""):
        """No other sources but the roster of slab caches, so that recordings are small."""
        return program.configure_only(os.path.join(directory, "memstatd.yaml"), ("linux_slabinfo", SOURCE), text)

    def attached(self, process):
        """How many links to events a process holds."""
        count = 0
        for descriptor in os.listdir(f"/proc/{process}/fdinfo"):
            try:
                with open(f"/proc/{process}/fdinfo/{descriptor}", encoding="utf-8") as file:
                    count += "link_type" in file.read()
            except FileNotFoundError:  # it was closed meanwhile
                pass
        return count

    def test_the_victim_of_a_full_group_is_named_by_default_and_replayed(self):
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            with program.Daemon("--config", self.configuration(directory), "--record", recording) as daemon:
                first = daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                if not first.series("memstat_source_up", source=SOURCE):
                    status = daemon.request("/api/v1/sources")[2].decode()
                    self.skipTest("this kernel or this build has no such events: " + status[status.find(SOURCE):][:300])
                self.assertEqual(first.text("memstat_source_up", source=SOURCE), "1", daemon.log)
                self.assertGreater(self.attached(daemon.process.pid), 0)
                before = int(first.text("memstat_vm_events_total", event="oom_kill"))
                if not kill_for_memory(f"memstat_e2e_{os.getpid()}"):
                    self.skipTest("no control group with a limit of memory can be made here")
                after = daemon.wait_page(lambda now: now.series("memstat_oom_victims_total", command=VICTIM), "the victim")
                self.assertGreater(int(after.text("memstat_vm_events_total", event="oom_kill")), before)
                victims = after.text("memstat_oom_victims_total", command=VICTIM)
            replayed, problems = pages.check(program.run("--replay", recording, "--once").stdout)
            self.assertEqual(problems, [])
            self.assertGreaterEqual(int(replayed.text("memstat_oom_victims_total", command=VICTIM)), int(victims))

    def test_off_attaches_nothing(self):
        with program.temporary_directory() as directory:
            with program.Daemon("--config", self.configuration(directory, "events: {mode: off}\n")) as daemon:
                daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                self.assertEqual(self.attached(daemon.process.pid), 0)


if __name__ == "__main__":
    program.main()
