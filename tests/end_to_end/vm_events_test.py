#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rare events of memory management in the real memstatd: attached by default, counted without privileges, recorded and replayed."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from control_group import ControlGroup  # noqa: E402
from event_tests import EventTest, descriptor_facts  # noqa: E402

VICTIM = "memstat victim"
# Takes this name, and then memory until it is killed.
EATER = f"""
with open("/proc/self/comm", "w") as file: file.write("{VICTIM}")
bytearray(b"x" * (256 << 20))
"""


def kill_for_memory(name):
    """Makes the kernel kill a process in its own group; returns whether it did."""
    with ControlGroup(name, 16 << 20) as group:
        done = subprocess.run([sys.executable, "-c", EATER], check=False, capture_output=True,
                              preexec_fn=group.enter)  # pylint: disable=subprocess-popen-preexec-fn
        return done.returncode == -signal.SIGKILL


@program.needs_root
@program.needs_slabinfo
class VmEvents(EventTest):
    SOURCE = "linux_vm_events"

    def attached(self, process):
        """The number of links to events that a process holds."""
        return sum("link_type" in facts for facts in descriptor_facts(process))

    def test_the_victim_of_a_full_group_is_named_by_default_and_replayed(self):
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "recording")
            with program.Daemon("--config", self.configuration(directory), "--record", recording) as daemon:
                first = self.first_page(daemon)
                self.assertGreater(self.attached(daemon.process.pid), 0)
                before = int(first.text("memstat_vm_events_total", event="oom_kill"))
                if not kill_for_memory(f"memstat_e2e_{os.getpid()}"):
                    self.skipTest("no control group with a limit of memory can be made here")
                after = daemon.wait_page(lambda now: now.series("memstat_oom_victims_total", command=VICTIM), "the victim")
                self.assertGreater(int(after.text("memstat_vm_events_total", event="oom_kill")), before)
                victims = after.text("memstat_oom_victims_total", command=VICTIM)
            replayed = self.replayed(recording)
            self.assertGreaterEqual(int(replayed.text("memstat_oom_victims_total", command=VICTIM)), int(victims))

    def test_off_attaches_nothing(self):
        with program.temporary_directory() as directory:
            with program.Daemon("--config", self.configuration(directory, "events: {mode: off}\n")) as daemon:
                daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                self.assertEqual(self.attached(daemon.process.pid), 0)


if __name__ == "__main__":
    program.main()
