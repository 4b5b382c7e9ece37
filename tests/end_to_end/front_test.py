#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The front of the HTTP server, as seen by clients: under attack, and without free descriptors."""
import contextlib
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import preload  # noqa: E402
import program  # noqa: E402

ATTACK = os.path.join(program.SOURCE_DIR, "tests", "bench", "front_attack.py")
CONNECTIONS = 700  # more than one address may have
SCRAPES = 30


@contextlib.contextmanager
def replaying_daemon(directory):
    capture = captures.write_capture(os.path.join(directory, "capture"),
                                     [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry", 10))}])
    with program.Daemon("--replay", capture) as daemon:
        daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")
        yield daemon


class UnderAttack(unittest.TestCase):
    """What tests/bench/front_attack.py measures, in small: scrapes are answered while hundreds of connections from the
    scraper's own address do what they can."""

    def attack(self, kind):
        with program.temporary_directory() as directory, replaying_daemon(directory) as daemon:
            attacker = subprocess.Popen([sys.executable, "-B", ATTACK, "--attack", kind, f"127.0.0.1:{daemon.port}", str(CONNECTIONS), "127.0.0.1",
                                         str(program.PATIENCE), "--tell"], stdout=subprocess.PIPE, text=True)
            try:
                # It reports when all its connections exist.
                self.assertIn("made", json.loads(attacker.stdout.readline()))
                for _ in range(SCRAPES):
                    daemon.scrape()
                self.assertIsNone(attacker.poll(), "the attack ended early")
            finally:
                attacker.kill()
                attacker.communicate()

    def test_scrapes_are_answered(self):
        for kind in ("stalled", "half-header", "drip", "slow-read", "resets"):
            with self.subTest(kind):
                self.attack(kind)


class NewConnections(unittest.TestCase):
    CONNECTIONS = 200

    def test_none_is_looked_for_among_the_descriptors(self):
        # With sources that keep hundreds of files open, each new connection once cost as many calls of getpeername.
        with program.temporary_directory() as directory:
            library = preload.build_library(directory, "counted_calls.c")
            counter = captures.write_file(os.path.join(directory, "count"), bytes(4096))
            environment = {"LD_PRELOAD": ":".join([*preload.sanitizers(), library]), "MEMSTAT_TEST_COUNT": counter}

            def calls():
                with open(counter, "rb") as file:
                    return struct.unpack("I", file.read(4))[0]

            with program.Daemon("--interval", "1h", environment=environment) as daemon:
                daemon.wait_page(lambda now: now.series("memstat_source_up"), "a poll")
                before = calls()
                for i in range(self.CONNECTIONS):
                    if i % 2 == 0:
                        daemon.request("/-/healthy")
                        continue
                    gone = socket.create_connection((daemon.host, daemon.port))
                    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    gone.close()
                self.assertEqual(daemon.request("/-/healthy")[0], 200)
                made = calls() - before
                self.assertGreater(calls(), 0, "nothing was counted")
                self.assertLess(made, 8 * self.CONNECTIONS)


class FewDescriptors(unittest.TestCase):
    LIMIT = 256

    def test_connections_are_served_although_sources_want_more_files_than_there_may_be(self):
        with program.temporary_directory() as directory:
            limited = os.path.join(directory, "memstatd")
            captures.write_file(limited, f'#!/bin/sh\nulimit -n {self.LIMIT} && exec "{program.MEMSTATD}" "$@"\n')
            os.chmod(limited, 0o755)
            with unittest.mock.patch.object(program, "MEMSTATD", limited), program.Daemon() as daemon:
                daemon.wait_page(lambda now: now.series("memstat_source_up"), "a poll")
                idle = [socket.create_connection((daemon.host, daemon.port)) for _ in range(2 * self.LIMIT)]
                for _ in range(30):
                    daemon.scrape()
                for connection in idle:
                    connection.close()


class FullTable:
    """Makes calls that open a file fail with ENFILE in a memstatd started with `environment`, and work again."""

    def __init__(self, directory):
        library = preload.build_library(directory, "full_file_table.c")
        self.switch = captures.write_file(os.path.join(directory, "full"), bytes(4096))
        self.environment = {"LD_PRELOAD": ":".join([*preload.sanitizers(), library]), "MEMSTAT_TEST_FULL": self.switch}

    def turn(self, on):
        with open(self.switch, "r+b") as file:
            file.write(struct.pack("I", on))


@contextlib.contextmanager
def daemon_with_table(settings=""):
    """A memstatd that polls ten times a second, with these lines of configuration, and the table that can be made full for it."""
    with program.temporary_directory() as directory:
        table = FullTable(directory)
        config = captures.write_file(os.path.join(directory, "memstatd.yaml"), "poll: {interval: 100ms, timeout: 1m}\n" + settings)
        with program.Daemon("--config", config, environment=table.environment) as daemon:
            yield daemon, table


def down(now):
    return {sample.labels["source"] for sample in now.series("memstat_source_up") if sample.text == "0"}


def sources(now):
    return {sample.labels["source"] for sample in now.series("memstat_source_up")}


def polled(now):
    return now.series("memstat_poll_timestamp_seconds")[0].value


class FileTableFull(unittest.TestCase):

    def test_memstatd_answers_and_sources_that_cannot_open_their_files_have_failed(self):
        with daemon_with_table() as (daemon, table):
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
            # The same with many idle connections: they are closed in favour of those with a request.
            idle = [socket.create_connection((daemon.host, daemon.port)) for _ in range(60)]
            now = daemon.page()
            for connection in idle:
                connection.close()
            self.assertEqual(sources(now), sources(before), "a source that the kernel lacks is confused with one that it has")
            table.turn(False)
            daemon.wait_page(lambda now: down(now) == down(before), "the sources to be up again")
            kept.close()

    def test_a_reserve_of_files_answers_new_connections_while_other_programs_take_what_is_closed(self):
        with daemon_with_table() as (daemon, table):
            daemon.wait_page(lambda now: now.series("memstat_source_up"), "a poll")
            table.turn(3)
            for path in ("/metrics", "/api/v1/findings", "/-/healthy") * 5:
                self.assertEqual(daemon.request(path)[0], 200)
            why = ctl.run("why", "--from", f"http://{daemon.host}:{daemon.port}")
            self.assertIn(why.returncode, (0, 3, 10, 11), why.stderr)
            table.turn(0)

    def test_polls_open_what_they_read_with_a_reserve_of_their_own(self):
        with daemon_with_table("sources: {linux_process: {enabled: on, interval: 100ms}}\n") as (daemon, table):
            before = daemon.wait_page(lambda now: "linux_process" in sources(now) - down(now), "the processes")
            table.turn(1)
            for _ in range(5):
                poll = polled(daemon.page())
                now = daemon.wait_page(lambda now: polled(now) > poll, "another poll")
                self.assertEqual(down(now), down(before))
            table.turn(0)

    def test_sources_that_cannot_open_a_file_are_down_and_what_the_kernel_lacks_is_not_present(self):
        # The processes' files are opened at each poll, while most others are kept open.
        with daemon_with_table("sources: {linux_process: {enabled: on, interval: 100ms}}\n") as (daemon, table):
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
            # Open files are still read, so the full table is on the page.
            self.assertTrue(now.series("memstat_type_limit_used_ratio", allocator="table", type="files"))
            table.turn(0)
            daemon.wait_page(lambda now: "linux_process" in sources(now) - down(now), "the processes again")
            self.assertEqual({name: state for name, (state, _) in states().items()},
                             {name: state for name, (state, _) in before.items()})


if __name__ == "__main__":
    unittest.main()
