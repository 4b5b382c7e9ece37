#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Recordings as made by an operator: which directories are continued or rejected, slow and full disks, restarts, archives that expand."""
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import ctl  # noqa: E402
import preload  # noqa: E402
import program  # noqa: E402


def listing(directory):
    """Every path below it with owner, mode and size, which show any change."""
    found = {}
    for path, directories, files in os.walk(directory):
        for name in [".", *directories, *files]:
            about = os.lstat(os.path.join(path, name))
            found[os.path.join(path, name)] = (about.st_uid, about.st_gid, about.st_mode, about.st_size)
    return found


def polls(recording):
    return captures.recorded_polls(recording)


class FirstPoll(unittest.TestCase):
    def test_it_does_not_disturb_what_is_recorded(self):
        def opened():
            """Files opened on this machine from the first poll to the second."""
            with program.temporary_directory() as directory:
                recording = os.path.join(directory, "recording")
                done = ctl.run("record", recording, "--count", "2", "--interval", "500ms")
                self.assertIn(done.returncode, (0, 3), done.stderr)  # 3: not as root
                with tarfile.open(os.path.join(recording, "000000.tar")) as polls:
                    first, second = (int(polls.extractfile(f"00000{i}/fs/proc/sys/fs/file-nr").read().split()[0]) for i in (0, 1))
                return second - first
        if sys.platform != "linux":
            self.skipTest("Linux counts open files in a file")
        self.assertLess(min(opened() for _ in range(3)), 150)  # other programs open files, too


class Recording(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        slabs = {"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry"))}
        self.capture = captures.write_capture(self.path("capture"), [slabs, slabs], apart_ns=200_000_000)
        self.replay = ["--replay", self.capture]

    def path(self, name):
        return os.path.join(self.directory, name)

    def once(self, record, *more):
        return program.run("--once", *self.replay, "--record", record, *more)

    def assert_recorded(self, recording):
        done = program.run("--once", "--replay", recording)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(b'memstat_type_bytes{allocator="slab",type="dentry"}', done.stdout)


    def serve(self, record, *more):
        with program.Daemon(*self.replay, "--record", record, *more) as daemon:
            daemon.wait_log("the replay has ended")
            # After SIGINT it packs, however long that takes.
            self.assertEqual(daemon.terminate(signal.SIGINT), 0, daemon.log)
            return daemon.log


