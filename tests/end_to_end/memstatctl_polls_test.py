#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl watch, leaks, show, record, replay and explain as used by people and scripts."""
import csv
import glob
import io
import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import MEMSTATCTL, integer, is_whole, live_output, output, run  # noqa: E402

LIMITS = captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"]
LINUX = captures.fixtures()["linux-6.12-4cpu"]


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def documents(text):
    """The JSON objects of a text, one after the other."""
    decoder, found = json.JSONDecoder(), []
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found


def write_growing(directory, polls):
    """A capture with a malloc type that leaks 10 000 bytes a poll, ten seconds apart, and one that goes up and down."""
    def poll(number):
        types = [("leaky", {0: (100000 + 10000 * number, 0, 100 + number, 0, 1)}), ("wave", {0: (500000 + 90000 * (number % 3), 0, 10, 0, 1)}),
                 ("still", {1: (777, 0, 7, 0, 1)})]
        return {"sysctl/kern.smp.maxcpus": integer(2), "sysctl/kern.smp.maxid": integer(1), "sysctl/kern.malloc_count": integer(len(types)),
                "sysctl/hw.pagesize": integer(4096), "sysctl/vm.zone_count": integer(1), "sysctl/kern.malloc_stats": captures.malloc_stats(types),
                "sysctl/vm.zone_stats": captures.zone_stats([{"name": "z"}])}
    return captures.write_capture(directory, [poll(number) for number in range(polls)], system="freebsd", cpus="0-1")


