#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs memstatd with failing allocations, one or several in a row, at any point from start to stop. It must continue to serve, or end
with a message and status 1, but never by a signal.

`python3 tests/support/out_of_memory.py [STEP [FIRST]]` with MEMSTATD, SOURCE_DIR and BUILD_DIR in the environment makes every
STEP-th allocation (default: each one) from FIRST on fail, in bursts of each length, and prints how the runs ended."""
import collections
import concurrent.futures
import http.client
import os
import re
import select
import signal
import subprocess
import sys
import time

import captures
import preload
import program

BURSTS = (1, 20, 500)
POLLS = 3
SERVES_SECONDS = 3.0  # after its address: long enough for POLLS polls without failures
# glibc's loader ends a process that has no memory for a library's thread-local data: at start, those of libnss_systemd, which looks up
# the account. The line is clear, and memstatd cannot handle it.
LOADER = "cannot allocate memory for thread-local data: ABORT"
CLEAR = re.compile(r"^memstatd: .*(memory|thread)|^\S+ error: .*memory|no_memory|Cannot allocate memory", re.MULTILINE)


class Life:
    """One run of memstatd: start, some polls of the live kernel, a scrape of each page, a reload, stop."""
    clear = CLEAR  # required log lines of a run that ended with status 1

    def __init__(self, library, directory, fail_at=0, count=1, environment=None, prefix=()):
        self.log = b""
        self.allocations = 0
        report, report_writer = os.pipe()
        reader, writer = os.pipe()
        config = os.path.join(directory, "memstatd.yaml")
        environment = {**os.environ, "MEMSTAT_TEST_FAIL_CALL": "malloc", **(environment or {}), "LD_PRELOAD": library, "MEMSTAT_TEST_FAIL_AT": str(fail_at),
                       "MEMSTAT_TEST_FAIL_COUNT": str(count), "MEMSTAT_TEST_FAIL_REPORT": str(report_writer)}
        process = subprocess.Popen([*prefix, program.MEMSTATD, "--config", config, "--polls", str(POLLS), "--interval", "100ms",
                                    "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=writer, pass_fds=[report_writer], env=environment)
        os.close(report_writer)
        os.close(writer)
        try:
            self.follow(process, reader)
            self.status = process.wait(program.PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            self.status = "it hung"
            process.wait()
        with os.fdopen(report, "rb") as file:
            self.allocations = int(file.read() or b"0")
        os.close(reader)

    def follow(self, process, reader):
        """Reads the log to its end; when it serves, requests pages and a reload. It ends by itself after its polls, or is
        asked to end: it retries a poll or a reload without memory, which counts as serving."""
        deadline = time.monotonic() + program.PATIENCE
        is_asked = True
        while True:
            if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
                if is_asked:
                    raise subprocess.TimeoutExpired(process.args, program.PATIENCE)
                process.send_signal(signal.SIGTERM)
                deadline = time.monotonic() + program.PATIENCE
                is_asked = True
                continue
            piece = os.read(reader, 65536)
            if not piece:
                return
            had_address = b"listening on" in self.log
            self.log += piece
            address = re.search(rb"listening on http://([\d.]+):(\d+)/", self.log)
            if address and not had_address:
                self.visit(process, address[1].decode(), int(address[2]))
                deadline = time.monotonic() + SERVES_SECONDS
                is_asked = False

    @staticmethod
    def visit(process, host, port):
        process.send_signal(signal.SIGHUP)
        for path in ("/metrics", "/", "/plain", "/api/v1/types", "/api/v1/history", "/api/v1/growth", "/-/ready", "/metrics?type%5B%5D=dentry"):
            connection = http.client.HTTPConnection(host, port, timeout=5)
            try:
                connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                pass  # without memory there may be no answer
            finally:
                connection.close()

    def problem(self):
        """The error if it ended badly, or nothing."""
        if self.status == 0:
            return None
        text = self.log.decode("utf-8", "backslashreplace")
        if self.status == 1 and self.clear.search(text):
            return None
        if self.status == 127 and text.rstrip().endswith(LOADER) and "listening on" not in text:
            return None
        return f"status {self.status}, log:\n{text}"


class Sweep:
    def __init__(self, directory):
        self.directory = directory
        captures.write_file(os.path.join(directory, "memstatd.yaml"), "tier: full\n")
        self.library = preload.build_library(directory, "failing_calls.c")
        self.endings = collections.Counter()  # runs, by how they ended
        self.problems = []

    def whole(self):
        """A run without failures."""
        return Life(self.library, self.directory)

    def run(self, lives):
        """Runs that fail at these allocations, each with the length of the burst."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (at, burst), life in zip(lives, pool.map(lambda case: Life(self.library, self.directory, *case), lives)):
                self.endings[life.status] += 1
                if life.problem():
                    self.problems.append(f"{burst} from allocation {at} on: {life.problem()}")
                    print(self.problems[-1], flush=True)


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with program.temporary_directory() as directory:
        sweep = Sweep(directory)
        allocations = sweep.whole().allocations
        print(f"{allocations} allocations in a whole run", flush=True)
        for at in range(first, allocations + 1, step):
            sweep.run([(at, burst) for burst in BURSTS])
            print(f"allocation {at}: {dict(sweep.endings)}, {len(sweep.problems)} bad", flush=True)
    sys.exit(1 if sweep.problems else 0)


if __name__ == "__main__":
    main()
