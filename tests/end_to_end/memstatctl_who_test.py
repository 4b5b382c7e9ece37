#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl who names the process that holds a known number of things, from this machine and from a recording of it."""
import contextlib
import json
import os
import pwd
import resource
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import preload  # noqa: E402
import program  # noqa: E402
from ctl import MEMSTATCTL, run  # noqa: E402

# The kind and number of objects that a child holds. It prints "ready" once it has all of them, and holds them until its input ends.
HOLDER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
{hold}
open("/proc/self/comm", "w").write("{name}")
print("ready", flush=True)
sys.stdin.read()
"""
FILES = "held = [open('/dev/null') for _ in range(700)]"
PIPES = "held = [os.pipe() for _ in range(60)]"
EVENTFDS = "held = [libc.eventfd(0, 0) for _ in range(80)]\nassert -1 not in held"
WATCHES = """
inotify = libc.inotify_init()
for number in range(40):
    path = os.path.join({directory!r}, str(number))
    os.mkdir(path)
    assert libc.inotify_add_watch(inotify, path.encode(), 0x100) > 0
"""
LOCKED = """
libc.mmap.restype = ctypes.c_void_p
address = libc.mmap(None, ctypes.c_size_t(1 << 20), 3, 0x22, -1, ctypes.c_long(0))
assert libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(1 << 20)) == 0, ctypes.get_errno()
"""
ANONYMOUS = "held = bytearray(os.urandom(1 << 16) * 512)"  # 32 MiB
UNREAD = """
import socket
ours, theirs = socket.socketpair()
ours.sendall(bytes(50000))
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
for _ in range(10):
    ours.__class__(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(1000), receiver.getsockname())
"""
SEGMENT = """
import atexit
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(0, ctypes.c_size_t(1 << 21), 0o1600)
assert segment >= 0, ctypes.get_errno()
atexit.register(libc.shmctl, segment, 0, None)
address = libc.shmat(segment, None, 0)
ctypes.memset(address, 1, 1 << 21)
assert libc.shmdt(ctypes.c_void_p(address)) == 0
"""
PAGE_TABLES = """
libc.mmap.restype = ctypes.c_void_p
size = ctypes.c_size_t(1 << 31)
address = libc.mmap(None, size, 3, 0x4022, -1, ctypes.c_long(0))
assert libc.madvise(ctypes.c_void_p(address), size, 15) == 0, ctypes.get_errno()
for offset in range(0, 1 << 31, 1 << 21):
    ctypes.c_char.from_address(address + offset).value = b"x"
"""  # one page in each 2 MiB, no huge pages: 1024 page tables of 4 KiB
MAPS = """
attributes = (ctypes.c_uint * 16)(2, 4, 4096, 64)  # arrays of 64 values of 4 KiB
held = [libc.syscall({number}, 0, attributes, 64) for _ in range(3)]
assert -1 not in held, ctypes.get_errno()
"""
THREADS = """
import threading
for _ in range(30):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
ZOMBIES = """
for _ in range(20):
    if os.fork() == 0:
        os._exit(0)
"""
BPF_CALLS = {"x86_64": 321, "aarch64": 280, "s390x": 351}


def has_bpf():
    number = BPF_CALLS.get(os.uname().machine)
    code = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n" + MAPS.format(number=number)
    return number and subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL, check=False).returncode == 0


# Question, name of the row, what the child does, and which figure of the row it must have. The child's interpreter holds
# some files and pipes itself.
TRUTH = (("files", None, FILES, "count", range(703, 704)), ("pipes", None, PIPES, "count", range(62, 64)),
         ("eventfds", None, EVENTFDS, "count", range(80, 81)), ("watches", None, WATCHES, "count", range(40, 41)),
         ("locked", None, LOCKED, "bytes", range(1 << 20, (1 << 20) + 1)),
         ("anonymous", None, ANONYMOUS, "bytes", range(32 << 20, 60 << 20)),
         ("queues", "unix receive", UNREAD, "bytes", range(50000, 50001)),
         ("queues", "udp receive", UNREAD, "bytes", range(10000, 100000)),
         ("page-tables", None, PAGE_TABLES, "bytes", range(4 << 20, 5 << 20)),
         ("segments", None, SEGMENT, "bytes", range(1 << 21, (1 << 21) + 1)),
         ("files", None, FILES, "limit", range(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_NOFILE)[0] + 1)),
         ("threads", None, THREADS, "count", range(31, 32)), ("zombies", None, ZOMBIES, "count", range(20, 21)))
