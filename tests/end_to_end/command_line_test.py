#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan
"""The command line of memstatd, as used by people and scripts: output, errors, and exit status."""
import json
import os
import re
import resource
import socket
import stat
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402
def one_slab():
    return {"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry"), captures.slabinfo_line("inode", 3))}


def type_lines(content):
    """The lines about memory types: two reads of the same kernel data have these in common."""
    return [line for line in content.decode().splitlines() if re.match(r"(# \w+ )?memstat_(type|cpu)_", line)]


class CommandLine(unittest.TestCase):
    def assert_refused(self, done, status, *words):
        self.assertEqual((done.returncode, done.stdout), (status, b""), done.stderr)
        self.assertTrue(done.stderr.endswith("\n"))
        for word in words:
            self.assertIn(word, done.stderr)

    def test_version(self):
        done = program.run("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout.decode(), r"\Amemstatd \d+\.\d+\.\d+(~rc\d+)?\n\Z")

    def test_check_config_takes_a_good_file_and_starts_nothing(self):
        shipped = os.path.join(program.SOURCE_DIR, "config", "memstatd.yaml")
        done = program.run("--config", shipped, "--check-config")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(shipped, done.stdout.decode())
        self.assertEqual(program.run("--check-config").returncode, 0)

    def test_wrong_usage_and_configurations_are_reported_on_standard_error_with_status_2(self):
        for arguments, word in ((["--nope"], "--nope"), (["--interval", "5"], "5s"), (["--listen", "0.0.0.0:0"], "allow"), (["--once", "--listen", "192.0.2.1:8947"], "allow")):
            self.assert_refused(program.run(*arguments), 2, "memstatd: ", word)
        with program.temporary_directory() as directory:
            path = captures.write_file(os.path.join(directory, "memstatd.yaml"), "poll:\n  timeout: never\nnope: 1\n")
            for more in (["--check-config"], [], ["--once"]):
                done = program.run("--config", path, *more)
                self.assert_refused(done, 2, f"{path}:2:12: poll.timeout: ", f"{path}:3:1: nope: ")
                self.assertEqual(len(done.stderr.splitlines()), 2)  # all, not the first
            os.remove(path)
            self.assert_refused(program.run("--config", path), 2, path)
            self.assert_refused(program.run("--config", directory), 2, directory)

    def test_an_option_without_a_value_refuses_one(self):
        flags = [option for option in re.findall(r"(?m)^ +(--[a-z-]+)(?= {2,}|$)", program.run("--help").stdout.decode())
                 if option not in ("--help", "--version")]
        self.assertLessEqual({"--once", "--selftest"}, set(flags))
        for flag in flags:
            done = program.run(f"{flag}=3")
            self.assertEqual(done.returncode, 2, flag)
            self.assertIn(f"{flag}: takes no value", done.stderr)

    def test_lists_are_tables_with_a_header(self):
        for flag, first in (("--list-metrics", "memstat_type_bytes"), ("--list-sources", "cpu_counters")):
            done = program.run(flag)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
            self.assertEqual(rows[0][0], "name")
            self.assertEqual(rows[1][0], first)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})
            self.assertFalse([row for row in rows if not all(cell.strip() for cell in row)])

    def test_the_status_of_once_shows_whether_a_source_worked(self):
        with program.temporary_directory() as directory:
            good = captures.write_capture(os.path.join(directory, "good"), [one_slab()])
            bare = captures.write_capture(os.path.join(directory, "bare"), [{"fs/proc/version": "Linux"}])
            bad = captures.write_capture(os.path.join(directory, "bad"), [one_slab(), {"fs/proc/slabinfo": "garbage"}])
            done = program.run("--once", "--replay", good)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for capture in (bare, bad):
                done = program.run("--once", "--replay", capture)
                self.assertEqual(done.returncode, 1)
                self.assertIn("no source is up", done.stderr)
                read, problems = page.check(done.stdout)
                self.assertEqual(problems, [])
                self.assertFalse(read.series("memstat_type_bytes"))
            done = program.run("--once", "--replay", bad, "--polls", "1")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_soft_limit_of_open_files_is_raised_to_the_hard_one(self):
        with program.temporary_directory() as directory:
            capture = captures.write_capture(os.path.join(directory, "good"), [one_slab()])
            done = program.run("--once", "--replay", capture,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200)))
            self.assertEqual(page.check(done.stdout)[0].number("process_max_fds"), 200)

    @program.needs_slabinfo
    def test_sources_leave_descriptors_to_the_accounts_and_the_clients(self):
        with program.temporary_directory() as directory:
            config = os.path.join(directory, "memstatd.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write("sources: {linux_slab_bpf: {enabled: off}}\n")  # which has the figures of the many files, so they stay closed
            with program.Daemon("--config", config, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))) as daemon:
                program.wait_until(lambda: daemon.request("/api/v1/memory")[0] == 200, "a first poll")
                read = daemon.page()
                self.assertTrue(program.has_slab_caches(read))
                self.assertLess(read.number("process_open_fds"), 130)
                if read.number("memstat_source_up", source="linux_slab_sysfs") != 1:  # it has few files where caches have no directories
                    daemon.wait_log("linux_slab_sysfs: .*this process may not open more files")

    @program.needs_slabinfo
    def test_once_prints_every_metric_of_the_live_kernel(self):
        done = program.run("--once")
        self.assertEqual((done.returncode, program.said(done.stderr)), (0, ""))
        read, problems = page.check(done.stdout)
        self.assertEqual(problems, [])
        self.assertGreater(len(read.by_type("memstat_type_bytes", "slab")), 20)
        self.assertTrue(read.series("memstat_type_peak_bytes"))  # of the full tier
        self.assertFalse(read.series("memstat_type_delta_bytes"))  # nothing to compare the first poll with
        again = page.check(program.run("--once", "--polls", "2", "--interval", "100ms").stdout)[0]
        self.assertTrue(again.series("memstat_type_delta_bytes"))
        self.assertEqual(again.number("memstat_source_read_seconds_count", source="linux_memory"), 2)

    def test_polls_ends_a_replay_at_that_poll(self):
        path = captures.fixtures()["freebsd-15.0-amd64-4cpu"]
        pages = [page.check(program.run("--once", "--replay", path, "--polls", str(polls)).stdout)[0] for polls in (1, 2, 3, 99)]
        reads = [read.number("memstat_source_read_seconds_count", source="freebsd_uma") for read in pages]
        self.assertEqual(reads, [1, 2, 3, 3])
        self.assertNotEqual(pages[0].by_type("memstat_type_bytes", "uma"), pages[1].by_type("memstat_type_bytes", "uma"))
        with program.Daemon("--replay", path, "--replay-speed", "1000", "--polls", "2") as daemon:
            daemon.wait_log("the replay has ended")
            self.assertEqual(daemon.page().by_type("memstat_type_bytes", "uma"), pages[1].by_type("memstat_type_bytes", "uma"))

    def test_an_invalid_capture_is_reported_with_status_1(self):
        with program.temporary_directory() as directory:
            paths = {"garbage": b"garbage", "garbage.tar.zst": b"garbage", "empty.tar": b"", "short.tar.zst": None}
            with open(captures.fixtures()["linux-5.10-2cpu"], "rb") as file:
                paths["short.tar.zst"] = file.read()[:5000]
            for name, content in paths.items():
                captures.write_file(os.path.join(directory, name), content)
            os.mkdir(os.path.join(directory, "empty"))
            captures.write_capture(os.path.join(directory, "no-polls"), [])
            captures.write_capture(os.path.join(directory, "other-format"), [one_slab()])
            captures.write_file(os.path.join(directory, "other-format", "manifest.yaml"), "format: 2\nos: linux\n")
            for name in [*paths, "empty", "no-polls", "other-format", "absent"]:
                for more in ([], ["--once"]):
                    with self.subTest(name=name, more=more):
                        self.assert_refused(program.run("--replay", os.path.join(directory, name), *more), 1, name)

    def test_a_port_in_use_is_reported_with_its_address_and_status_1(self):
        with program.temporary_directory() as directory, socket.socket() as other:
            captures.write_capture(directory, [one_slab()])
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            self.assert_refused(program.run("--replay", directory, "--listen", address), 1, address, "in use")
            # Also when it is the second of two, and then the first is not served either.
            done = program.run("--replay", directory, "--listen", "127.0.0.1:0", "--listen", address)
            self.assert_refused(done, 1, address)
            self.assertNotIn("listening", done.stderr)

    def test_each_listener_serves(self):
        with program.temporary_directory() as directory:
            captures.write_capture(directory, [one_slab()])
            with program.Daemon("--replay", directory, "--listen", "127.0.0.1:0") as daemon:
                second = daemon.wait_log(r"listening on http://127.0.0.1:(\d+)/", 2)
                ports = {daemon.port, int(second.group(1))}
                self.assertEqual(len(ports), 2)
                for daemon.port in ports:
                    daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")

    def test_log_level_and_format(self):
        with program.temporary_directory() as directory:
            capture = captures.write_capture(os.path.join(directory, "capture"),
                                             [one_slab(), {"fs/proc/slabinfo": b"garbage"}, one_slab()])
            for level, expected in (("trace", ["error", "info"]), ("info", ["error", "info"]), ("error", ["error"])):
                done = program.run("--once", "--replay", capture, "--log-level", level)
                self.assertEqual(re.findall(r" (\w+): linux_slabinfo: ", done.stderr), expected)
            path = captures.write_file(os.path.join(directory, "memstatd.yaml"), "log: {level: info, format: json}\n")
            done = program.run("--once", "--replay", capture, "--config", path)
            levels = [json.loads(line)["level"] for line in done.stderr.splitlines()]
            self.assertEqual(levels, ["error", "info"])
            done = program.run("--once", "--replay", capture, "--config", path, "--log-level", "error")  # the flag beats the key
            self.assertEqual([json.loads(line)["level"] for line in done.stderr.splitlines()], ["error"])


class Recordings(unittest.TestCase):
    def replayed(self, recording):
        done = program.run("--once", "--replay", recording)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return type_lines(done.stdout)

    def assert_private(self, path):
        if os.path.isdir(path):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700, path)
            for name in os.listdir(path):
                self.assert_private(os.path.join(path, name))
        else:
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)

    def test_a_recorded_replay_gives_the_same_page(self):
        for name in ("freebsd-15.0-amd64-2cpu-limits", "linux-6.1-4cpu-2nodes"):
            for ending in ("", ".tar", ".tar.zst"):
                with self.subTest(name=name, ending=ending), program.temporary_directory() as directory:
                    recording = os.path.join(directory, "recording" + ending)
                    done = program.run("--once", "--replay", captures.fixtures()[name], "--record", recording)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.replayed(recording), type_lines(done.stdout))
                    self.assert_private(recording)
                    if ending:  # never overwritten
                        again = program.run("--once", "--replay", captures.fixtures()[name], "--record", recording)
                        self.assertEqual((again.returncode, again.stdout), (1, b""))
                        self.assertIn(recording, again.stderr)


if __name__ == "__main__":
    program.main()