class Watch(unittest.TestCase):
    def test_goes_through_the_polls_of_a_capture(self):
        rows = table(output("watch", "uma/mbuf_jumbo_page", "--csv", "--from", LIMITS))
        polls = [json.loads(output("types", "--json", "--from", f"{LIMITS}@{number}"))["types"] for number in range(len(rows))]
        wanted = [next(row for row in poll if row["type"] == "mbuf_jumbo_page") for poll in polls]
        self.assertEqual([(int(row["bytes"]), int(row["objects"]), int(row["failures"])) for row in rows],
                         [(row["bytes"], row["objects"], row["failures"]) for row in wanted])
        for before, row in zip(rows, rows[1:]):
            self.assertEqual(int(row["change_bytes"]), int(row["bytes"]) - int(before["bytes"]))
        self.assertEqual(len(table(output("watch", "mbuf_jumbo_page", "--csv", "--from", LIMITS + "@1"))), len(rows) - 1, "from poll 1 on")
        lines = documents(output("watch", "mbuf_jumbo_page", "--json=compact", "--from", LIMITS))
        self.assertEqual([line["bytes"] for line in lines], [row["bytes"] for row in wanted])
        self.assertNotIn("change_bytes", lines[0])

    def test_unknown_and_ambiguous_names_are_distinguished(self):
        done = run("watch", "mbuf_jumbopage", "--from", LIMITS)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("did you mean mbuf_jumbo_page", done.stderr)
        done = run("watch", "TCP", "--from", LINUX)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "give (slab|socket)/TCP or (slab|socket)/TCP")

    def test_a_live_kernel_is_read_until_an_interrupt(self):
        for word in (signal.SIGINT, signal.SIGTERM):
            child = subprocess.Popen([MEMSTATCTL, "watch", self.some_type(), "--interval", "100ms", "--csv"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            lines = [child.stdout.readline() for _ in range(3)]
            child.send_signal(word)
            rest, errors = child.communicate(timeout=program.PATIENCE)
            self.assertTrue(is_whole(child.returncode, errors), f"ends in order: {child.returncode} {errors}")
            self.assertEqual(len(table("".join(lines) + rest)[0]), 7)

    @staticmethod
    def some_type():
        row = table(run("types", "--csv").stdout)[0]
        return f'{row["allocator"]}/{row["type"]}'


class Limits(unittest.TestCase):
    def test_a_group_at_its_limit_of_tasks_comes_first(self):
        path = captures.fixtures()["linux-6.12-evidence"]
        with program.Daemon("--replay", path) as daemon:
            daemon.wait_log("the replay has ended")
            for source in (path, f"http://{daemon.host}:{daemon.port}"):
                first = table(output("limits", "tasks", "--csv", "--from", source))[0]
                self.assertEqual([first[key] for key in ("type", "of", "counted_objects", "limit_objects", "tunable")], ["/small/tasks", "tasks", "5", "5", "pids.max"])

    def test_a_type_without_a_limit_is_not_reported_with_one(self):
        path = captures.fixtures()["linux-6.12-evidence"]
        self.assertIn("\nNo limit is set. If one is set, it is: memory.max (", run("show", "memcg//small/tasks", "--from", path).stdout)
        self.assertIn("\nIts limit: memory.max (", run("show", "memcg//small/eater", "--from", path).stdout)
        row = table(run("show", "memcg//small/eater", "--csv", "--from", path).stdout)[0]
        self.assertEqual((row["type"], row["bytes"], row["limit_bytes"]), ("/small/eater", "25165824", "25165824"), "counted neither by CPU nor by node")


class Leaks(unittest.TestCase):
    def test_only_steady_growth_is_found(self):
        with program.temporary_directory() as directory:
            path = write_growing(directory, 30)
            document = json.loads(run("leaks", "--json", "--from", path).stdout)
            self.assertEqual((document["polls"], document["seconds"], document["enough"]), (30, 290, True))
            self.assertEqual([row["type"] for row in document["growing"]], ["leaky"])
            suspect = document["growing"][0]
            self.assertAlmostEqual(suspect["per_second"], 1000)
            self.assertEqual((suspect["grew"], suspect["rose_ratio"]), (290000, 1))
            self.assertGreater(suspect["confidence_ratio"], 0.999)
            rows = table(run("leaks", "--csv", "--from", path).stdout)
            self.assertEqual([(row["type"], row["per_second"], row["of"]) for row in rows], [("leaky", "1000", "bytes")])
            self.assertRegex(run("leaks", "--from", path).stdout, r"30 polls in 5 min:\nALLOCATOR .*\nmalloc +leaky +bytes .* \+283K +\+1000 ")

    def test_a_window_that_is_too_short_is_reported(self):
        with program.temporary_directory() as directory:
            path = write_growing(directory, 4)
            done = run("leaks", "--from", path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("too short", done.stderr)
            self.assertFalse(json.loads(run("leaks", "--json", "--from", path).stdout)["enough"])

    def test_progress_is_shown_on_a_terminal_only(self):
        leader, follower = pty.openpty()
        child = subprocess.Popen([MEMSTATCTL, "leaks", "--seconds", "2", "--json"], stdout=subprocess.PIPE, stderr=follower)
        os.close(follower)
        json.loads(child.communicate(timeout=program.PATIENCE)[0])
        shown = b""
        try:
            while part := os.read(leader, 4096):
                shown += part
        except OSError:  # how Linux reports that the other end is closed
            pass
        os.close(leader)
        self.assertRegex(shown, rb"read \d+ of \d+ polls")
        self.assertRegex(shown, rb"\r\x1b\[K(memstatctl: not in this answer, [^\n]+\n)?$", "the line is taken away")


class RecordAndReplay(unittest.TestCase):
    def test_a_recording_of_this_kernel_can_be_replayed(self):
        with program.temporary_directory() as directory:
            for name in ("capture", "capture.tar.zst"):
                path = os.path.join(directory, name)
                said = live_output("record", path, "--count", "2", "--interval", "100ms", "--label", "a test")
                self.assertRegex(said, f"^recorded 2 polls to {re.escape(path)}(, without data that could not be read)?\n$")
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700 if name == "capture" else 0o600)
                rows = table(live_output("replay", path, "--list", "--csv"))
                self.assertEqual([(row["poll"], row["label"]) for row in rows], [("0", "a test"), ("1", "a test")])
                self.assertTrue(all(int(row["sources"]) > 2 for row in rows))
                polls = documents(live_output("replay", path, "--json"))
                self.assertEqual([poll["poll"] for poll in polls], [0, 1])
                self.assertEqual(os.listdir(directory).count(f".{name}.polls"), 0)
            before = sorted(os.listdir(directory))
            for name in ("capture", "capture.tar.zst"):
                done = run("record", os.path.join(directory, name), "--count", "1")
                self.assertEqual(done.returncode, 1)
                self.assertIn("already", done.stderr)
            self.assertEqual(sorted(os.listdir(directory)), before)
            self.assertTrue(program.run("--once", "--replay", path).stdout, "memstatd reads it, too")

    def test_replay_shows_each_poll_as_types_does(self):
        text = output("replay", LIMITS, "--no-human")
        for number in range(3):
            self.assertIn(output("types", "--no-human", "--from", f"{LIMITS}@{number}"), text)
        self.assertRegex(text, r"^poll 0  2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
        self.assertTrue(output("replay", LIMITS + "@2").startswith("poll 2 "))
        self.assertEqual(output("replay", LIMITS, "--speed", "1000", "--no-human"), text)
        rows = table(output("replay", LIMITS, "--csv"))
        self.assertEqual({row["poll"] for row in rows}, {"0", "1", "2"})
        self.assertIn("/no/such", run("replay", "/no/such").stderr)


class SlowSource(unittest.TestCase):
    def test_it_has_its_last_values_in_the_polls_between(self):
        """vmalloc is read every 30 s, so only every third poll of a recording has it."""
        area = b"0xffffc90000000000-0xffffc90000005000   20480 kernel_clone+0x9d/0x3b0 pages=4 vmalloc N0=4\n"
        polls = [{"fs/proc/meminfo": b"MemTotal: 1000 kB\nMemFree: 10 kB\n"} for _ in range(5)]
        polls[0]["fs/proc/vmallocinfo"], polls[3]["fs/proc/vmallocinfo"] = area, area * 4
        with program.temporary_directory() as directory:
            path = captures.write_capture(directory, polls, system="linux", cpus="0-1")
            for poll, wanted in enumerate(("16384", "16384", "16384", "65536", "65536")):
                self.assertEqual([row["bytes"] for row in table(run("types", "kernel_clone", "--csv", "--from", f"{path}@{poll}").stdout)], [wanted], poll)


class Explain(unittest.TestCase):
    def test_words_of_every_kind(self):
        for word, kind in (("memstat_type_bytes", "metric"), ("held_bytes", "value"), ("MemstatNearLimit", "alert"),
                           ("linux_slabinfo", "source"), ("cgroup_dying", "cause"), ("dentry", "type"), ("mbuf_cluster", "type"), ("kmalloc-64", "type")):
            found = json.loads(output("explain", word, "--json"))["explanations"]
            self.assertEqual([row["kind"] for row in found], [kind], word)
            self.assertTrue(found[0]["what"])
            self.assertTrue(output("explain", word).startswith(found[0]["name"]))

    def test_every_column_of_a_report_is_known(self):
        titles = set()
        for path in glob.glob(os.path.join(program.SOURCE_DIR, "daemon", "ctl", "commands", "*.cpp")):
            with open(path, encoding="utf-8") as file:
                titles.update(title for title in re.findall(r'\.title = "([^"]+)"', file.read()) if title.strip())
        self.assertGreaterEqual(titles, {"ALLOCATOR", "TYPE", "COMMAND", "GROUP", "PID"})
        for title in sorted(titles):
            done = run("explain", title, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("column", {row["kind"] for row in json.loads(done.stdout)["explanations"]}, title)

    def test_unknown_words_name_the_nearest(self):
        done = run("explain", "dentrys")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("did you mean dentry", done.stderr)
        self.assertIn('"dentra"; did you mean dentry', run("why", "dentra", "--from", LINUX).stderr)
        self.assertEqual(run("why", "dentry", "--from", LINUX).stderr, "")
        self.assertEqual(run("explain", "\x1b[2J").stderr.count("\x1b"), 0)


if __name__ == "__main__":
    program.main()
