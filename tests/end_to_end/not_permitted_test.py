#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd with the capabilities of the systemd unit, and with those that events.conf adds: not permitted is not down."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import page as pages  # noqa: E402
import program  # noqa: E402
from ctl import MEMSTATCTL  # noqa: E402

UNIT = os.path.join(program.SOURCE_DIR, "rc.d", "memstatd.service")
DROP_IN = os.path.join(program.SOURCE_DIR, "rc.d", "memstatd.service.d", "events.conf")
NEEDS = "CAP_BPF,CAP_PERFMON"
LOG_NEEDS = "CAP_SYSLOG"  # of linux_kernel_log, where kernel.dmesg_restrict is 1


def granted(*files):
    """All capabilities that AmbientCapabilities= names in these files of a unit."""
    lines = [line for path in files for line in open_lines(path) if line.startswith("AmbientCapabilities=")]
    return [name for line in lines for name in line.strip().split("=")[1].split()]


def open_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.readlines()


def as_account(capabilities, *command):
    """The command as nobody with these capabilities and no others, as systemd starts it."""
    names = ",".join("+" + name.removeprefix("CAP_").lower() for name in capabilities)
    sets = [f"--{kind}={names}" for kind in ("inh-caps", "ambient-caps")] if names else []
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *sets, *command]


@program.needs_root
@program.needs_slabinfo
@unittest.skipUnless(shutil.which("setpriv"), "setpriv is not installed (Debian package util-linux)")
class NotPermitted(unittest.TestCase):
    def once(self, capabilities):
        """(page, log) of one poll."""
        with program.copy_for_others(program.MEMSTATD) as copy:
            done = subprocess.run(as_account(capabilities, copy, "--once"), capture_output=True, text=True, cwd="/",
                                  timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        read, problems = pages.check(done.stdout.encode())
        self.assertEqual(problems, [])
        return read, done.stderr

    def down(self, page):
        return sorted(sample.labels["source"] for sample in page.series("memstat_source_up") if sample.value == 0)

    def not_permitted(self, page):
        return {sample.labels["source"]: sample.labels["needs"] for sample in page.series("memstat_source_not_permitted")}

    def test_with_the_units_privileges_no_source_is_down_and_refused_ones_name_what_they_need(self):
        self.assertEqual(granted(UNIT), ["CAP_DAC_READ_SEARCH"])
        page, log = self.once(granted(UNIT))
        self.assertEqual(self.down(page), [])
        refused = self.not_permitted(page)
        if not refused:
            self.skipTest("this kernel or this build has no programs on events")
        self.assertEqual(set(refused.values()) - {LOG_NEEDS}, {NEEDS})
        for source, needs in refused.items():
            self.assertEqual(log.count(f"info: {source}: not permitted, needs {needs}: "), 1, log)
            self.assertFalse(page.series("memstat_source_up", source=source))
        self.assertNotIn(" error: ", log)
        self.assertEqual(page.text("memstat_source_up", source="linux_slabinfo"), "1")
        self.assertTrue(page.series("memstat_type_bytes", allocator="slab", type="dentry"))

    def test_with_what_the_drop_in_adds_nothing_is_refused(self):
        of_root = self.not_permitted(pages.check(program.run("--once").stdout)[0])
        page, log = self.once(granted(UNIT, DROP_IN))
        refused = {source: needs for source, needs in self.not_permitted(page).items() if needs != LOG_NEEDS}
        self.assertEqual(refused, of_root, log)
        self.assertEqual(self.down(page), [])
        if NEEDS in of_root.values():
            self.skipTest("root may not load these programs here either")

    def test_a_running_memstatd_is_reported_everywhere_and_queried_by_doctor(self):
        with program.temporary_directory() as directory, program.copy_for_others(program.MEMSTATD) as copy:
            os.chmod(directory, 0o755)
            starter = os.path.join(directory, "start")
            with open(starter, "w", encoding="utf-8") as file:
                words = " ".join(as_account(granted(UNIT), copy))
                file.write(f'#!/bin/sh\nexec {words} "$@"\n')
            os.chmod(starter, 0o755)
            before, program.MEMSTATD = program.MEMSTATD, starter
            try:
                with program.Daemon() as daemon:
                    page = daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
                    refused = self.not_permitted(page)
                    if not refused:
                        self.skipTest("this kernel or this build has no programs on events")
                    sources = {source["name"]: source for source in json.loads(daemon.request("/api/v1/sources")[2])["sources"]}
                    for source, needs in refused.items():
                        self.assertEqual((sources[source]["state"], sources[source]["needs"]), ("not permitted", needs))
                    self.assertIn(f"not permitted, needs {NEEDS}", daemon.request("/plain")[2].decode())
                    self.assertEqual(daemon.request("/-/ready")[0], 200)
                    done = subprocess.run([MEMSTATCTL, "doctor", "--from", f"http://127.0.0.1:{daemon.port}"], capture_output=True, text=True,
                                          timeout=program.PATIENCE, check=False)
                    self.assertIn("\naccount: user 65534 (nobody) with CAP_DAC_READ_SEARCH when it opened the kernel's files, "
                                  "now user 65534 (nobody) without capabilities\n", done.stdout)
                    for source, needs in refused.items():
                        self.assertRegex(done.stdout, rf"(?m)^{source} +not permitted +- +(varies|[0-9]+) +needs {needs}: ")
                    self.assertRegex(done.stdout, r"(?m)^  .*: it needs CAP_BPF,CAP_PERFMON when it starts: type as root .* cp .*/events\.conf")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
            finally:
                program.MEMSTATD = before


if __name__ == "__main__":
    program.main()
