#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Lock: kills
"""Incidents: what memstatd keeps of a kill, and what memstatctl says about it, from the directory, from the URL and from the file."""
import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import control_group  # noqa: E402
import ctl  # noqa: E402
import program  # noqa: E402

MIB = 1 << 20
EATER = "import sys; sys.stdin.readline(); kept = bytearray(96 << 20); kept[::4096] = b'x' * len(kept[::4096])"


def full_table(in_use):
    """A poll of a machine with that many of 1000 open files."""
    return {"fs/proc/sys/fs/file-nr": f"{in_use}\t0\t1000\n".encode(), "fs/proc/meminfo": b"MemTotal: 2000000 kB\nMemFree: 900000 kB\nMemAvailable: 1500000 kB\n"}


def journal(kills):
    """A poll of a machine on which earlyoom has killed that many programs."""
    events = "".join(f"event program_kill -\ntext earlyoom: sending SIGTERM to process {100 + n} uid 1000 \"stress\": badness 900, VmRSS 4096 MiB\n"
                     "more low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%\n" for n in range(kills))
    return {**full_table(500), "source/linux_service_log": f"kernel_log 1\nlost 0\ncount program_kill {kills}\n{events}end\n".encode()}


class Incidents(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.kept = os.path.join(self.directory, "incidents")

    def configuration(self, text=""):
        path = os.path.join(self.directory, "memstatd.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"incidents: {{directory: {self.kept}}}\n{text}")
        return path

    def files(self):
        return sorted(name for name in os.listdir(self.kept) if not name.startswith(".")) if os.path.isdir(self.kept) else []

    def replay(self, capture):
        return program.Daemon("--config", self.configuration(), "--replay", capture)

    def test_of_a_replay_is_the_same_everywhere(self):
        capture = captures.write_capture(os.path.join(self.directory, "capture"), [full_table(n) for n in (500, 600, 1000, 1000)], apart_ns=300_000_000)
        with self.replay(capture) as daemon:
            program.wait_until(self.files, "an incident")
            daemon.wait_page(lambda now: now.number("memstat_incidents_total", cause="open_files_full") == 1, "the incident's series")
            named = daemon.scrape().decode().partition("memstat_finding_info{")[2].partition("}")[0]
            url = f"http://{daemon.host}:{daemon.port}"
            by_url = json.loads(ctl.output("incidents", "--from", url, "--json"))["incidents"]
            file = os.path.join(self.kept, by_url[0]["file"])
            with_url = ctl.run("why", "--incident", "1", "--from", url)
        by_directory = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]
        self.assertEqual(by_url[0]["cause"], "open_files_full")
        self.assertEqual(by_url, by_directory)
        name = by_url[0]["file"].partition(".tar")[0]
        self.assertIn(f'incident="{name}"', named)
        with_directory = ctl.run("why", "--incident", "1", "--from", self.kept)
        self.assertEqual((with_url.stdout, with_url.returncode), (with_directory.stdout, 11))
        of_file = ctl.run("why", "--from", file)
        self.assertIn(of_file.stdout, with_directory.stdout)
        self.assertIn(by_url[0]["headline"], with_directory.stdout)
        self.assertRegex(with_directory.stdout, r"table/files 600 of 1000\n.*table/files 1000 of 1000\n.*table/files 1000 of 1000  <- noticed\n")
        self.assertEqual(ctl.run("why", "--incident", by_url[0]["file"], "--from", self.kept).stdout, with_directory.stdout)
        self.assertEqual(ctl.run("why", "--incident", name, "--from", self.kept).stdout, with_directory.stdout)
        none = ctl.run("why", "--incident", "2", "--from", self.kept)
        self.assertEqual((none.returncode, none.stdout), (1, ""))
        self.assertIn("there is no incident 2; memstatctl incidents lists 1", none.stderr)

    @program.needs_root
    def test_a_full_disk_loses_the_oldest_and_never_the_newest(self):
        capture = captures.write_capture(os.path.join(self.directory, "capture"), [full_table(n) for n in (500, 1000, 1000)], apart_ns=300_000_000)
        with self.replay(capture):
            first = program.wait_until(self.files, "an incident")[0]
        with open(os.path.join(self.kept, first), "rb") as file:
            incident = file.read()
        owner = os.stat(self.kept)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,mode=0700,uid={owner.st_uid},gid={owner.st_gid}", "none", self.kept], capture_output=True, check=False).returncode:
            self.skipTest("this machine permits no mounts")
        self.addCleanup(subprocess.run, ["umount", self.kept], check=True)
        older = []
        try:
            while True:
                name = f"202001{len(older) + 1:02}T000000Z-open_files_full" + first[first.index(".tar"):]
                with open(os.path.join(self.kept, name), "wb") as file:
                    file.write(incident)
                os.chown(file.name, owner.st_uid, owner.st_gid)
                older.append(name)
        except OSError as error:
            self.assertEqual(error.errno, errno.ENOSPC)
            os.unlink(file.name)
            with open(os.path.join(self.kept, ".filler"), "wb") as filler, contextlib.suppress(OSError):
                filler.write(bytes(1 << 16))
        self.assertGreater(len(older), 2)
        with self.replay(capture) as daemon:
            program.wait_until(lambda: [name for name in self.files() if name > "2026"], lambda: "the newest\n" + daemon.log)
            self.assertNotIn("not kept", daemon.log)
        kept = [name for name in self.files() if name.startswith("2020")]
        self.assertEqual(kept, older[len(older) - len(kept):])
        self.assertLess(len(kept), len(older))

    def test_a_kill_by_a_program_is_one(self):
        capture = captures.write_capture(os.path.join(self.directory, "capture"), [journal(0), journal(0), journal(1), journal(1)], apart_ns=300_000_000)
        with self.replay(capture) as daemon:
            program.wait_until(self.files, "an incident")
            daemon.wait_page(lambda now: now.number("memstat_incidents_total", cause="program_kill") == 1, "the incident's series")
        listed = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]
        self.assertEqual(listed[0]["headline"], "earlyoom killed stress (pid 100) with 4 GiB")
        self.assertEqual((listed[0]["killed"], listed[0]["killer"]), ("stress (pid 100)", "earlyoom"))
        self.assertRegex(ctl.run("why", "--incident", "1", "--from", self.kept).stdout, r"earlyoom: at or below SIGTERM\s+limits:\s+mem 10.00%, swap 10.00%")

    def test_a_calm_machine_has_none_and_says_so(self):
        capture = captures.write_capture(os.path.join(self.directory, "capture"), [full_table(500)] * 3, apart_ns=100_000_000)
        with self.replay(capture) as daemon:
            daemon.wait_log("the replay has ended")
            url = f"http://{daemon.host}:{daemon.port}"
            done = ctl.run("incidents", "--from", url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"nothing was killed, failed or ran out since incidents are kept in {self.kept}", done.stderr)
        self.assertEqual(self.files(), [])

    def test_why_none_are_kept(self):
        with program.Daemon("--replay", captures.write_capture(os.path.join(self.directory, "capture"), [full_table(1000)] * 3, apart_ns=100_000_000)) as daemon:
            daemon.wait_log("the replay has ended")
            done = ctl.run("incidents", "--from", f"http://{daemon.host}:{daemon.port}")
            self.assertEqual(daemon.request("/api/v1/incidents/../../etc/passwd")[0], 404)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no incidents are kept: a replay keeps them only in another incidents.directory than the default", done.stderr)
        self.kept = "relative"
        self.assertIn("incidents.directory: \"relative\" is not an absolute path", program.run("--check-config", "--config", self.configuration()).stderr)

    def test_a_directory_that_cannot_be_made_is_said_and_nothing_else_suffers(self):
        self.kept = os.path.join(self.directory, "missing", "incidents")
        with self.replay(captures.write_capture(os.path.join(self.directory, "capture"), [full_table(500)] * 2, apart_ns=100_000_000)) as daemon:
            daemon.wait_log(r"incidents are not kept: .*missing/incidents: .*No such file or directory")
            daemon.wait_page(lambda now: now.number("memstat_poll_interval_seconds") == 10, "a page")

    @program.needs_root
    @program.needs_host
    def test_a_kill_wakes_memstatd_and_is_on_disk(self):
        if not os.access("/dev/kmsg", os.R_OK):
            self.skipTest("/dev/kmsg cannot be read here")
        group = self.enterContext(control_group.ControlGroup(f"memstat-incident-{os.getpid()}", 64 * MIB))
        eater = subprocess.Popen([sys.executable, "-c", EATER], stdin=subprocess.PIPE, preexec_fn=group.enter)
        self.addCleanup(eater.wait)
        self.addCleanup(eater.kill)
        # Nothing but the kill makes it poll again.
        with program.Daemon("--config", self.configuration("poll: {interval: 1h}\n")) as daemon:
            daemon.wait_page(lambda now: True, "the first poll")
            eater.stdin.write(b"\n")
            eater.stdin.close()
            self.assertEqual(eater.wait(program.PATIENCE), -signal.SIGKILL)
            killed = time.monotonic()
            file = os.path.join(self.kept, program.wait_until(self.files, lambda: "an incident\n" + daemon.log)[0])
            print(f"on disk {time.monotonic() - killed:.2f} s after the kill, {os.path.getsize(file)} bytes")
            self.assertIn("-cgroup_oom_kill.", file)
        listed = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]
        self.assertEqual(listed[0]["object"], group.name)
        self.assertIn("killed at its limit", listed[0]["headline"])
        self.assertEqual((listed[0]["killed"], listed[0]["killer"]), (f"{os.path.basename(sys.executable)[:15]} (pid {eater.pid})", "kernel"))
        story = ctl.run("why", "--incident", "1", "--from", self.kept)
        self.assertEqual(story.returncode, 11, story.stderr)
        self.assertRegex(story.stdout, rf"(?m)^1\. +NOW +Control group .*{group.name[-8:]}.*killed")
        told = " ".join(story.stdout.split())
        self.assertIn(f"the kernel decided it because group {group.name} was at its limit of 64 MiB", told)
        self.assertRegex(told, r"What would have prevented it: a limit above .*, or less memory for the victim, which held \d+ MiB of 64 MiB\.")
        self.assertEqual(told.count(listed[0]["killed"]), 1, "the victim is named once")
        self.assertLess(os.path.getsize(file), 256 << 10)

    @program.needs_root
    @program.needs_host
    def test_of_a_kill_among_500_groups_the_log_and_the_group_are_kept(self):
        if not os.access("/dev/kmsg", os.R_OK):
            self.skipTest("/dev/kmsg cannot be read here")
        group = self.enterContext(control_group.ControlGroup(f"memstat-incident-{os.getpid()}", 64 * MIB))
        others = [f"{group.directory}-{number}" for number in range(500)]
        for other in others:
            os.mkdir(other)
            self.addCleanup(os.rmdir, other)
        eater = subprocess.Popen([sys.executable, "-c", EATER], stdin=subprocess.PIPE, preexec_fn=group.enter)
        self.addCleanup(eater.wait)
        self.addCleanup(eater.kill)
        with program.Daemon("--config", self.configuration("poll: {interval: 1s}\n")) as daemon:
            daemon.wait_page(lambda now: now.number("memstat_poll_duration_seconds_count") >= 20, "20 polls")
            eater.communicate(b"\n")
            self.assertEqual(eater.returncode, -signal.SIGKILL)
            program.wait_until(self.files, lambda: "an incident\n" + daemon.log)
        listed = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]
        print(f"{listed[0]['left_out']} files left out, {listed[0]['polls']} polls, {listed[0]['bytes']} bytes")
        self.assertEqual(listed[0]["object"], group.name)
        self.assertLessEqual(listed[0]["bytes"], 256 << 10)
        told = ctl.run("why", "--incident", "1", "--from", self.kept).stdout
        self.assertRegex(told, r"(?m)^1\. +NOW +Control group .*: 1 process killed at its limit of 64 MiB +confirmed$")
        self.assertIn(f"the kernel decided it because group {group.name} was at its limit of 64 MiB", " ".join(told.split()))
        self.assertRegex(told, rf"(?m)^  \S+ +available .*  {group.name} .* of 64 MiB$")


if __name__ == "__main__":
    program.main()
