#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is told of an incident: why it happened, who held the memory, what would have prevented it, once and the same everywhere; and its polls are
those of a recording."""
import datetime
import io
import json
import os
import re
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import incident_captures  # noqa: E402
import program  # noqa: E402

FIELDS = ("time", "cause", "object", "headline", "killed", "killer", "culprit", "left_out", "polls", "bytes", "file")
PANIC = "Kernel panic - not syncing: System is deadlocked on memory"


def flat(text):
    return re.sub(r"\s+", " ", text)


class Stories(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.kept = os.path.join(self.directory, "incidents")

    def path(self, name):
        return os.path.join(self.directory, name)

    def replay(self, capture, *arguments):
        configuration = captures.write_file(self.path("memstatd.yaml"), f"incidents: {{directory: {self.kept}}}\n")
        return program.Daemon("--config", configuration, "--replay", capture, *arguments)

    def files(self):
        return sorted(name for name in os.listdir(self.kept) if not name.startswith(".")) if os.path.isdir(self.kept) else []

    @staticmethod
    def listed(daemon):
        return json.loads(daemon.request("/api/v1/incidents")[2])["incidents"]

    def why(self, number="1", source=None):
        return ctl.run("why", "--incident", number, "--from", source or self.kept)

    def test_everybody_has_the_same_fields_of_each(self):
        with self.replay(incident_captures.two_incidents(self.path("capture"))) as daemon:
            daemon.wait_log("the replay has ended")
            url = f"http://{daemon.host}:{daemon.port}"
            # An incident is listed a moment after its file has its name.
            served = program.wait_until(lambda: self.listed(daemon) if len(self.listed(daemon)) == 2 else None, lambda: "two incidents\n" + daemon.log)
            by_url = json.loads(ctl.output("incidents", "--from", url, "--json"))["incidents"]
            told_by_url = [self.why(str(number), url) for number in (1, 2)]
        by_directory = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]
        self.assertEqual([one["cause"] for one in by_directory], ["open_files_full", "cgroup_oom_kill"])
        for number, (one, listed, of_url) in enumerate(zip(served, by_directory, by_url), 1):
            self.assertEqual(listed, of_url)
            # Members without a value are left out by the API, and by the command.
            for field in (field for field in FIELDS if field != "time"):
                self.assertEqual(one.get(field), listed.get(field), field)
            self.assertEqual(int(one["time"]), datetime.datetime.fromisoformat(listed["time"].replace("Z", "+00:00")).timestamp())
            told = self.why(str(number))
            # Commands name where each has it from.
            of_url, file = told_by_url[number - 1], os.path.join(self.kept, listed["file"])
            self.assertEqual(told.stdout.count(f" --from {file}\n"), of_url.stdout.count(f" --from {url}\n"))
            self.assertEqual((told.stdout.replace(file, url), told.returncode), (of_url.stdout, of_url.returncode))
            self.assertIn(one["cause"], told.stdout)
            self.assertIn(listed["time"].partition(".")[0], told.stdout)
            for field in ("killed", "killer"):
                self.assertIn(one.get(field, ""), told.stdout)
            for holder in filter(None, re.split(r", |group |process ", one.get("culprit", ""))):
                self.assertIn(holder, flat(told.stdout))
        self.assertIn(f"memstatctl show memcg//app --from {url}\n", told_by_url[1].stdout)
        self.assertEqual((served[1]["killed"], served[1]["killer"], served[1]["object"]), ("stress (pid 31050)", "kernel", "/app"))
        self.assertIn("keeper (pid 31001)", served[1]["culprit"])
        figures = served[1]["figures"]
        self.assertEqual([one["bytes"] for one in figures][:4], [use * incident_captures.MIB for use in (20, 35, 50, 4)])
        self.assertEqual({one["limit_bytes"] for one in figures}, {incident_captures.LIMIT})
        self.assertEqual(figures[0]["available_bytes"], 1_300_000 * 1024)
        self.assertEqual(len(figures), served[1]["polls"])

    def test_a_kill_has_its_reason_and_what_would_have_prevented_it_once(self):
        with self.replay(incident_captures.two_incidents(self.path("capture"))) as daemon:
            program.wait_until(lambda: len(self.files()) == 2, lambda: "two incidents\n" + daemon.log)
            daemon.wait_log("the replay has ended")
        told = self.why("2")
        self.assertEqual(told.returncode, 11, told.stderr)
        text = flat(told.stdout)
        for words in ("the kernel decided it because group /app was at its limit of 64 MiB; its oom_score_adj was 996",
                      "the last victim was stress (pid 31050) with 40 MiB",
                      "the largest process that was not killed was keeper (pid 31001) with 48 MiB, more than the victim; its oom_score_adj was -998",
                      "64 MiB at most since it was created",
                      "What would have prevented it: a limit above the 64 MiB that the group has had at most, or less memory for keeper (pid 31001), which "
                      "held 48 MiB of 64 MiB.",
                      "echo 96M > /sys/fs/cgroup/app/memory.max", "journalctl -k --since '2026-11-20 14:05:", " UTC' --until '2026-11-20 15:06:"):
            self.assertIn(words, text)
        self.assertEqual(text.count("stress (pid 31050)"), 1, "the victim is named once")
        self.assertRegex(told.stdout, r"available \S+ \S+  /app 50 MiB of 64 MiB\n.*  /app 4 MiB of 64 MiB  <- noticed\n")

    def test_among_500_groups_the_log_and_the_files_of_the_killed_one_are_kept(self):
        uses = (20, 30, 40, 44, 48, 52, 56, 60)
        polls = [incident_captures.poll(group_bytes=use * incident_captures.MIB) | incident_captures.many_groups(i) for i, use in enumerate(uses)]
        polls += [incident_captures.poll(kills=1, group_bytes=4 * incident_captures.MIB) | incident_captures.many_groups(len(uses) + i) for i in range(2)]
        capture = incident_captures.write(self.path("capture"), polls)
        with self.replay(capture) as daemon:
            program.wait_until(self.files, lambda: "an incident\n" + daemon.log)
            daemon.wait_log("the replay has ended")
        listed = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]
        self.assertEqual((listed[0]["cause"], listed[0]["object"], listed[0]["killed"]), ("cgroup_oom_kill", "/app", "stress (pid 31050)"))
        self.assertGreater(listed[0]["left_out"], 100, "there is no room for all")
        self.assertGreaterEqual(listed[0]["polls"], 9)
        self.assertLess(os.path.getsize(os.path.join(self.kept, listed[0]["file"])), 256 << 10)
        told = self.why()
        self.assertRegex(told.stdout, r"(?m)^1\. +NOW +Control group /app: 1 process killed at its limit of 64 MiB +confirmed$")
        text = flat(told.stdout)
        for words in ("the kernel decided it because group /app was at its limit of 64 MiB", "the last victim was stress (pid 31050) with 40 MiB",
                      "files had no room in this incident, and are not checked"):
            self.assertIn(words, text)
        self.assertRegex(told.stdout, r"/app 56 MiB of 64 MiB\n.*  /app 60 MiB of 64 MiB\n.*  /app 4 MiB of 64 MiB  <- noticed\n")

    def test_a_kill_by_a_program_names_its_victim_once(self):
        polls = [incident_captures.poll(), incident_captures.poll(), incident_captures.poll(program_kills=1), incident_captures.poll(program_kills=1)]
        with self.replay(incident_captures.write(self.path("capture"), polls)) as daemon:
            program.wait_until(self.files, lambda: "an incident\n" + daemon.log)
        told = self.why()
        self.assertEqual(told.stdout.count("hog (pid 100)"), 1, told.stdout)
        self.assertIn("Who: the victim", told.stdout)
        self.assertIn("mem 10.00%, swap 10.00%", flat(told.stdout))

    def test_of_freebsd_is_told_from_its_packed_sysctls(self):
        with self.replay(os.path.join(program.SOURCE_DIR, "tests", "fixtures", "freebsd_live", "killed.tar.zst")) as daemon:
            daemon.wait_log("the replay has ended")
            program.wait_until(self.files, lambda: "an incident\n" + daemon.log)
        listed = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"]
        kill = next(number for number, one in enumerate(listed, 1) if one["cause"].startswith("freebsd_oom"))
        self.assertRegex(listed[kill - 1]["killed"], r"^\S+ \(pid \d+\)$")
        self.assertEqual(listed[kill - 1]["killer"], "kernel")
        told = self.why(str(kill))
        self.assertEqual(told.stderr, "")
        self.assertIn("The kernel killed", told.stdout)

    def test_begins_with_its_own_finding_although_another_follows(self):
        grown = [incident_captures.poll(), incident_captures.poll(open_files=1000), incident_captures.poll(open_files=1000, kills=1)]
        with self.replay(incident_captures.write(self.path("capture"), grown)) as daemon:
            program.wait_until(lambda: len(self.files()) == 2, lambda: "two incidents\n" + daemon.log)
        told = [json.loads(ctl.run("why", "--json", "--incident", number, "--from", self.kept).stdout) for number in ("1", "2")]
        self.assertEqual({one["incident"]["cause"] for one in told}, {"cgroup_oom_kill", "open_files_full"})
        for one in told:
            self.assertEqual(one["findings"][0]["cause"], one["incident"]["cause"])

    def test_json_and_the_api_tell_it_too(self):
        with self.replay(incident_captures.two_incidents(self.path("capture"))) as daemon:
            daemon.wait_log("the replay has ended")
            served = program.wait_until(lambda: self.listed(daemon) if len(self.listed(daemon)) == 2 else None, lambda: "two incidents\n" + daemon.log)[1]
            by_url = json.loads(ctl.run("why", "--json", "--incident", "2", "--from", f"http://{daemon.host}:{daemon.port}").stdout)
        told = json.loads(ctl.run("why", "--json", "--incident", "2", "--from", self.kept).stdout)
        self.assertEqual(told, by_url)
        self.assertEqual(told["incident"], served)
        self.assertIn("the kernel decided it because group /app was at its limit of 64 MiB; its oom_score_adj was 996", served["evidence"])
        self.assertIn("What would have prevented it: a limit above the 64 MiB that the group has had at most", served["effect"])
        self.assertEqual((told["findings"][0]["killed"], told["findings"][0]["killer"]), ("stress (pid 31050)", "kernel"))
        file = os.path.join(self.kept, served["file"])
        self.assertEqual(json.loads(ctl.run("why", "--json", "--from", file).stdout), told)
        self.assertEqual(ctl.run("why", "--from", file).stdout, self.why("2").stdout)

    def test_of_a_boot_that_ended_with_a_panic_only_the_log_is_told(self):
        table = "\n".join(["kernel_log 1", "lost 0", "count oom_kill 1", "count nobody_to_kill 1", "event oom_kill 61000000", *incident_captures.KILL_LINES,
                           "event nobody_to_kill 62000000", f"text {PANIC}", "end", ""])
        note = ("format: 1\ntime: 2026-11-20T15:00:00Z\ncause: previous_boot\n" f'headline: "The machine stopped: {PANIC}"\n'
                "certainty: confirmed\npolls: 1\nleft_out: 0\n")
        members = {"incident.yaml": note, "000000/poll.yaml": "label: previous boot\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 62000000000\n",
                   "manifest.yaml": 'format: 1\nos: linux\nrelease: "6.12.0"\nmachine: x86_64\npage_size: 4096\ncpus_present: "0"\nnodes: 1\n',
                   "000000/source/linux_kernel_log": table}
        os.mkdir(self.kept)
        with tarfile.open(os.path.join(self.kept, "20261120T150000Z-previous_boot.tar"), "w") as archive:
            for name, text in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
        told = self.why()
        self.assertEqual(told.returncode, 10, told.stderr)
        text = flat(told.stdout)
        self.assertIn(f"The machine stopped: {PANIC}. Only the kernel's log of that boot is left, so no cause can be examined. It has 2 lines about memory:", text)
        self.assertRegex(told.stdout, r"(?m)^  61 s after boot +Memory cgroup out of memory: Killed process 31050")
        self.assertRegex(told.stdout, rf"(?m)^  62 s after boot +{PANIC}")
        self.assertNotIn("Nothing", told.stdout)
        file = os.path.join(self.kept, os.listdir(self.kept)[0])
        of_file = ctl.run("why", "--from", file)
        self.assertEqual((of_file.stdout, of_file.returncode), (told.stdout, told.returncode))
        of_json = ctl.run("why", "--json", "--from", file)
        self.assertEqual((of_json.returncode, [one["event"] for one in json.loads(of_json.stdout)["events"]]), (10, ["oom_kill", "nobody_to_kill"]))

    def test_its_polls_have_each_value_of_a_recording_of_the_same_polls(self):
        files = captures.read_fixture(captures.fixtures()["linux-7.2-2cpu"])
        directories = sorted({name.partition("/")[0] for name in files if name.endswith("/poll.yaml")})
        polls = [{**{name.partition("/")[2]: content for name, content in files.items() if isinstance(content, bytes) and name.startswith(directory + "/")},
                  "fs/proc/sys/fs/file-nr": f"{used}\t0\t1000\n".encode()}
                 for used, directory in zip((500, 700, 1000, 1000), directories * 4)]
        recorded = self.path("recorded.tar")
        with self.replay(incident_captures.write(self.path("capture"), polls), "--record", recorded) as daemon:
            program.wait_until(self.files, lambda: "an incident\n" + daemon.log)
            daemon.wait_log("the replay has ended")
        incident = os.path.join(self.kept, self.files()[0])
        kept = json.loads(ctl.output("incidents", "--from", self.kept, "--json"))["incidents"][0]
        self.assertIn(kept["polls"], (3, 4), "the thread that writes it may have seen the next one")
        self.assertEqual(kept["left_out"], 0)
        for number in range(kept["polls"]):
            values = [json.loads(ctl.run("types", "--from", f"{capture}@{number}", "--json").stdout)["types"] for capture in (incident, recorded)]
            self.assertGreater(len(values[0]), 50)
            self.assertEqual(values[0], values[1], f"poll {number}")


if __name__ == "__main__":
    program.main()
