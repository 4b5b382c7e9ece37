#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: a minute of growth on this kernel
# Seconds: 60
"""A program in a container rewrites a small file again and again under a new name. Its heap and resident memory stay constant; the kernel
keeps a directory entry (dentry) for each old name and charges it to the container, which nears its limit. Here this takes a minute
instead of weeks, in a control group of this machine. The page, Prometheus with the shipped rules (with windows shortened by the mixin's
configuration), and memstatctl must name the cache, the group, the program, the call, and the time when the limit is reached. Prints what
an operator reads."""
import contextlib
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import control_group  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
from ctl import MEMSTATCTL  # noqa: E402

LIMIT = 48 << 20  # B
PACE = 4000  # files a second: some 0.8 MB of dentries
COMMAND = "state-keeper"
WINDOW = 8  # s, which stand for the hour of the shipped rule
PROGRAM = f"""#!{sys.executable}
import os, random, sys, time
directory, pace, before = sys.argv[1], {PACE}, None
start = time.monotonic()
for count in range(10 ** 9):
    path = os.path.join(directory, "state-%016x" % random.getrandbits(64))
    with open(path, "wb", buffering=0) as file:
        file.write(b"state")
    if before:
        os.unlink(before)
    before = path
    ahead = start + count / pace - time.monotonic()
    if ahead > 0.02:
        time.sleep(ahead)
"""
MIXIN = f"""((import 'mixin/mixin.libsonnet') + {{_config+:: {{interval: '1s', slowInterval: '1s', groupKernelGrowthSeconds: {WINDOW},
groupKernelGrowthWait: '2s'}}}}).prometheusAlerts"""
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: memstatd
    static_configs: [{{targets: ["{memstatd}"], labels: {{instance: "host1:8947"}}}}]
"""
ALERT = "MemstatControlGroupKernelGrowth"


def resident(process):
    """{what: KiB} of the program's memory."""
    status = program.status_of(process.pid)
    return {name: int(status[name].split()[0]) for name in ("VmRSS", "VmData")}


def anonymous_of(process):
    """Bytes of the program's own memory."""
    return int(program.status_of(process.pid)["RssAnon"].split()[0]) << 10


def keeps_names_of_removed_files(directory):
    def negative():
        with open("/proc/sys/fs/dentry-state", encoding="ascii") as file:
            return int(file.read().split()[4])
    before = negative()
    for number in range(2000):
        path = os.path.join(directory, f"probe-{number}")
        with open(path, "wb"):
            pass
        os.unlink(path)
    return negative() - before > 1000


def seconds_of(duration):
    """Of a duration as Prometheus' templates have it: "1m 23s"."""
    return sum(float(number) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[unit] for number, unit in re.findall(r"([\d.]+)([dhms])", duration))


