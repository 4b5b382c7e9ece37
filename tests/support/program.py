# SPDX-License-Identifier: BSD-2-Clause
"""Runs the real memstatd for the end-to-end tests: once, or as a server. Waits for conditions, never for a fixed time."""
import contextlib
import http.client
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import page

SOURCE_DIR = os.environ.get("SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEMSTATD = os.environ.get("MEMSTATD") or os.path.join(SOURCE_DIR, "build", "bin", "memstatd")
SANITIZER = os.environ.get("MEMSTAT_SANITIZER", "")
PATIENCE = 360.0 if SANITIZER else 180.0  # seconds after which anything counts as hung, on a busy machine
TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
REPORTS = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error: |terminate called")


def can_read_slabinfo():
    try:
        with open("/proc/slabinfo", "rb") as file:
            file.read(1)
    except OSError:
        return False
    return True


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            return True
    except OSError:
        return False


NO_SLABINFO = "/proc/slabinfo cannot be read here: it needs root, and a kernel that has it"
needs_slabinfo = unittest.skipUnless(can_read_slabinfo(), NO_SLABINFO)
# The inode number of the first PID namespace (PROC_PID_INIT_INO).
in_first_pid_namespace = not os.path.exists("/proc/self/ns/pid") or os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
needs_host = unittest.skipUnless(in_first_pid_namespace, "seen from inside a container: the host's processes are not visible here")
needs_root = unittest.skipUnless(os.geteuid() == 0, "needs root: there is no privilege to drop")


def account():
    """The account to which a memstatd started as root switches, as in pwd."""
    try:
        return pwd.getpwnam("_memstatd")
    except KeyError:
        return pwd.getpwnam("nobody")


@contextlib.contextmanager
def temporary_directory():
    """A directory that memstatd's account may read, unlike those of tempfile."""
    directory = tempfile.mkdtemp(prefix="memstat-e2e-")
    os.chmod(directory, 0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def copy_for_others(path):
    """A copy of a program that any account may start: only its owner may be able to enter the build directory."""
    with temporary_directory() as directory:
        copy = os.path.join(directory, os.path.basename(path))
        shutil.copy(path, copy)
        os.chmod(copy, 0o755)
        yield copy


def wait_until(condition, what, patience=PATIENCE):
    """Calls `condition` until its result is true, and returns that; AssertionError after `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"no result within {patience:.0f} s: {what() if callable(what) else what}")
        time.sleep(0.01)


# memstatd's message when its own deadline ends a stop that hanging work would delay. Tests need no clock for that.
GAVE_UP = "some work did not end in time"


def said(log):
    """The log without messages about what is missing or hidden where the tests run: file systems, or the host of a container."""
    return re.sub(r"(?m)^.* info: (?:(?:sysfs|debugfs) is not mounted at|not all of the machine is visible:) .*\n", "", log)


def check_no_report(text):
    found = REPORTS.search(text)
    if found:
        raise AssertionError("a sanitizer reports memstatd:\n" + text[max(0, found.start() - 200):][:8000])


SLAB_SOURCES = ("linux_slab_bpf", "linux_slabinfo")  # the second is not read while the first is up


def has_slab_caches(page):
    """Whether exactly one of the sources of slab caches is up."""
    return [page.number("memstat_source_up", source=name) for name in SLAB_SOURCES].count(1) == 1


def configure_only(path, sources, text=""):
    """Writes a configuration that reads these sources, if the kernel has them, and no others; returns its path."""
    listed = [line.split("\t")[0] for line in run("--list-sources").stdout.decode().splitlines()[1:]]
    others = ", ".join(f"{name}: {{enabled: off}}" for name in listed if name not in sources)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"poll: {{interval: 500ms, timeout: 1m}}\ntier: full\nsources: {{{others}}}\n{text}")
    return path


def status_of(process, directory="/proc"):
    """{field: text} of a process or a thread, by its number."""
    with open(f"{directory}/{process}/status", encoding="utf-8", errors="replace") as file:
        return {name: text.strip() for name, _, text in (line.partition(":") for line in file)}


def run(*arguments, environment=None, **options):
    """Runs memstatd to its end: a CompletedProcess with bytes in stdout and text in stderr."""
    done = subprocess.run([MEMSTATD, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False,
                          env={**os.environ, **(environment or {})}, **options)
    done.stderr = done.stderr.decode("utf-8", "backslashreplace")
    check_no_report(done.stderr)
    if done.returncode not in (0, 1, 2):
        raise AssertionError(f"memstatd {arguments} ended with {done.returncode}:\n{done.stderr}")
    return done


class Daemon:
    """A memstatd that serves on its own port. As a context manager it ends with the block, and must end cleanly."""

    def __init__(self, *arguments, listen=True, environment=None, unread_after=None, preexec_fn=None):
        """`unread_after`: the log is read up to the line that contains this, and no further."""
        command = [MEMSTATD, *arguments] + (["--listen", "127.0.0.1:0"] if listen else [])
        self._lines = []
        self._changed = threading.Condition()
        self._ended = False
        self._unread_after = unread_after
        # After SIGTERM memstatd omits what it cannot record within a second, as on a busy machine.
        self._end = signal.SIGINT if "--record" in arguments else signal.SIGTERM
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(environment or {})}, preexec_fn=preexec_fn)
        self._readers = [threading.Thread(target=self._read, args=(self.process.stderr, True), daemon=True),
                         threading.Thread(target=self._read, args=(self.process.stdout, False), daemon=True)]
        self._printed = []
        for reader in self._readers:
            reader.start()
        try:
            address = self.wait_log(r"listening on http://([\d.]+):(\d+)/")
            self.host, self.port = address.group(1), int(address.group(2))
        except BaseException:
            self.kill()
            raise

    def _read(self, stream, is_log):
        for line in stream:
            with self._changed:
                (self._lines if is_log else self._printed).append(line.decode("utf-8", "backslashreplace"))
                self._changed.notify_all()
            if is_log and self._unread_after and self._unread_after.encode() in line:
                break
        with self._changed:
            self._ended = self._ended or is_log
            self._changed.notify_all()

    @property
    def log(self):
        with self._changed:
            return "".join(self._lines)

    @property
    def printed(self):
        with self._changed:
            return "".join(self._printed)

    def wait_log(self, pattern, count=1):
        """The `count`-th line of the log, from 1, that the pattern matches, as its match."""
        def find():
            matches = [match for match in (re.search(pattern, line) for line in self._lines) if match]
            return matches[count - 1] if len(matches) >= count else None
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                found = find()
                if found:
                    return found
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    log = "".join(self._lines)
                    raise AssertionError(f"no line of the log matches {pattern!r}" + (" before it ended" if self._ended else "") +
                                         f":\n{log}")
                self._changed.wait(left)

    def request(self, path, method="GET", headers=None):
        """(status, headers with names in lower case, body) of one request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def scrape(self):
        """The bytes of /metrics; it must exist, with the right type."""
        status, headers, body = self.request("/metrics")
        if status != 200 or headers.get("content-type") != TEXT_FORMAT:
            raise AssertionError(f"/metrics: status {status}, headers {headers}, {body[:500]!r}")
        return body

    def page(self):
        """The current page, which must be valid."""
        read, problems = page.check(self.scrape())
        if problems:
            raise AssertionError("the page has faults:\n" + "\n".join(problems[:20]))
        return read

    def wait_page(self, condition, what):
        """Scrapes until condition(page) holds and returns that page. Before the first poll there is no page."""
        def ask():
            if self.process.poll() is not None:
                raise AssertionError(f"memstatd ended with {self.process.returncode}:\n{self.log}")
            if self.request("/metrics")[0] == 503:
                return None
            now = self.page()
            return now if condition(now) else None
        return wait_until(ask, lambda: f"{what}\nthe log:\n{self.log}")

    def terminate(self, how=signal.SIGTERM):
        """Stops it and returns its exit status."""
        self.process.send_signal(how)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            log = self.log
            self.kill()
            raise AssertionError(f"memstatd does not stop:\n{log}") from None
        self._join()
        check_no_report(self.log)
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._join()

    def _join(self):
        for reader in self._readers:
            reader.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.process.returncode is not None:
            return
        if kind is not None:
            self.kill()
            print(f"the log of memstatd:\n{self.log}", file=sys.stderr)
            return
        status = self.terminate(self._end)
        if status != 0 or self.printed:
            raise AssertionError(f"memstatd ended with {status} and printed {self.printed!r}:\n{self.log}")


def main():
    """unittest.main for ctest: prints skipped tests with their reasons, and if all were skipped the exit status is 77."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    sys.stderr.flush()
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun == 0 or len(result.skipped) == result.testsRun:
        print("; ".join(sorted({reason for _, reason in result.skipped})) or "no test was run")
        sys.exit(77)