if has_bpf():
    TRUTH += (("bpf", "maps", MAPS.format(number=BPF_CALLS[os.uname().machine]), "count", range(3, 4)),
              ("bpf", "maps", MAPS.format(number=BPF_CALLS[os.uname().machine]), "bytes", range(3 * 64 * 4096, 3 * 64 * 4096 + 65536)))


@contextlib.contextmanager
def holder(name, hold):
    child = subprocess.Popen([sys.executable, "-c", HOLDER.format(hold=hold, name=name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if child.stdout.readline() != "ready\n":
            raise AssertionError(f"{name} could not allocate what it should hold")
        yield child.pid
    finally:
        child.stdin.close()
        child.wait(timeout=program.PATIENCE)
        child.stdout.close()


def answer(question, *arguments):
    done = run("who", question, "--json", *arguments)
    if done.returncode not in (0, 3):
        raise AssertionError(f"{question}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def whole_answer(question, *arguments, row=lambda document: None):
    """Asks again if a busy machine ends a question early, unless the row is already there."""
    def ask():
        document = answer(question, *arguments)
        return None if document["is_cut"] and not row(document) else document
    return program.wait_until(ask, f"a whole answer to {question}")


def whole_recording(directory, pids):
    """A recording whose answers are whole, as above."""
    def record():
        path = os.path.join(directory, f"{len(os.listdir(directory))}.tar")
        if run("record", path, "--who", "--count", "2", "--interval", "100ms").returncode not in (0, 3):
            raise AssertionError("nothing was recorded")
        for pid, (question, name, _, key, truth) in zip(pids, TRUTH):
            answers = [answer(question, "--from", f"{path}@{poll}") for poll in range(2)]
            if any(one["is_cut"] and held_by(one, pid, name).get(key) not in truth for one in answers):
                return None
        return path
    return program.wait_until(record, "a recording with whole answers")


def held_by(document, pid, name):
    """The row of that process, or of the segment that it made."""
    for row in document["holders"]:
        if row.get("name", "").endswith(f" of pid {pid}") or row.get("pid") == pid and name in (None, row.get("name")):
            return row
    return {}


def read_terminal(terminal):
    """The next output, or b"" when the other end is closed, which Linux reports as an error."""
    try:
        return terminal.read(65536)
    except OSError:
        return b""


class Who(unittest.TestCase):
    maxDiff = None

    def test_who_holds_what_is_the_truth_from_this_machine_and_from_a_recording(self):
        with program.temporary_directory() as directory, contextlib.ExitStack() as stack:
            pids = [stack.enter_context(holder("held " + question, hold.format(directory=directory) if "{" in hold else hold))
                    for question, _, hold, _, _ in TRUTH]
            recording = whole_recording(directory, pids)
            for source in (("--from", "live"), ("--from", recording), ("--from", recording + "@0")):
                for pid, (question, name, _, key, truth) in zip(pids, TRUTH):
                    with self.subTest(question=question, name=name, source=source):
                        document = whole_answer(question, *source, row=lambda one: held_by(one, pid, name).get(key) in truth)
                        row = held_by(document, pid, name)
                        self.assertIn(row.get(key), truth)
                        self.assertEqual(row["user"], pwd.getpwuid(os.geteuid()).pw_name)
                        if question != "segments":
                            self.assertEqual(row["command"], ("held " + question)[:15])  # as the kernel cuts it

    def test_a_file_in_tmpfs_is_in_what_its_mount_holds(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            if not any(line.split(" - ")[1].startswith("tmpfs ") and line.split()[4] == "/dev/shm" for line in mounts):
                self.skipTest("/dev/shm is no tmpfs here")
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            file.write(bytes(3 << 20))
            file.flush()
            rows = [row for row in whole_answer("tmpfs")["holders"] if row["name"] == "/dev/shm" and "pid" not in row]
            self.assertEqual(len(rows), 1)
            self.assertGreaterEqual(rows[0]["bytes"], 3 << 20)

    def test_a_poll_without_answers_uses_earlier_ones_and_a_capture_without_any_suggests_a_remedy(self):
        with program.temporary_directory() as directory:
            recording = os.path.join(directory, "who.tar")
            run("record", recording, "--who", "--count", "3", "--interval", "100ms")
            asked = [answer("files", "--from", f"{recording}@{poll}")["asked"] for poll in range(3)]
            self.assertEqual(asked[0], asked[1])
            self.assertIn(f"Asked at {asked[2]}", run("who", "files", "--from", recording).stdout)
        done = run("who", "files", "--from", captures.fixtures()["linux-6.12-4cpu"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("record --who", done.stderr)
        done = run("who", "locked", "--from", captures.fixtures()["freebsd-15.0-amd64-4cpu"])
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertRegex(done.stderr, "linux kernels only; .*procstat -v PID")

    def test_a_recording_of_freebsd_names_the_programs_that_held_a_known_number(self):
        """Question, name of the row, and the values that the recording's program caused; `how` names them."""
        for question, name, figures in (("files", None, {"count": 703}), ("pipes", None, {"count": 120}), ("eventfds", None, {"count": 80}),
                                        ("inotify", None, {"count": 12}), ("sockets", None, {"count": 90}),
                                        ("queues", "tcp receive", {"count": 1, "bytes": 30000}), ("queues", "tcp accept", {"count": 9}),
                                        ("queues", "unix receive", {"count": 1, "bytes": 5000})):
            with self.subTest(question=question, name=name):
                document = answer(question, "--from", captures.fixtures()["freebsd-15.0-amd64-2cpu-who"])
                row = next(row for row in document["holders"] if name in (None, row.get("name")))
                self.assertEqual((row["command"], row["user"]), ("hold", "root"))
                self.assertLessEqual(figures.items(), row.items())
        document = answer("segments", "--from", captures.fixtures()["freebsd-15.0-amd64-2cpu-who"])
        self.assertEqual([(row["name"], row["bytes"]) for row in document["holders"]],
                         [(f"segment {number} of pid 62", 1 << 20) for number in range(65536, 65539)])

    def test_why_names_who_holds_what_is_full(self):
        table = ("memstat who 1\nasked_ns 1764119000000000000 looked_at 2 refused 0 unlisted 0 is_cut 0\n"
                 "812\tleaky\twww\t/web\t\t9012\t\n1\tinit\troot\t/\t\t40\t\nend 2\n")
        polls = [{"fs/proc/sys/fs/file-nr": "9990\t0\t10000\n", "source/who_files": table} for _ in range(2)]
        with program.temporary_directory() as directory:
            capture = captures.write_capture(os.path.join(directory, "full"), polls)
            finding = json.loads(run("why", "--json", "--from", capture).stdout)["findings"][0]
            self.assertEqual((finding["cause"], finding["who"]),
                             ("open_files_full", [{"kind": "process", "name": "leaky (pid 812)"}, {"kind": "group", "name": "/web"}]))
            self.assertEqual(finding["next"][0], "memstatctl who files")
            self.assertIn("Who: process leaky (pid 812)", run("why", "--from", capture).stdout)
            self.assertEqual(held_by(answer("files", "--from", capture), 812, None)["count"], 9012)

    def test_a_cut_answer_is_not_nobody_and_rules_nothing_out(self):
        facts = "memstat who 1\nasked_ns 1764119000000000000 looked_at 12 refused 0 unlisted 0 is_cut {}\n"
        table = facts.format("1 seen 7995 total 8400")
        polls = [{"fs/proc/sys/fs/file-nr": "9990\t0\t10000\n", "source/who_files": table + "812\tleaky\twww\t/web\t\t4012\t\nend 1\n",
                  "source/who_mounts": table + "end 0\n", "source/who_zombies": facts.format(0) + "end 0\n"} for _ in range(2)]
        with program.temporary_directory() as directory:
            capture = captures.write_capture(os.path.join(directory, "cut"), polls)
            done = run("who", "mounts", "--from", capture)
            self.assertEqual((done.returncode, done.stdout.splitlines()[1]), (3, "Nobody in the part that was seen: 7995 of 8400 processes."))
            self.assertIn("everything beyond the first 7995 of 8400 processes", done.stderr)
            done = run("who", "zombies", "--from", capture)
            self.assertEqual((done.returncode, done.stdout.splitlines()[1], done.stderr), (0, "Nobody.", ""))
            document = answer("files", "--from", capture)
            self.assertEqual((document["seen"], document["total"], document["parts"]), (7995, 8400, "open files"))
            diagnosis = json.loads(run("why", "--json", "--from", capture).stdout)
            why = {one["cause"]: one["why"] for one in diagnosis["not_checked"]}
            self.assertEqual(why["mounts_full"], "memstatctl who mounts had time for only 7995 of 8400 processes")
            self.assertEqual(why["process_files_full"], "memstatctl who files had time for only 7995 of 8400 open files")
            self.assertIn("zombies", diagnosis["ruled_out"])
            facts = [fact["text"] for fact in diagnosis["findings"][0]["evidence"]]
            self.assertIn("leaky (pid 812) has at least 4012 open files", facts)
            share = "examined: 7995 of 8400 open files"
            self.assertIn(share, facts)
            self.assertIn(share, " ".join(run("why", "--from", capture).stdout.split()))
            text = run("who", "files", "--from", capture).stdout
            self.assertEqual(text.splitlines()[-1], "Examined: 7995 of 8400 open files.")
            self.assertEqual(run("who", "files", "--for", "9s", "--from", capture).stderr,
                             "memstatctl: --for is for this machine: a recording has its answers already\n")

    @unittest.skipIf(program.SANITIZER, "its library would have to be loaded first")
    def test_a_terminal_shows_after_a_second_how_much_was_examined(self):
        status = f"/proc/{os.getpid()}/status"
        with program.temporary_directory() as directory, open(status, "rb"):  # open, so that it keeps its inode
            hang = preload.Hang(directory, "hanging_read.c")
            hang.turn(True)
            ours, theirs = os.openpty()
            begin = time.monotonic()
            asking = subprocess.Popen([MEMSTATCTL, "who", "files"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
                                      env={**os.environ, **hang.environment, "MEMSTAT_TEST_HANG_ON": status})
            os.close(theirs)
            program.wait_until(lambda: time.monotonic() > begin + 1.5, "the time after which it says what it does")
            self.assertIsNone(asking.poll(), "it waits for the file")
            hang.turn(False)
            self.assertIn("Examined: ", asking.communicate(timeout=program.PATIENCE)[0].decode())
            with open(ours, "rb", buffering=0) as terminal:
                shown = "".join(part.decode() for part in iter(lambda: read_terminal(terminal), b""))
            self.assertRegex(shown, r"who files: examined [0-9]+ of [0-9]+ open files")
            self.assertRegex(shown, r"\r\x1b\[K(memstatctl: not in this answer[,:] [^\n]+\r?\n)?$", "the line is gone at the end")

    def test_the_questions_are_listed_and_a_wrong_one_is_refused(self):
        listed = json.loads(run("who", "--json").stdout)["questions"]
        self.assertLessEqual({question for question, *_ in TRUTH}, {row["question"] for row in listed})
        self.assertEqual([(row["system"], row["needs"]) for row in listed if row["question"] == "files"],
                         [("linux", "CAP_SYS_PTRACE"), ("freebsd", "PRIV_SEEOTHERUIDS")])  # this system's first
        done = run("who", "file")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("did you mean files", done.stderr)

    @program.needs_root
    def test_processes_that_proc_hides_are_missing(self):
        with program.copy_for_others(MEMSTATCTL) as copy:
            for hidden in ("1", "2"):
                for command in ("who threads", "process"):
                    typed = (f"mount -o remount,hidepid={hidden} /proc && "
                             f"setpriv --reuid=65534 --regid=65534 --clear-groups {copy} {command}")
                    done = subprocess.run(["unshare", "-mpf", "--mount-proc", "sh", "-c", f"{typed}; exit $?"],
                                          capture_output=True, text=True, timeout=program.PATIENCE, check=False)
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), (hidden, command, done.stderr))


if __name__ == "__main__":
    program.main()