@program.needs_root
@program.needs_slabinfo
@prometheus_server.needs_prometheus
class DentryStory(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.group = self.enterContext(control_group.ControlGroup(f"memstat-story-{os.getpid()}", LIMIT))
        # The build is on a disk's file system; that of /tmp may not cache such names.
        self.files = os.path.join(os.environ["BUILD_DIR"], f"dentry_story_{os.getpid()}")
        os.mkdir(self.files)
        self.addCleanup(subprocess.run, ["rm", "-rf", self.files], check=False)
        if not keeps_names_of_removed_files(self.files):
            self.skipTest(f"the file system of {self.files} keeps no entries of removed files")

    def start(self):
        path = captures.write_file(os.path.join(self.directory, COMMAND), PROGRAM)
        os.chmod(path, 0o755)

        def enter():
            self.group.enter()
            with contextlib.suppress(PermissionError):
                os.nice(-20)  # it keeps its pace on a busy machine, too: the alert computes the time until the limit from it
        process = subprocess.Popen([path, self.files], preexec_fn=enter)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def rules(self):
        path = os.path.join(self.directory, "alerts.json")
        dashboards = os.path.join(program.SOURCE_DIR, "dashboards")
        done = subprocess.run(["jsonnet", "-J", dashboards, "-e", MIXIN], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        captures.write_file(path, done.stdout)  # JSON is YAML
        return path

    def test_all_that_an_operator_needs(self):
        path = os.path.join(self.directory, "memstatd.yaml")
        captures.write_file(path, "poll: {interval: 500ms}\nevents: {mode: full, budget: 50%}\n")
        with program.Daemon("--config", path) as daemon, \
                prometheus_server.Prometheus(self.directory, None, config=CONFIG.format(
                    rules=self.rules(), memstatd=f"{daemon.host}:{daemon.port}")) as server:
            first = daemon.wait_page(lambda page: page.series("memstat_memcg_kernel_bytes"), "a page")
            self.counts_origins = bool(first.series("memstat_events_counted_ratio", source="linux_call_sites"))
            process = self.start()
            # Until its own memory is constant and has been read: a group's parts are read at every fourth poll.
            anonymous = {"name": "memstat_memcg_anonymous_bytes", "group": self.group.name}
            start = daemon.wait_page(lambda page: page.series(**anonymous) and page.number(**anonymous) > 0.8 * anonymous_of(process), "the program's memory")
            before = resident(process)
            alert = program.wait_until(lambda: self.firing(server), server.log)
            begin = time.monotonic()
            print("\nwhat the alert says:\n" + alert["annotations"]["description"], flush=True)
            self.check_memstatctl()
            self.check_origins(f"http://{daemon.host}:{daemon.port}")
            self.check_page(start, daemon.page())
            left = seconds_of(self.check_alert(alert))
            program.wait_until(lambda: self.group.limit_hits() > 0 or process.poll() is not None, lambda: f"the limit: {alert}", 2 * program.PATIENCE)
            took = time.monotonic() - begin
            # The kernel now reclaims what it can; clusters, which kill by usage, do not wait for that.
            after = resident(process)
            process.kill()
            print(f"the limit was reached {took:.0f} s later; VmRSS and VmData of the program {before} KiB, then {after} KiB", flush=True)
        self.assertLess(0.4, left / took, "the limit is reached much later than the alert said")
        self.assertLess(left / took, 2.5, "the limit is reached much earlier than the alert said")
        for name, value in after.items():
            self.assertLess(abs(value - before[name]), 512, f"{name} of the program, KiB")

    def firing(self, server):
        # During a build another cache of the machine may grow more for some seconds.
        return next((alert for alert in server.api("alerts")["alerts"] if alert["state"] == "firing" and alert["labels"]["alertname"] == ALERT
                     and alert["labels"]["group"] == self.group.name and " dentry grew most" in alert["annotations"]["description"]
                     and (not self.counts_origins or COMMAND in alert["annotations"]["description"])), None)

    def check_alert(self, alert):
        """The time until the limit that it reports."""
        text = alert["annotations"]["description"]
        self.assertRegex(text, rf"^host1:8947: memory that the kernel uses for control group {self.group.name} grew by [\d.]+[kM]iB since .*"
                               r" while its programs did not grow\.")
        if self.group.version == 2:  # version 1 does not report it
            self.assertRegex(text, r" Of all that it took [\d.]+[kM]iB can be reclaimed\.")
        self.assertRegex(text, r" Of the slab caches of the whole machine dentry grew most in that time, by [\d.]+[kM]iB\.")
        if self.counts_origins:
            self.assertRegex(text, rf" In this group {COMMAND} allocated most of it, [\d.]+[kM]iB, through __d_alloc\.")
        self.assertIn(f"`memstatctl stacks --control-group '{self.group.name}' --type dentry`", text)
        section = subprocess.run([MEMSTATCTL, "explain", ALERT], capture_output=True, text=True, timeout=program.PATIENCE, check=True).stdout
        for word in ("dentry", "stacks --control-group", "under a fixed name"):
            self.assertIn(word, section)
        return re.search(r" At this rate the group will reach its limit in ([^.]+(?:\.\d+)?[^.]*)\. ", text).group(1)

    def check_memstatctl(self):
        """Runs what the alert recommends, for some seconds of this minute."""
        command = ["stacks", "--control-group", self.group.name, "--type", "dentry", "--for", "6", "--older", "1s"]
        done = subprocess.run([MEMSTATCTL, *command], capture_output=True, text=True, timeout=program.PATIENCE, check=False)
        if done.returncode == 1 and re.search("No such|Operation not permitted|Permission denied|built without|only root", done.stderr):
            print("memstatctl stacks cannot watch this kernel: " + done.stderr.strip())
            return
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        largest = done.stdout.split("\n\n")[1]
        print("\nmemstatctl " + " ".join(command) + ":\n" + largest, flush=True)
        found = re.match(rf"cached: (\d+) blocks, [\d.]+M, of dentry; .*; by {COMMAND} \(\d+\) in control group {self.group.name}\n", largest)
        self.assertTrue(found, largest)
        self.assertGreater(int(found.group(1)), PACE)
        self.assertRegex(largest, r"\n    \w*d_alloc\w*\n")
        self.assertRegex(largest, r"\n    \w*open\w*\n")

    def check_origins(self, url):
        """The part that needs no root: memstatd counts who allocates from the cache."""
        if not self.counts_origins:
            return
        command = [MEMSTATCTL, "origins", "dentry", "--from", url, "--seconds", "2"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=program.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        print("\nmemstatctl origins dentry:\n" + done.stdout, flush=True)
        self.assertRegex(done.stdout, rf"(?m)^dentry *  {self.group.name} *  {COMMAND} *  __d_alloc ")

    def check_page(self, start, now):
        def grown(name, **labels):
            return now.number(name, **labels) - start.number(name, **labels)
        kernel = grown("memstat_memcg_kernel_bytes", group=self.group.name)
        self.assertGreater(kernel, 3 << 20)
        self.assertGreater(grown("memstat_type_bytes", allocator="slab", type="dentry"), 0.7 * kernel)
        self.assertLess(grown("memstat_memcg_anonymous_bytes", group=self.group.name), 1 << 20)
        self.assertEqual(now.number("memstat_type_limit_bytes", allocator="memcg", type=self.group.name), LIMIT)


if __name__ == "__main__":
    program.main()
