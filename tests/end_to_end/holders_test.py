#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 40
"""When a finding begins, a process of memstatd asks once who holds what it is about: metrics, API and memstatctl name the holder, or the
privilege that is missing. It also counts in turn what no file of the kernel counts."""
import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import program  # noqa: E402

# Holds more descriptors than any other program of this machine.
HOLD = "import os, sys\nfor _ in range(int(sys.argv[1])): os.open('/dev/null', os.O_RDONLY)\nprint('ready', flush=True)\nsys.stdin.read()\n"
PTRACE, READ_SEARCH = 19, 2
FILE_NR = "/proc/sys/fs/file-nr"
NEW_MOUNTS, BIND, PRIVATE = 0x20000, 0x1000, 1 << 18 | 1 << 14
LIBC = ctypes.CDLL(None, use_errno=True)


def show_full_table(path):
    """In this process and its children, the kernel's table of open files looks as the file has it."""
    if LIBC.unshare(NEW_MOUNTS) != 0 or LIBC.mount(b"none", b"/", None, PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if LIBC.mount(path.encode(), FILE_NR.encode(), None, BIND, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def try_it(path):
    """Raises subprocess.SubprocessError if this process may not do that."""
    subprocess.run(["true"], preexec_fn=lambda: show_full_table(path), check=True)


class Holder:
    """A process with that many descriptors, as far as it may."""

    def __init__(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.count = 50_000 if hard == resource.RLIM_INFINITY else min(hard - 100, 50_000)

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", HOLD, str(self.count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (self.count + 50,) * 2))
        if self.process.stdout.readline() != b"ready\n":
            raise unittest.SkipTest(f"this process may not have {self.count} descriptors")
        return self.process.pid

    def __exit__(self, kind, error, trace):
        self.process.kill()
        self.process.communicate()


def asker(daemon):
    """The number of the process that asks; None if there is none."""
    with open(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children", encoding="utf-8") as file:
        for number in file.read().split():
            if program.status_of(number)["Name"] == "memstatd-who":
                return int(number)
    return None


def culprits(page):
    """The label of each finding that open files are many."""
    return [series.labels["culprit"] for series in page.series("memstat_finding_info", cause="open_files_full")]


@unittest.skipUnless(sys.platform == "linux", "only on Linux a process asks")
@program.needs_host
@unittest.skipIf(program.SANITIZER, "a sanitizer's runtime holds descriptors and threads of its own")
class Holders(unittest.TestCase):
    def daemon(self, directory, text="", is_full=True, become=lambda: None):
        path = program.configure_only(os.path.join(directory, "memstatd.yaml"), ("linux_table",), text)
        if not is_full:
            return program.Daemon("--config", path)
        table = captures.write_file(os.path.join(directory, "file-nr"), "50000\t0\t50000\n")
        for one in (directory, table):
            os.chmod(one, 0o755)
        try:
            try_it(table)
        except subprocess.SubprocessError:
            self.skipTest("this process may not mount a file over " + FILE_NR)

        def prepare():
            show_full_table(table)
            become()
        return program.Daemon("--config", path, preexec_fn=prepare)

    def test_the_holder_is_named_wherever_the_finding_is(self):
        with Holder() as pid, program.temporary_directory() as directory, self.daemon(directory) as daemon:
            page = daemon.wait_page(lambda now: any(f"(pid {pid})" in one for one in culprits(now)), "the holder's name")
            self.assertEqual(len(culprits(page)), 1, "one series")
            document = json.loads(daemon.request("/api/v1/findings")[2])
            finding = next(one for one in document["findings"] if one["cause"] == "open_files_full")
            names = [who["name"] for who in finding["who"]]
            self.assertTrue(any(name.endswith(f"(pid {pid})") for name in names), names)
            self.assertEqual(culprits(page)[0].split(", ")[0], f"{finding['who'][0]['kind']} {names[0]}")
            facts = [fact["text"] for fact in finding["evidence"]]
            self.assertTrue(any(re.fullmatch(r"holders as of \d\d:\d\d:\d\d UTC", text) for text in facts), facts)
            done = ctl.run("why", "--json", "--from", f"http://127.0.0.1:{daemon.port}")
            told = next(one for one in json.loads(done.stdout)["findings"] if one["cause"] == "open_files_full")
            self.assertEqual(told["who"], finding["who"])
            commands = page.series("memstat_finding_info", cause="open_files_full")[0].labels["next"].split("; ")
            self.assertEqual(commands[0], finding["next"][0])
            self.assertLessEqual(set(commands), set(finding["next"]))

    def test_a_recording_has_the_answer(self):
        with Holder() as pid, program.temporary_directory() as directory:
            capture = os.path.join(directory, "recorded")
            with self.daemon(directory, f"capture: {{record: {capture}}}\n") as daemon:
                daemon.wait_page(lambda now: any(f"(pid {pid})" in one for one in culprits(now)), "the holder's name")
            done = ctl.run("why", "--json", "--from", capture)
            finding = next(one for one in json.loads(done.stdout)["findings"] if one["cause"] == "open_files_full")
            self.assertTrue(any(who["name"].endswith(f"(pid {pid})") for who in finding["who"]), finding["who"])

    def test_a_limit_that_no_file_counts_is_found(self):
        with Holder() as pid, program.temporary_directory() as directory, self.daemon(directory, is_full=False) as daemon:
            page = daemon.wait_page(lambda now: now.series("memstat_finding_info", cause="process_files_full"), "the finding")
            self.assertIn(f"(pid {pid})", page.series("memstat_finding_info", cause="process_files_full")[0].labels["culprit"])
            document = json.loads(daemon.request("/api/v1/findings")[2])
            finding = next(one for one in document["findings"] if one["cause"] == "process_files_full")
            facts = [fact["text"] for fact in finding["evidence"]]
            self.assertTrue(any(re.fullmatch(r"counted at \d\d:\d\d:\d\d UTC", text) for text in facts), facts)
            done = ctl.run("why", "--json", "--from", f"http://127.0.0.1:{daemon.port}")
            told = next(one for one in json.loads(done.stdout)["findings"] if one["cause"] == "process_files_full")
            self.assertEqual((told["headline"], told["who"]), (finding["headline"], finding["who"]))

    def test_each_finding_is_asked_about_once_and_a_calm_host_never(self):
        def characters(process):
            with open(f"/proc/{process}/io", encoding="utf-8") as file:
                return int(re.search(r"rchar: (\d+)", file.read())[1])

        with Holder() as pid, program.temporary_directory() as directory:
            of_calm = None  # characters that a process reads before anybody asks it
            for is_full in (False, True):
                with self.daemon(directory, "findings: {limits: false}\n", is_full) as daemon:
                    process = asker(daemon)
                    try:
                        characters(process)
                    except PermissionError:
                        self.skipTest("this process may not see what others read")
                    if is_full:
                        daemon.wait_page(lambda now: any(f"(pid {pid})" in one for one in culprits(now)), "the holder's name")
                        self.assertGreater(characters(process), of_calm)
                    before = characters(process)
                    polls = daemon.wait_page(lambda now: True, "a poll").number("memstat_poll_duration_seconds_count")
                    daemon.wait_page(lambda now: now.number("memstat_poll_duration_seconds_count") >= polls + 4, "more polls")
                    self.assertEqual(characters(process), before)
                    of_calm = before

    @program.needs_root
    def test_the_process_has_no_network_and_only_two_capabilities(self):
        with program.temporary_directory() as directory, self.daemon(directory) as daemon:
            process = asker(daemon)
            status = program.status_of(process)
            allowed = int(program.status_of(os.getpid())["CapEff"], 16) & (1 << PTRACE | 1 << READ_SEARCH)
            self.assertEqual([int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")], [allowed, allowed, 0, 0])
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
            self.assertNotEqual(status["Uid"].split()[0], "0")

            def descriptors():
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    links = [os.readlink(f"/proc/{process}/fd/{number}") for number in os.listdir(f"/proc/{process}/fd")]
                    return sorted(re.sub(r"\d+", "N", link) for link in links)
                return []
            # While it answers a question, a file of /proc is open.
            program.wait_until(lambda: descriptors() == ["/dev/null"] * 3 + ["socket:[N]"], lambda: f"no more than these descriptors: {descriptors()}")
        program.wait_until(lambda: not os.path.exists(f"/proc/{process}") or program.status_of(process)["State"].startswith("Z"), "its end")

    @program.needs_root
    def test_without_privileges_it_names_whom_it_sees_or_says_what_is_missing(self):
        def become_somebody_else():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        with Holder() as pid, program.temporary_directory() as directory, program.copy_for_others(program.MEMSTATD) as copy, \
                unittest.mock.patch.object(program, "MEMSTATD", copy), self.daemon(directory, become=become_somebody_else) as daemon:
            page = daemon.wait_page(lambda now: culprits(now) not in ([], ["being asked"]), "an answer")
            # Since Linux 6.2 anybody may count the descriptors of a process, but not see what they are.
            self.assertRegex(culprits(page)[0], rf"\(pid {pid}\)|^not in this answer: .*CAP_SYS_PTRACE")
            self.assertEqual(int(program.status_of(asker(daemon))["CapEff"], 16), 0)

    def test_it_may_be_off_or_die(self):
        with Holder(), program.temporary_directory() as directory:
            with self.daemon(directory, "findings: {holders: false}\n") as daemon:
                page = daemon.wait_page(culprits, "the finding")
                self.assertIsNone(asker(daemon))
                self.assertEqual(culprits(page), ["not in this answer: holders are asked by memstatctl who"])
            with self.daemon(directory, is_full=False) as daemon:
                os.kill(asker(daemon), signal.SIGKILL)
                daemon.wait_log("the process that asks who holds memory is gone")
                polls = daemon.wait_page(lambda now: True, "a poll").number("memstat_poll_duration_seconds_count")
                daemon.wait_page(lambda now: now.number("memstat_poll_duration_seconds_count") > polls, "another poll")


if __name__ == "__main__":
    program.main()