class Target(Recording):
    def test_foreign_files_are_refused_and_left_unchanged(self):
        os.mkdir(self.path("full"), 0o755)
        captures.write_file(self.path("full/notes.txt"), b"text")
        os.mkdir(self.path("empty"), 0o755)
        os.symlink("empty", self.path("link"))
        os.symlink("nowhere", self.path("dangling"))
        captures.write_file(self.path("file"), b"text")
        wrong = [("full", "notes.txt|belongs to user 0"), ("link", "symbolic link"), ("link/", "symbolic link"), ("dangling", "symbolic link"),
                 ("file", "not a directory")]
        if os.geteuid() == 0:
            os.mkdir(self.path("foreign"))
            os.chown(self.path("foreign"), 12345, 12345)
            wrong.append(("foreign", "belongs to user 12345"))
        before = listing(self.directory)
        for name, word in wrong:
            for more in (["--once"], ["--listen", "127.0.0.1:0"]):
                with self.subTest(name=name, more=more):
                    done = program.run(*self.replay, "--record", self.path(name), *more)
                    self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
                    self.assertIn(self.path(name), done.stderr)
                    self.assertRegex(done.stderr, word)
                    self.assertEqual(listing(self.directory), before)

    @program.needs_root
    def test_a_directory_of_root_is_not_given_away_when_the_account_changes(self):
        os.mkdir(self.path("mine"), 0o700)
        done = program.run(*self.replay, "--record", self.path("mine"), "--listen", "127.0.0.1:0")
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn("belongs to user 0", done.stderr)
        self.assertEqual(os.stat(self.path("mine")).st_uid, 0)
        self.assertEqual(self.once(self.path("mine")).returncode, 0, "root writes there itself with --once")
        self.assertEqual({about[0] for about in listing(self.path("mine")).values()}, {0})

    def test_an_empty_directory_of_ours_is_used_and_a_recording_continues(self):
        os.mkdir(self.path("empty"), 0o700)
        for count in (2, 4):
            done = self.once(self.path("empty"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(len(polls(self.path("empty"))), count)
        self.assert_recorded(self.path("empty"))

    @program.needs_root
    def test_a_new_directory_belongs_to_the_account_that_writes_it(self):
        with program.Daemon(*self.replay, "--record", self.path("new")) as daemon:
            daemon.wait_log("the replay has ended")
        account = program.account()
        self.assertEqual({about[:2] for about in listing(self.path("new")).values()}, {(account.pw_uid, account.pw_gid)})
        self.assert_recorded(self.path("new"))


class Restart(Recording):

    def test_polls_of_a_run_that_was_killed_are_in_the_archive_of_the_next(self):
        os.mkdir(self.path("out"))
        with program.Daemon(*self.replay, "--record", self.path("out/a.tar.zst")) as daemon:
            daemon.wait_log("the replay has ended")
            program.wait_until(lambda: len(polls(self.path("out/.a.tar.zst.polls"))) == 2, "both polls")
            daemon.kill()
        self.serve(self.path("out/a.tar.zst"))
        done = program.run("--once", "--replay", self.path("out/a.tar.zst"), "--polls", "4", "--record", self.path("copy"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(polls(self.path("copy"))), 4)
        self.assertEqual([name for name in os.listdir(self.path("out")) if not name.startswith(".")], ["a.tar.zst"])


class Disk(Recording):

    def test_polls_that_cannot_be_written_are_status_1(self):
        captures.write_file(self.path("c.yaml"), "capture: {max_bytes: 2000}\n")  # no poll fits
        done = self.once(self.path("a"), "--config", self.path("c.yaml"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("raise capture.max_bytes", done.stderr)
        self.assertIn(b'memstat_recording_polls_total{result="failed"} 2\n', done.stdout)
        self.assertIn(b"memstat_type_bytes", done.stdout, "the page is still printed")
        with program.Daemon("--config", self.path("c.yaml"), *self.replay, "--record", self.path("b")) as daemon:
            now = daemon.wait_page(lambda now: now.number("memstat_recording_polls_total", result="failed") == 2, "two failures")
            self.assertEqual(now.number("memstat_recording_polls_total", result="written"), 0)
            self.assertEqual(daemon.log.count("the recording is suspended"), 1, daemon.log)
            self.assertEqual(daemon.terminate(), 1)

    def run_in_shell(self, limit, *command):
        """(status, what it printed, the names in the directory afterwards) of a command after a line of shell."""
        os.makedirs(self.path("disk"), exist_ok=True)
        script = f'{limit} && cd disk && "$@"; echo "status $?"; find . -mindepth 1 -not -name filler | sort'
        shell = ["sh", "-c", script, "sh", *command]
        if "mount" in limit:
            shell = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), *shell]
        done = subprocess.run(shell, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if "status " not in done.stdout:
            self.skipTest("no file system can be mounted here: " + done.stdout.strip())
        printed, _, rest = done.stdout.rpartition("status ")
        shutil.rmtree(self.path("disk"))
        return int(rest.split()[0]), printed, rest.split()[1:]

    FULL_DISK = "mount -t tmpfs -o size=64k none disk && head -c {} /dev/zero >disk/filler"

    @program.needs_slabinfo
    def test_a_recording_without_room_for_a_poll_leaves_nothing_and_says_so(self):
        record = [ctl.MEMSTATCTL, "record", "--count", "2", "--interval", "100ms"]
        once = [program.MEMSTATD, "--once", *self.replay, "--record"]
        for limit, error in (("ulimit -f 1", "errno 27"), ("ulimit -f 0", "errno 27"), (self.FULL_DISK.format(60_000), "errno 28"),
                             (self.FULL_DISK.format(65_536), "errno 28")):
            for command in ([*record, "x.tar.zst"], [*record, "x.tar"], [*record, "x"], [*once, "x.tar.zst"]):
                with self.subTest(limit=limit, command=command):
                    status, printed, left = self.run_in_shell(limit, *command)
                    self.assertEqual((status, left), (1, []), printed)
                    self.assertIn(error, printed)
                    if "manifest.yaml" not in printed:  # it did not begin
                        self.assertIn("nothing is left of it", printed)

    def test_a_file_that_may_not_grow_suspends_the_recording_and_its_whole_polls_are_packed(self):
        """Limited to what one poll takes, which the archive of one poll does not reach."""
        limit = ["prlimit", "--fsize=5632"]
        done = subprocess.run([*limit, program.MEMSTATD, "--once", *self.replay, "--record", self.path("x.tar.zst")], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the recording is suspended; polling and serving continue", done.stderr)
        self.assertIn("File too large (errno 27)", done.stderr)
        self.assert_recorded(self.path("x.tar.zst"))
        done = program.run("--once", "--replay", self.path("x.tar.zst"), "--record", self.path("copy"))
        self.assertEqual(len(polls(self.path("copy"))), 1)
        self.assertEqual([name for name in os.listdir(self.directory) if "polls" in name], [])

    def wait_until_polls_are_dropped(self, daemon):
        """More of them than so far, because a busy machine drops some anyway."""
        before = daemon.page().number("memstat_recording_polls_total", result="dropped")
        daemon.wait_page(lambda now: now.number("memstat_recording_polls_total", result="dropped") > before + 3, "dropped polls")

    @program.needs_slabinfo
    def test_a_disk_that_does_not_answer_holds_up_no_poll_and_what_is_left_out_is_counted(self):
        hang = preload.Hang(self.directory, "slow_disk.c")
        with program.Daemon("--record", self.path("a"), "--interval", "100ms", environment=hang.environment) as daemon:
            daemon.wait_page(lambda now: now.number("memstat_recording_polls_total", result="written") > 1, "written polls")
            hang.turn(True)
            self.wait_until_polls_are_dropped(daemon)
            daemon.wait_log("the disk does not keep up")
            said = daemon.log.count("the disk does not keep up")
            before = daemon.page().number("memstat_poll_timestamp_seconds")
            daemon.wait_page(lambda now: now.number("memstat_poll_timestamp_seconds") > before + 1
                             and program.has_slab_caches(now), "polls that go on")
            self.assertEqual(daemon.log.count("the disk does not keep up"), said, daemon.log)
            hang.turn(False)
            written = daemon.page().number("memstat_recording_polls_total", result="written")
            daemon.wait_page(lambda now: now.number("memstat_recording_polls_total", result="written") > written + 6, "more polls")
            hang.turn(True)
            self.wait_until_polls_are_dropped(daemon)
            self.assertEqual(daemon.terminate(), 1, daemon.log)
            self.assertIn("the disk does not respond", daemon.log)

    def test_an_archive_that_cannot_be_brought_to_the_disk_does_not_hold_up_a_stop_and_its_polls_are_in_the_next(self):
        hang = preload.Hang(self.directory, "slow_disk.c")
        os.mkdir(self.path("out"))
        with program.Daemon(*self.replay, "--record", self.path("out/a.tar.zst"), environment=hang.environment) as daemon:
            daemon.wait_log("the replay has ended")
            daemon.wait_page(lambda now: now.number("memstat_recording_polls_total", result="written") == 2, "both polls")
            hang.turn(True)
            self.assertEqual(daemon.terminate(), 1, daemon.log)
            self.assertIn("the recording is incomplete", daemon.log)
        self.serve(self.path("out/a.tar.zst"))
        packed = max((name for name in os.listdir(self.path("out")) if name.startswith("a")),
                     key=lambda name: os.stat(self.path("out/" + name)).st_mtime_ns)
        done = program.run("--once", "--replay", self.path("out/" + packed), "--polls", "4", "--record", self.path("copy"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(polls(self.path("copy"))), 4, "polls of the stop before are lost")


class Replay(Recording):
    def pack(self, name, polls_, filler):
        """An archive of that many polls, each with a file of filler."""
        zstd = shutil.which("zstd")
        if not zstd:
            self.skipTest("no zstd to pack with")
        slabs = captures.slabinfo(captures.slabinfo_line("dentry"))
        captures.write_capture(self.path(name), [{"fs/proc/slabinfo": slabs, "fs/proc/filler": bytes(filler)}] * polls_)
        subprocess.run(["tar", "-C", self.directory, "--sort=name", "-I", zstd, "-cf", self.path(name + ".tar.zst"), name], check=True)
        shutil.rmtree(self.path(name))
        return self.path(name + ".tar.zst")

    def run_measured(self, *arguments):
        """(status, standard output and error, the most resident memory in MiB)."""
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen([program.MEMSTATD, *arguments], stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            return process.returncode, out.read().decode(), usage.ru_maxrss / 1024

    def test_an_archive_that_expands_to_more_than_the_bound_is_refused_unless_it_is_raised(self):
        bomb = self.pack("bomb", 20, 30 << 20)
        self.assertLess(os.path.getsize(bomb), 200_000)
        status, text, resident = self.run_measured("--once", "--replay", bomb)
        self.assertEqual(status, 1)
        self.assertIn("536870912 bytes", text)
        self.assertIn("MEMSTAT_CAPTURE_MAX", text)
        if not program.SANITIZER:
            self.assertLess(resident, 64)
        done = program.run("--once", "--replay", bomb, "--polls", "1", "--replay-max", "1GiB")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = program.run("--once", "--replay", bomb, "--polls", "1", environment={"MEMSTAT_CAPTURE_MAX": "1GiB"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = program.run("--once", "--replay", bomb, environment={"MEMSTAT_CAPTURE_MAX": "much"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("MEMSTAT_CAPTURE_MAX: ", done.stderr)
        done = ctl.run("types", "--from", bomb)
        self.assertEqual(done.returncode, 1)
        self.assertIn("MEMSTAT_CAPTURE_MAX", done.stderr)
        self.assertEqual(ctl.run("slabs", "--from", bomb, environment={"MEMSTAT_CAPTURE_MAX": "1GiB"}).stderr.count("bytes"), 0)
        self.assertEqual(program.run("--replay-max", "1GiB").returncode, 2)
        self.assertIn("MEMSTAT_CAPTURE_MAX", ctl.run("types", "--from", bomb, environment={"MEMSTAT_CAPTURE_MAX": "much"}).stderr)

    def test_a_file_that_tar_appends_is_read(self):
        """Also if members of other polls, or the manifest, lie between."""
        for count in (1, 3):
            with self.subTest(polls=count):
                archive = self.path(f"appended{count}.tar")
                slabs = {"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry"))}
                captures.write_capture(self.path("c"), [slabs] * count)
                captures.write_file(self.path("c/notes"), b"text")
                subprocess.run(["tar", "-C", self.directory, "--sort=name", "-cf", archive, "c"], check=True)
                captures.write_file(self.path("c/000000/fs/proc/iomem"), b"00001000-0009ffff : System RAM\n")
                subprocess.run(["tar", "-C", self.directory, "-rf", archive, "c/000000/fs/proc/iomem"], check=True)
                for command in (["types", "--from", archive + "@0"], ["types", "--from", archive]):
                    done = ctl.run(*command)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                self.assertIn("dentry", ctl.run("types", "--from", archive + "@0").stdout)
                copied = program.run("--once", "--replay", archive, "--record", self.path(f"copy{count}"))
                self.assertEqual((copied.returncode, copied.stderr), (0, ""))
                self.assertEqual(len(polls(self.path(f"copy{count}"))), count)
                shutil.rmtree(self.path("c"))

    def hostile_archive(self, name, files):
        """A capture of one poll with further files: {path: pieces}. A script that held them would look like a large memstatd,
        because a process starts with its parent's peak."""
        poll = {"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry"))}
        captures.write_capture(self.path(name), [poll])
        for path, pieces in files.items():
            with open(captures.write_file(self.path(f"{name}/{path}"), b""), "wb") as file:
                for piece in pieces:
                    file.write(piece)
        subprocess.run(["tar", "-C", self.directory, "--sort=name", "-I", "zstd", "-cf", self.path(name + ".tar.zst"), name], check=True)
        shutil.rmtree(self.path(name))
        return self.path(name + ".tar.zst")

    @unittest.skipIf(program.SANITIZER, "a sanitizer's memory is not memstatd's")
    def test_files_that_describe_a_capture_and_files_of_text_have_limits_of_their_own(self):
        manifest = b"format: 1\nos: linux\npage_size: 4096\ncpus_present: 0\n"
        for name, path, pieces, limit in (
                ("manifest", "manifest.yaml", itertools.chain([manifest], itertools.repeat(b"#" * 1024, 200 << 10)), 1 << 20),
                ("poll", "000000/poll.yaml", itertools.repeat(b"#\n" * 512, 20 << 10), 64 << 10),
                ("errors", "000000/errors.yaml", itertools.repeat(b"- {path: a, errno: 1}\n", 1 << 20), 4 << 20),
                ("text", "000000/fs/proc/meminfo", itertools.repeat(b"MemTotal: 1 kB\n", 4 << 20), 32 << 20)):
            with self.subTest(name):
                archive = self.hostile_archive(name, {path: pieces})
                self.assertLess(os.path.getsize(archive), 50_000)
                status, text, resident = self.run_measured("--once", "--replay", archive)
                self.assertEqual(status, 1)
                self.assertIn(f"{path}: is larger than the {limit} bytes that this file may have", text)
                self.assertLess(resident, 64, "MiB")

    @unittest.skipIf(program.SANITIZER, "a sanitizer's memory is not memstatd's")
    def test_memory_of_any_archive_is_within_the_bound_that_the_manual_states(self):
        """Files as large as they may be, which several sources hold and whose lines are types; and more types than there may be."""
        lines = {"proc/meminfo": b"MemTotal: 1 kB\n", "proc/vmstat": b"nr_free_pages 1\n", "proc/zoneinfo": b"Node 0, zone   Normal\n",
                 "proc/buddyinfo": b"Node 0, zone   Normal 1 1 1 1\n", "proc/iomem": b"00000000-00000000 : x\n",
                 "proc/net/sockstat": b"TCP: inuse 1\n", "proc/stat": b"ctxt 1\n", "proc/mounts": b"a /b tmpfs rw 0 0\n"}
        full = {f"000000/fs/{path}": itertools.repeat(line, (31 << 20) // len(line)) for path, line in lines.items()}
        areas = (b"0x0-0x0    8192 f%d+0x1/0x2 pages=1 vmalloc\n" % i for i in range(120_000))
        caches = itertools.chain([captures.slabinfo()], (captures.slabinfo_line(f"c{i}") for i in range(140_000)))
        for name, files, said in (("full", {**full, "000000/fs/proc/vmallocinfo": areas}, ""),
                                  ("types", {"000000/fs/proc/slabinfo": caches}, "more memory types than any kernel")):
            with self.subTest(name):
                archive = self.hostile_archive(name, files)
                status, text, resident = self.run_measured("--once", "--replay", archive)
                self.assertIn(said, text)
                self.assertLess(resident, 3072, f"MiB: 6 times the 512MiB of --replay-max; status {status}")

    @unittest.skipIf(program.SANITIZER, "a sanitizer's memory is not memstatd's")
    def test_polls_of_an_archive_are_read_one_at_a_time(self):
        long = self.pack("long", 40, 10 << 20)  # 400 MiB
        status, text, resident = self.run_measured("--once", "--replay", long)
        self.assertEqual(status, 0, text[-500:])
        self.assertLess(resident, 100, "two polls of 10 MiB, and memstatd")
        with program.Daemon("--replay", long, "--replay-speed", "1000") as daemon:
            daemon.wait_log("the replay has ended")
            self.assertTrue(daemon.page().series("memstat_type_bytes", type="dentry"), "in the sandbox, too")


class TimeLine(unittest.TestCase):
    """Archives in a directory are one capture."""

    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        self.line = os.path.join(self.directory, "line")
        os.mkdir(self.line)

    def pack(self, name, actives, start):
        """An archive with a poll for each number of open files, ten seconds apart, the first at `start` seconds."""
        polls = [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("filp", active=active, objects=4000))} for active in actives]
        capture = captures.write_capture(os.path.join(self.directory, "capture"), polls)
        for i in range(len(polls)):
            second = start + 10 * i
            captures.write_file(os.path.join(capture, f"{i:06d}", "poll.yaml"),
                                f"label: \"\"\nrealtime: 2026-11-20T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z\n"
                                f"monotonic_ns: {(second + 1) * 1_000_000_000}\n".encode())
        with tarfile.open(os.path.join(self.line, name), "w") as archive:
            archive.add(capture, "capture")
        shutil.rmtree(capture)

    def files(self, *arguments):
        done = ctl.run("types", "filp", "--csv", "--from", self.line, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        head, row = (line.split(",") for line in done.stdout.splitlines())
        return int(row[head.index("objects")])

    def test_a_moment_of_it(self):
        self.pack("b.tar", [300, 400], 60)
        self.pack("a.tar", [100, 200], 0)
        self.assertEqual(self.files(), 400)
        self.assertEqual(self.files("--at", "2026-11-20T00:00:15Z"), 200)
        self.assertEqual(self.files("--at", "2026-11-20T00:01:00Z"), 300)
        early = ctl.run("types", "--from", self.line, "--at", "2026-11-19T00:00:00Z")
        self.assertEqual(early.returncode, 1)
        self.assertIn("begins at 2026-11-20T00:00:00Z", early.stderr)

    def test_two_moments_are_compared(self):
        self.pack("a.tar", [100, 200], 0)
        self.pack("b.tar", [300, 400], 60)
        done = ctl.run("diff", "--from", self.line, "--at", "2026-11-20T00:00:12Z", "--and", "2026-11-20T00:01:05Z", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([change["objects_change"] for change in json.loads(done.stdout)["changes"] if change["type"] == "filp"], [100])

    def test_growth_is_that_of_all_archives(self):
        self.pack("a.tar", range(1000, 2000, 100), 0)
        self.pack("b.tar", range(2000, 3000, 100), 100)
        done = ctl.run("leaks", "--from", self.line, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["polls"], [row["type"] for row in answer["growing"]]), (20, ["filp"]))
        late = json.loads(ctl.run("leaks", "--from", self.line, "--json", "--since", "95s").stdout)
        self.assertEqual(late["polls"], 10)

    def test_what_was_before_a_start_of_the_machine_is_not_compared(self):
        self.pack("a.tar", range(3000, 2000, -100), 3600)
        self.pack("b.tar", range(1000, 2000, 100), 0)
        for name, day in (("a.tar", "19"), ("b.tar", "20")):
            path = os.path.join(self.line, name)
            with open(path, "rb") as file:
                text = file.read()
            with open(path, "wb") as file:
                file.write(text.replace(b"2026-11-20", b"2026-11-" + day.encode()))
        done = ctl.run("leaks", "--from", self.line, "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["polls"]), (0, 10), done.stderr)
        self.assertIn("polls before 2026-11-20T00:00:00Z are not compared", done.stderr)

    def test_only_a_capture_has_a_past(self):
        done = ctl.run("types", "--at", "1h")
        self.assertEqual((done.returncode, "only with --from CAPTURE" in done.stderr), (2, True))

    def test_a_thinned_recording_goes_on(self):
        output = os.path.join(self.directory, "weeks")
        for count in (2, 4):
            done = ctl.run("record", "--thin", output, "--count", "2", "--interval", "100ms")
            self.assertIn(done.returncode, (0, 3), done.stderr)  # 3: not as root
            listed = ctl.run("replay", output, "--list", "--json")
            self.assertEqual(listed.returncode, 0, listed.stderr)
            self.assertEqual(len(json.loads(listed.stdout)["polls"]), count)
        self.assertTrue(all(name.endswith("Z.tar.zst") for name in os.listdir(output)), os.listdir(output))
        refused = ctl.run("record", "--thin", self.directory, "--count", "1")
        self.assertEqual((refused.returncode, "name a new one" in refused.stderr), (1, True), refused.stderr)


if __name__ == "__main__":
    program.main()
