#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPU counters, from the configuration to the page: opened as root, read in the sandbox by an account without privileges, recorded and
replayed. What cannot be counted is reported, never shown as 0."""
import json
import mmap
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

PAGES = 2000
ONLY = "".join(f"  {name}: {{enabled: off}}\n" for name in ("linux_allocinfo", "linux_process", "linux_memcg"))


def figures(page, event):
    """{cpu: total}"""
    return {cpu: int(value) for cpu, value in re.findall(rf'^memstat_cpu_event_total{{cpu="(\d+)",event="{event}"}} (\d+)$', page, re.M)}


def fault(pages):
    """Touches that number of fresh pages."""
    with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, pages * mmap.PAGESIZE, mmap.PAGESIZE):
            memory[at] = 1


def wait_text(daemon, condition, what):
    """The page as text, once the condition holds."""
    def ask():
        status, _, body = daemon.request("/metrics")
        text = body.decode()
        return text if status == 200 and condition(text) else None
    return program.wait_until(ask, lambda: f"{what}\nthe log:\n{daemon.log}")


class Counters(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())

    def config(self, text):
        return captures.write_file(os.path.join(self.directory, "memstatd.yaml"), text)

    def counting(self):
        """A configuration that counts; otherwise the test is skipped with memstatd's message."""
        path = self.config("poll: {interval: 200ms}\ncounters: [{set: memory}, {set: noise, events: [page-faults], cpus: all}]\nsources:\n"
                           "  cpu_counters: {enabled: on}\n" + ONLY)
        done = program.run("--once", "--config", path)
        if b"\nmemstat_cpu_event_total{" not in done.stdout:
            self.skipTest("this process may not count on a whole CPU: " +
                          next((line for line in done.stderr.splitlines() if "cpu_counters" in line), "no reason was given"))
        return path

    def test_the_default_set_is_read_in_the_sandbox_without_privileges(self):
        path = self.counting()
        with program.Daemon("--config", path) as daemon:
            status = program.status_of(daemon.process.pid)
            self.assertEqual((int(status["CapEff"], 16), status["Seccomp"]), (0, "2"))
            before = figures(wait_text(daemon, lambda page: figures(page, "page-faults"), "counters"), "page-faults")
            fault(PAGES)
            page = wait_text(daemon, lambda page: sum(figures(page, "page-faults").values()) >= sum(before.values()) + PAGES, "the page faults")
            for event in ("minor-faults", "context-switches", "cpu-migrations"):
                self.assertEqual(set(figures(page, event)), set(before), event)
            self.assertRegex(page, r'(?m)^memstat_cpu_event_running_ratio\{cpu="0"\} [01]')
            self.assertIn('memstat_source_read_seconds_count{source="cpu_counters"}', page)  # what it costs
            self.assertIn('memstat_source_up{source="cpu_counters"} 1', page)
            source = next(one for one in json.loads(daemon.request("/api/v1/sources")[2])["sources"] if one["name"] == "cpu_counters")
            for event in ("cache-misses", "dTLB-load-misses", "dTLB-walks"):  # a series, or a reason; never both
                self.assertNotEqual(bool(figures(page, event)), f"{event}: " in source.get("left_out", ""), event)
            if "left_out" in source:
                self.assertIn("left out: ", daemon.log)
                self.assertIn("up; left out: ", daemon.request("/plain")[2].decode())

    def test_a_recording_replays_the_same_counts(self):
        path = self.counting()
        recording = os.path.join(self.directory, "recording")
        live = program.run("--once", "--config", path, "--polls", "2", "--interval", "1s", "--record", recording).stdout.decode()
        replayed = program.run("--once", "--replay", recording).stdout.decode()
        for event in ("minor-faults", "context-switches"):
            self.assertGreater(len(figures(live, event)), 0)
            self.assertEqual(figures(replayed, event), figures(live, event))

    def test_without_permission_to_count_the_missing_one_is_named(self):
        if os.geteuid() != 0:
            self.skipTest("only root can start memstatd as another account")
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            if int(file.read()) < 1:
                self.skipTest("kernel.perf_event_paranoid lets everybody count")
        path = self.config("counters: [{set: memory}]\n")
        os.chmod(self.directory, 0o755)
        os.chmod(path, 0o644)
        copy = self.enterContext(program.copy_for_others(os.environ["MEMSTATD"]))
        done = subprocess.run([copy, "--once", "--config", path], capture_output=True, user=65534, group=65534, extra_groups=[], check=False)
        self.assertNotIn(b"memstat_cpu_event_total{", done.stdout)
        self.assertIn(b"kernel.perf_event_paranoid is ", done.stderr)
        self.assertIn(b"CAP_PERFMON", done.stderr)

    def test_without_the_key_nothing_is_counted_and_the_reason_is_known(self):
        with program.Daemon() as daemon:
            wait_text(daemon, lambda page: "memstat_poll_timestamp_seconds" in page, "a poll")
            sources = json.loads(daemon.request("/api/v1/sources")[2])["sources"]
            source = next(one for one in sources if one["name"] == "cpu_counters")
            self.assertEqual(source["state"], "not present")
            self.assertIn("counters: [{set: memory}]", source["error"])
            self.assertNotIn("memstat_cpu_event", daemon.scrape().decode())


if __name__ == "__main__":
    if not sys.platform.startswith("linux"):
        print("counters of CPUs are Linux's")
        sys.exit(77)
    unittest.main()
