#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd when allocations fail, one or some in a row, anywhere from start to stop: it serves on, or ends with a line that
says so and status 1, and never by a signal.

A script that is run by hand: `python3 tests/support/out_of_memory.py` takes samples, with `--all [STEP]` every allocation, or
every STEP-th."""
import concurrent.futures
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

import captures
import program

BURSTS = (1, 20, 500)
SAMPLES = 24  # of each burst
POLLS = 3
LIFE_SECONDS = 20.0  # of a life that takes less than one
CLEAR = re.compile(r"^memstatd: .*(memory|thread)|^\S+ error: .*memory|no_memory|Cannot allocate memory", re.MULTILINE)


def build_library(folder):
    """The library that makes allocations fail: of the build, or compiled now."""
    built = os.path.join(os.path.dirname(program.MEMSTATD), "..", "lib", "failing_malloc.so")
    if os.path.exists(built):
        return built
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-14")
    if not compiler:
        raise unittest.SkipTest("no C compiler, which makes the library that makes allocations fail")
    library = os.path.join(folder, "failing_malloc.so")
    source = os.path.join(program.SOURCE_DIR, "tests", "support", "failing_malloc.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
    return library


class Life:
    """One life of memstatd: start, some polls of the live kernel, a scrape of each page, a reload, stop."""

    def __init__(self, library, folder, fail_at=0, count=1):
        self.log = b""
        self.allocations = 0
        report, report_writer = os.pipe()
        reader, writer = os.pipe()
        config = os.path.join(folder, "memstatd.yaml")
        environment = {**os.environ, "LD_PRELOAD": library, "MEMSTAT_TEST_FAIL_AT": str(fail_at),
                       "MEMSTAT_TEST_FAIL_COUNT": str(count), "MEMSTAT_TEST_FAIL_REPORT": str(report_writer)}
        process = subprocess.Popen([program.MEMSTATD, "--config", config, "--polls", str(POLLS), "--interval", "100ms",
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
        """Reads the log to its end; when it serves, asks for pages and for a reload. It ends by itself after its polls."""
        deadline = time.monotonic() + LIFE_SECONDS
        while True:
            if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise subprocess.TimeoutExpired(process.args, LIFE_SECONDS)
            piece = os.read(reader, 65536)
            if not piece:
                return
            had_address = b"listening on" in self.log
            self.log += piece
            address = re.search(rb"listening on http://([\d.]+:\d+)/", self.log)
            if address and not had_address:
                process.send_signal(signal.SIGHUP)
                for path in ("metrics", "", "-/ready", "metrics?type[]=dentry"):
                    subprocess.run(["curl", "-gs", "-m", "5", "--compressed", f"http://{address[1].decode()}/{path}"],
                                   stdout=subprocess.DEVNULL, check=False)

    def problem(self):
        """What is wrong with how it ended, or nothing."""
        if self.status == 0:
            return None
        text = self.log.decode("utf-8", "backslashreplace")
        if self.status == 1 and CLEAR.search(text):
            return None
        return f"status {self.status}, log:\n{text}"


class OutOfMemory(unittest.TestCase):
    def setUp(self):
        if program.SANITIZER:
            self.skipTest("a sanitizer has malloc to itself")
        folder = program.temporary_folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)
        captures.write_file(os.path.join(self.folder, "memstatd.yaml"), "tier: full\n")
        self.library = build_library(self.folder)

    def sweep(self, places):
        """Lives that fail at these places, with each burst: what went wrong, by place."""
        lives = [(at, burst) for burst in BURSTS for at in places]
        counts = {0: 0, 1: 0}
        problems = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (at, burst), life in zip(lives, pool.map(lambda case: Life(self.library, self.folder, *case), lives)):
                counts[life.status] = counts.get(life.status, 0) + 1
                if life.problem():
                    problems.append(f"{burst} from allocation {at} on: {life.problem()}")
        print(f"{len(lives)} lives, by how they ended: {counts}")
        return problems

    def test_it_serves_on_or_says_why_not(self):
        whole = Life(self.library, self.folder)
        self.assertIsNone(whole.problem())
        self.assertEqual(whole.status, 0)
        self.assertGreater(whole.allocations, 1000)
        print(f"{whole.allocations} allocations in a whole life")
        if STEP:
            places = range(1, whole.allocations, STEP)
        else:  # most of the code runs early, so more of the places are there
            places = sorted({1 + int(whole.allocations * (place / SAMPLES) ** 2) for place in range(SAMPLES)})
        problems = self.sweep(places)
        self.assertFalse(problems, f"{len(problems)} lives ended badly:\n" + "\n".join(problems[:20]))


STEP = 0
if __name__ == "__main__":
    if "--all" in sys.argv:
        at = sys.argv.index("--all")
        STEP = int(sys.argv[at + 1]) if len(sys.argv) > at + 1 else 1
        del sys.argv[at:]
    program.main()
