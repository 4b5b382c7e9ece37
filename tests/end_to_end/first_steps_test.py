#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Typical mistakes of new users, and the messages of memstatd and memstatctl: what is wrong, why, and what to do."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import program  # noqa: E402

SLABS = {"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry"))}
# Flags that only memstatd has.
FLAGS_OF_MEMSTATD = re.compile(r"--(?:replay|once|config|check-config|listen|record|textfile|tier|list-|no-sandbox|polls)")


class FirstSteps(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.capture = captures.write_capture(self.path("capture"), [SLABS])

    def path(self, name):
        return os.path.join(self.directory, name)

    def assert_refused(self, done, status, *words):
        """One line on standard error that contains the words, and nothing else."""
        self.assertEqual((done.returncode, done.stdout), (status, b""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_text_file_that_is_a_directory(self):
        os.mkdir(self.path("directory"))
        captures.write_file(self.path("memstatd.yaml"), f"textfile: {self.path('directory')}\n")
        hint = f"give the path of a file in it, such as {self.path('directory')}/memstat.prom"
        for more in (["--once"], []):
            self.assert_refused(program.run("--textfile", self.path("directory"), "--replay", self.capture, *more), 1, hint)
        for how in (["--textfile", self.path("directory")], ["--config", self.path("memstatd.yaml")]):
            self.assert_refused(program.run(*how, "--check-config"), 2, "textfile: ", hint)

    def test_a_poll_must_be_a_number(self):
        for reference in (f"{self.capture}@x", f"{self.capture}@", f"{self.capture}@-1"):
            done = ctl.run("types", "--from", reference)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"memstatctl: {reference}: ", done.stderr)
            self.assertIn("after its last @ write the number of a poll, from 0, or leave both out", done.stderr)
            self.assert_refused(program.run("--once", "--replay", reference), 1, reference, "write the number of a poll")
        done = ctl.run("types", "--from", f"{self.capture}@7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no poll 7; its polls are 0 to 0", done.stderr)

    def test_the_same_address_twice(self):
        address = "127.0.0.1:18947"
        self.assert_refused(program.run("--listen", address, "--listen", address, "--replay", self.capture), 2,
                            f"--listen: {address} is given twice; give it once")

    @unittest.skipUnless(os.path.exists("/dev/full"), "this system has no /dev/full")
    def test_output_that_cannot_be_written(self):
        for arguments in (["--list-metrics"], ["--list-sources"], ["--once", "--replay", self.capture], ["--check-config"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([program.MEMSTATD, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                      stdin=subprocess.DEVNULL, timeout=program.PATIENCE, check=False)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr, r"\Amemstatd: cannot write (the page )?to standard output: No space left on device\n\Z")

    def test_memstatctl_calls_itself_memstatctl_and_names_no_flag_of_memstatd(self):
        os.mkfifo(self.path("pipe"))
        os.mkdir(self.path("empty"))
        captures.write_file(self.path("garbage.tar.zst"), b"garbage")
        captures.write_file(self.path("garbage.tar"), b"garbage" * 1000)
        wrong = [["slabs"], ["types", "--nope"], ["types", "--from"], ["malloc", "--from", self.capture]]
        wrong += [["types", "--from", self.path(name)] for name in ("absent", "pipe", "empty", "garbage.tar.zst", "garbage.tar",
                                                                    "capture@x", "capture@9")]
        for arguments in wrong:
            done = ctl.run(*arguments)
            self.assertIn(done.returncode, (1, 2), arguments)
            self.assertTrue(done.stderr.startswith("memstatctl: "), done.stderr)
            self.assertNotRegex(done.stderr, FLAGS_OF_MEMSTATD)
            self.assertNotRegex(done.stderr.replace("memstatctl", ""), "memstatd")
        done = ctl.run("types", "--from", self.capture, environment={"MEMSTAT_CAPTURE_MAX": "much"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("MEMSTAT_CAPTURE_MAX", done.stderr)


class Said(unittest.TestCase):
    """What memstatd logs at start, and how often."""

    def test_an_address_is_logged_once_it_is_served_and_warnings_once(self):
        with program.temporary_directory() as directory:
            capture = captures.write_capture(os.path.join(directory, "capture"), [SLABS, {"fs/proc/slabinfo": b"garbage"}])
            with program.Daemon("--replay", capture, "--replay-speed", "50", "--replay-loop") as daemon:
                self.assertEqual(daemon.request("/-/healthy")[0], 200, "the address was named before it is served")
                daemon.wait_page(lambda now: now.number("memstat_poll_duration_seconds_count") > 20, "ten rounds")
                log = daemon.log
            self.assertEqual(log.count("listening on"), 1, log)
            for line in re.findall(r" (?:info|warning): (.*)", log):
                if "linux_slabinfo" not in line:  # which is up and down alternately
                    self.assertEqual(log.count(line), 1, log)

    @program.needs_root
    def test_file_systems_that_are_not_mounted_are_named_with_once_and_by_the_service(self):
        def inside(script, *arguments):
            return subprocess.run(["unshare", "--mount", "sh", "-c", f"{script} && exec \"$@\"", "sh", program.MEMSTATD, *arguments],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=program.PATIENCE, check=False)
        try:
            probe = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/sys"], capture_output=True, check=False)
        except FileNotFoundError:
            self.skipTest("no unshare, which gives a mount namespace")
        if probe.returncode != 0:
            self.skipTest(f"no mount namespace here: {probe.stderr.decode().strip()}")
        for arguments in (["--once"], ["--polls", "1", "--interval", "100ms", "--listen", "127.0.0.1:0", "--log-level", "debug"]):
            done = inside("mount -t tmpfs none /sys", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("sysfs is not mounted at /sys, where figures of "), 1, done.stderr)
            self.assertIn("linux_slab_sysfs", done.stderr)
            self.assertIn("mount -t sysfs sysfs /sys", done.stderr)
            done = inside("mount -t tmpfs none /sys && mkdir -p /sys/kernel/debug", *arguments)
            self.assertEqual(done.stderr.count("debugfs is not mounted at /sys/kernel/debug, where figures of "), 1, done.stderr)
            self.assertIn("mount -t debugfs debugfs /sys/kernel/debug", done.stderr)
            done = inside("mount -t tmpfs none /sys && mkdir -p /sys/kernel/debug/zswap", *arguments)
            self.assertNotIn("not mounted", done.stderr)


if __name__ == "__main__":
    program.main()
