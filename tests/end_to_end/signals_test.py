#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan tsan
"""A running memstatd: reloads, stopping, remaining privileges, and a source that hangs."""
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import preload  # noqa: E402
import program  # noqa: E402

RELOADED = "memstat_config_last_reload_successful"
READS = "memstat_source_read_seconds_count"


def is_full(page):
    return bool(page.series("memstat_type_peak_bytes"))


class WithReplay(unittest.TestCase):
    """A memstatd with a configuration that replays three polls in a loop, a tenth of a second apart."""

    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.config = os.path.join(self.directory, "memstatd.yaml")
        self.capture = captures.write_capture(os.path.join(self.directory, "capture"), [
            {"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry", active), captures.slabinfo_line("inode"))}
            for active in (10, 11, 12)])

    def configure(self, text):
        with open(self.config, "w", encoding="utf-8") as file:  # in place: the same file, as an editor may leave it
            file.write(text)

    def daemon(self, *more):
        return program.Daemon("--config", self.config, "--replay", self.capture, "--replay-speed", "100", "--replay-loop", *more)


class Reload(WithReplay):

    def test_hangup_with_a_bad_configuration_changes_nothing_and_reports_the_errors(self):
        self.configure("tier: full\n")
        with self.daemon() as daemon:
            daemon.wait_page(is_full, "a poll")
            self.configure("log: {level: info}\npoll:\n  interval: soon\ntier: minimal\n")
            daemon.process.send_signal(signal.SIGHUP)
            now = daemon.wait_page(lambda now: now.number(RELOADED) == 0, "the failed reload")
            daemon.wait_log(re.escape(self.config) + r":3:13: poll\.interval: ")
            self.assertTrue(is_full(now))
            reads = now.number(READS, source="linux_slabinfo")
            self.assertTrue(is_full(daemon.wait_page(lambda now: now.number(READS, source="linux_slabinfo") > reads + 2, "more polls")))
            os.remove(self.config)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("yaml: cannot open the configuration")
            self.configure("tier: minimal\n")
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_page(lambda now: now.number(RELOADED) == 1, "the good reload")
            daemon.wait_page(lambda now: not is_full(now) and now.series("memstat_type_bytes"), "the tier minimal")

    @program.needs_slabinfo
    def test_a_new_interval_is_in_force_at_once(self):
        self.configure("poll: {interval: 1h}\n")
        with program.Daemon("--config", self.config) as daemon:
            daemon.wait_page(lambda now: now.number(READS, source="linux_memory") == 1, "the first poll")
            self.configure("poll: {interval: 100ms}\n")
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_page(lambda now: now.number(READS, source="linux_memory") > 3, "more polls")

    def test_two_hundred_hangups_during_scrapes(self):
        self.configure("tier: minimal\n")
        with self.daemon() as daemon:
            daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")
            is_over = threading.Event()
            failures, scrapes = [], []

            def scrape():
                try:
                    while not is_over.is_set():
                        daemon.page()
                        scrapes.append(1)
                except Exception as error:  # the test must report any exception
                    failures.append(error)
            threads = [threading.Thread(target=scrape) for _ in range(3)]
            for thread in threads:
                thread.start()
            try:
                for count in range(200):
                    self.configure(("tier: full\n", "tier: minimal\n", "tier: [\n")[count % 3])
                    daemon.process.send_signal(signal.SIGHUP)
                    if count % 20 == 0:  # so that they are not merged into one
                        reloads = len(re.findall("configuration was (?:not )?reloaded", daemon.log))
                        program.wait_until(lambda: len(re.findall("configuration was (?:not )?reloaded", daemon.log)) > reloads,
                                           "a reload")
            finally:
                is_over.set()
                for thread in threads:
                    thread.join()
            self.assertEqual(failures, [])
            self.assertGreater(len(scrapes), 10)
            self.configure("tier: full\n")
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_page(lambda now: is_full(now) and now.number(RELOADED) == 1, "the last configuration")

    @program.needs_root
    def test_a_configuration_that_only_root_may_read_is_read_again_after_the_drop(self):
        self.configure("tier: minimal\n")
        os.chmod(self.config, 0o600)
        with self.daemon() as daemon:
            daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")
            self.configure("tier: full\n")
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_page(is_full, "the tier full")


