#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The front of the HTTP server, as clients find it: under attack, while no file can be opened, and over time."""
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402

ATTACK = os.path.join(program.SOURCE_DIR, "tests", "bench", "front_attack.py")
CONNECTIONS = 700  # more than one address may have
SCRAPES = 30


@contextlib.contextmanager
def replaying_daemon(folder):
    capture = captures.write_capture(os.path.join(folder, "capture"),
                                     [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry", 10))}])
    with program.Daemon("--replay", capture) as daemon:
        daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")
        yield daemon


class UnderAttack(unittest.TestCase):
    """What tests/bench/front_attack.py measures, in small: every scrape is answered while hundreds of connections from the
    scraper's own address do what they can."""

    def attack(self, kind):
        with program.temporary_folder() as folder, replaying_daemon(folder) as daemon:
            attacker = subprocess.Popen([sys.executable, "-B", ATTACK, "--attack", kind, str(daemon.port), str(CONNECTIONS), "127.0.0.1",
                                         str(program.PATIENCE), "--tell"], stdout=subprocess.PIPE, text=True)
            try:
                # It says when it has made all its connections.
                self.assertIn("made", json.loads(attacker.stdout.readline()))
                for _ in range(SCRAPES):
                    daemon.scrape()
                self.assertIsNone(attacker.poll(), "the attack ended early")
            finally:
                attacker.kill()
                attacker.communicate()

    def test_stalled_connections(self):
        self.attack("stalled")

    def test_half_headers(self):
        self.attack("half-header")

    def test_dripping_headers(self):
        self.attack("drip")

    def test_slow_readers(self):
        self.attack("slow-read")

    def test_resets(self):
        self.attack("resets")


class KeptConnection(unittest.TestCase):
    def test_it_serves_many_scrapes(self):
        with program.temporary_folder() as folder, replaying_daemon(folder) as daemon:
            connection = http.client.HTTPConnection(daemon.host, daemon.port, timeout=program.PATIENCE)
            connection.connect()
            one = connection.sock
            for _ in range(20):
                connection.request("GET", "/metrics")
                self.assertEqual(connection.getresponse().read()[:1], b"#")
                self.assertIs(connection.sock, one, "it was not kept")
            connection.close()


class FullTable:
    """Makes what opens a file fail with ENFILE in a memstatd started with `environment`, and no longer."""

    def __init__(self, folder):
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-14")
        if not compiler:
            raise unittest.SkipTest("no C compiler, which makes the table full")
        library = os.path.join(folder, "full_file_table.so")
        source = os.path.join(program.SOURCE_DIR, "tests", "support", "full_file_table.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self.switch = os.path.join(folder, "full")
        captures.write_file(self.switch, bytes(4096))
        # A sanitizer's library must come first, or it refuses to work.
        linked = subprocess.run(["ldd", program.MEMSTATD], stdout=subprocess.PIPE, text=True, check=False).stdout
        sanitizers = re.findall(r"=> (\S*/lib[at]san\.so\S*)", linked)
        self.environment = {"LD_PRELOAD": ":".join([*sanitizers, library]), "MEMSTAT_TEST_FULL": self.switch}

    def turn(self, on):
        with open(self.switch, "r+b") as file:
            file.write(struct.pack("I", on))


def down(now):
    return {sample.labels["source"] for sample in now.series("memstat_source_up") if sample.text == "0"}


def sources(now):
    return {sample.labels["source"] for sample in now.series("memstat_source_up")}


class FileTableFull(unittest.TestCase):
    def test_the_poll_that_sees_it_full_counts_a_hit(self):
        with program.temporary_folder() as folder:
            capture = captures.write_capture(folder, [{"fs/proc/sys/fs/file-nr": f"{count}\t0\t1000\n"} for count in
                                                      (900, 999, 1000, 1000, 990, 1000)])
            hits = []
            for polls in range(1, 7):
                now, problems = page.check(program.run("--once", "--replay", capture, "--polls", str(polls)).stdout)
                self.assertEqual(problems, [])
                hits.append(now.number("memstat_type_limit_hits_total", allocator="table", type="files"))
            self.assertEqual(hits, [0, 0, 1, 1, 1, 2])
            self.assertEqual(now.number("memstat_type_limit_used_ratio", allocator="table", type="files"), 1)

    def test_memstatd_answers_and_sources_that_cannot_open_their_files_have_failed(self):
        with program.temporary_folder() as folder:
            table = FullTable(folder)
            config = os.path.join(folder, "memstatd.yaml")
            captures.write_file(config, "poll: {interval: 100ms}\n")
            with program.Daemon("--config", config, environment=table.environment) as daemon:
                before = daemon.wait_page(lambda now: now.series("memstat_source_up"), "a poll")
                kept = http.client.HTTPConnection(daemon.host, daemon.port, timeout=program.PATIENCE)
                kept.request("GET", "/metrics")
                kept.getresponse().read()
                one = kept.sock
                table.turn(True)
                for _ in range(50):  # more than there are spare files
                    self.assertEqual(daemon.request("/metrics")[0], 200)
                kept.request("GET", "/metrics")
                self.assertEqual(kept.getresponse().status, 200)
                self.assertIs(kept.sock, one)
                # With many connections that do nothing, too: they go for those that ask.
                idle = [socket.create_connection((daemon.host, daemon.port)) for _ in range(60)]
                now = daemon.page()
                for connection in idle:
                    connection.close()
                self.assertEqual(sources(now), sources(before), "a source that the kernel lacks, or has, is taken for another")
                table.turn(False)
                daemon.wait_page(lambda now: down(now) == down(before), "the sources to be up again")
                kept.close()

    def test_sources_that_cannot_open_a_file_are_down_and_what_the_kernel_lacks_is_not_present(self):
        # The processes' files are opened at each poll, while most others are kept open.
        with program.temporary_folder() as folder:
            table = FullTable(folder)
            config = os.path.join(folder, "memstatd.yaml")
            captures.write_file(config, "poll: {interval: 100ms}\nsources: {linux_process: {enabled: on, interval: 100ms}}\n")
            with program.Daemon("--config", config, environment=table.environment) as daemon:
                def states():
                    found = json.loads(daemon.request("/api/v1/sources")[2])["sources"]
                    return {source["name"]: (source["state"], source.get("error", "")) for source in found}

                daemon.wait_page(lambda now: "linux_process" in sources(now) - down(now), "the processes")
                before = states()
                lacking = {name for name, (state, _) in before.items() if state == "not present"}
                table.turn(2)
                now = daemon.wait_page(lambda now: "linux_process" in down(now), "the processes' failure")
                during = states()
                self.assertEqual(during["linux_process"][0], "down")
                self.assertIn("Too many open files in system", during["linux_process"][1])
                self.assertIn("fs.file-max", during["linux_process"][1])
                self.assertGreater(now.number("memstat_source_errors_total", source="linux_process", reason="io"), 0)
                self.assertEqual({name for name, (state, _) in during.items() if state == "not present"}, lacking)
                self.assertFalse(now.series("memstat_type_bytes", allocator="process"), "figures of a source that is down")
                # What is kept open is read on, so the table that is full is on the page.
                self.assertTrue(now.series("memstat_type_limit_used_ratio", allocator="table", type="files"))
                table.turn(0)
                daemon.wait_page(lambda now: "linux_process" in sources(now) - down(now), "the processes again")
                self.assertEqual({name: state for name, (state, _) in states().items()},
                                 {name: state for name, (state, _) in before.items()})


if __name__ == "__main__":
    unittest.main()