class Stop(WithReplay):
    def assert_stops(self, daemon, how=signal.SIGTERM):
        self.assertEqual((daemon.terminate(how), daemon.printed), (0, ""), daemon.log)
        self.assertNotIn(program.GAVE_UP, daemon.log)
        self.assertIn("stopped", daemon.log)

    def test_it_stops_at_once_with_clients_that_do_nothing_half_ask_and_do_not_read(self):
        self.configure("tier: full\n")
        with self.daemon() as daemon:
            daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")
            clients = []
            for sent in (b"", b"G", b"GET /metrics HTTP/1.1\r\nHost: local",
                         b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n") * 3:
                client = socket.socket()
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                client.connect((daemon.host, daemon.port))
                client.sendall(sent)
                clients.append(client)
            daemon.page()
            self.assert_stops(daemon)
            for client in clients:
                client.close()


@program.needs_slabinfo
class SourceThatHangs(unittest.TestCase):
    def test_it_is_down_with_reason_timeout_until_it_answers_and_does_not_keep_memstatd_from_stopping(self):
        with program.temporary_directory() as directory:
            hang = preload.Hang(directory, "hanging_read.c")
            config = os.path.join(directory, "memstatd.yaml")
            # The iterator over slab caches, which key events turns on, would still provide their figures.
            captures.write_file(config, "poll: {interval: 100ms, timeout: 2s}\nevents: {mode: off}\n")
            with program.Daemon("--config", config, environment=hang.environment) as daemon:
                daemon.wait_page(lambda now: now.number("memstat_source_up", source="linux_slabinfo") == 1, "a poll")
                for turn in range(2):
                    hang.turn(True)
                    # The metrics of memstatd itself are current, those of types are from the last poll: wait for both. On a busy
                    # machine another source may be late in one poll, but no other hangs.
                    now = daemon.wait_page(lambda now: now.number("memstat_source_up", source="linux_slabinfo") == 0 and
                                           now.number("memstat_source_up", source="linux_vmalloc") == 1 and
                                           not now.series("memstat_type_bytes", allocator="slab"), "this source alone to be down")
                    counted = now.number("memstat_source_errors_total", source="linux_slabinfo", reason="timeout")
                    self.assertGreaterEqual(counted, 1)
                    daemon.wait_log(r"error: linux_slabinfo: /proc/slabinfo: no answer within 2000 ms", turn + 1)
                    # It is served as before, and continues to count.
                    daemon.wait_page(lambda now: now.number("memstat_source_errors_total", source="linux_slabinfo",
                                                            reason="timeout") > counted + 2,
                                     "more polls")
                    self.assertEqual(daemon.request("/-/healthy")[0], 200)
                    if turn == 0:
                        hang.turn(False)
                        daemon.wait_page(lambda now: now.number("memstat_source_up", source="linux_slabinfo") == 1 and
                                         len(now.series("memstat_type_bytes", allocator="slab")) > 20, "the source to be up again")
                        daemon.wait_log("linux_slabinfo: is up again")
                self.assertEqual(daemon.terminate(), 0, daemon.log)
                self.assertNotIn(program.GAVE_UP, daemon.log)


class Privileges(unittest.TestCase):
    @staticmethod
    def statuses(process):
        """What /proc says of each thread: {key: value}."""
        tasks = f"/proc/{process.pid}/task"
        return [program.status_of(thread, tasks) for thread in os.listdir(tasks)]

    def check(self, daemon):
        account = program.account()
        threads = self.statuses(daemon.process)
        self.assertGreater(len(threads), 2)
        for status in threads:
            self.assertEqual(status["Uid"].split(), [str(account.pw_uid)] * 4)
            self.assertEqual(status["Gid"].split(), [str(account.pw_gid)] * 4)
            self.assertEqual(status["Groups"].split(), [])
            for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                self.assertEqual(int(status[capabilities], 16), 0, capabilities)
            self.assertEqual(status["NoNewPrivs"], "1")
            if not program.SANITIZER:
                self.assertEqual(status["Seccomp"], "2")

    @program.needs_root
    @program.needs_slabinfo
    def test_nothing_is_left_of_root_and_the_slab_caches_are_read_on(self):
        with program.Daemon("--interval", "100ms") as daemon:
            daemon.wait_page(lambda now: now.number(READS, source="linux_memory") > 2, "polls after the drop")
            self.check(daemon)
            # New objects are seen: those of pipes and files, so some cache must grow.
            pipes = []
            try:
                before = sum(int(sample.text) for sample in daemon.page().series("memstat_type_objects", allocator="slab"))

                def has_grown(now):
                    pipes.extend(os.pipe() for _ in range(20) if len(pipes) < 400)
                    return (sum(int(sample.text) for sample in now.series("memstat_type_objects", allocator="slab")) != before and
                            any(int(sample.text) for sample in now.series("memstat_type_delta_bytes", allocator="slab")))
                now = daemon.wait_page(has_grown, "other figures")
            finally:
                for pair in pipes:
                    for descriptor in pair:
                        os.close(descriptor)
            self.assertTrue(program.has_slab_caches(now))
            self.assertFalse(now.series("memstat_source_errors_total"))
            if program.SANITIZER:
                print("the seccomp filter was not checked: memstatd has none under a sanitizer")

    @program.needs_root
    def test_a_missing_account_is_reported_and_nothing_starts(self):
        with program.temporary_directory() as directory:
            captures.write_capture(directory, [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("a"))}])
            config = captures.write_file(os.path.join(directory, "memstatd.yaml"), "user: no-such-account\n")
            done = program.run("--config", config, "--replay", directory, "--listen", "127.0.0.1:0")
            self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
            self.assertIn("no-such-account", done.stderr)
            self.assertNotIn("listening", done.stderr)

    @program.needs_root
    def test_a_normal_user_learns_what_is_missing_and_gets_the_rest(self):
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryFile() as log, program.copy_for_others(program.MEMSTATD) as copy:
            process = subprocess.Popen([copy, "--once"], user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[],
                                       cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
            content = process.communicate(timeout=program.PATIENCE)[0]
            log.seek(0)
            said = log.read().decode()
        # Sources that everyone may read, such as control groups, are up.
        self.assertEqual(process.returncode, 0 if re.search(rb'^memstat_source_up\{.*\} 1$', content, re.MULTILINE) else 1)
        if program.can_read_slabinfo():
            self.assertRegex(said, "/proc/slabinfo: .*Permission denied")
            self.assertIn("start this program as root", said)
            self.assertIn(b'memstat_source_up{source="linux_slabinfo"} 0\n', content)
            self.assertIn(b'reason="permission"', content)


if __name__ == "__main__":
    program.main()
