#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs memstatd with failing system calls, one or several in a row, at any point from start to stop. It must continue to serve, or end with
a message and status 1 (2 if the configuration cannot be read), but never by a signal.

`python3 tests/support/failing_calls.py [STEP [CALL]...]` with MEMSTATD, SOURCE_DIR and BUILD_DIR in the environment makes every
STEP-th call (default: each one) fail, of all kinds unless CALL is given, and prints how the runs ended."""
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import captures
import out_of_memory
import preload
import program

CALLS = ("open", "read", "pread", "write", "readdir", "stat", "accept", "recv", "send", "poll", "pipe", "socketpair", "thread", "fork")
# The C library makes these calls internally (malloc, threads, opendir), so strace makes them fail: number N of each thread.
TRACED = {"mmap": "ENOMEM", "getdents64": "EIO"}
BURSTS = (1, 100)


class Life(out_of_memory.Life):
    clear = re.compile(r"^memstatd: \S.*\S", re.MULTILINE)

    def problem(self):
        text = self.log.decode("utf-8", "backslashreplace")
        if self.status == 2 and re.search(r"memstatd\.yaml: .*configuration", text):
            return None
        return super().problem()


class Sweep:
    def __init__(self, directory):
        self.directory = directory
        captures.write_file(os.path.join(directory, "memstatd.yaml"), "tier: full\nbasic_auth: {}\n")
        self.library = preload.build_library(directory, "failing_calls.c")
        self.endings = collections.Counter()  # runs, by call and how they ended
        self.problems = []

    def life(self, call, at=0, burst=1):
        if call in TRACED:
            inject = f"inject={call}:error={TRACED[call]}:when={at}..{at + burst - 1}"
            return Life(self.library, self.directory, prefix=self.strace(call, "/dev/null", "-e", inject))
        return Life(self.library, self.directory, at, burst, {"MEMSTAT_TEST_FAIL_CALL": call})

    @staticmethod
    def strace(call, output, *more):
        """With these options memstatd remains our child, and strace stops it only for these calls."""
        return ("strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", output, "-e", f"trace={call}", *more)

    def count(self, call):
        """The number of these calls in a run without failures; with strace, in the thread that makes the most."""
        if call not in TRACED:
            return self.life(call).allocations
        output = os.path.join(self.directory, "calls")
        Life(self.library, self.directory, prefix=self.strace(call, output))
        with open(output, encoding="utf-8", errors="replace") as file:
            return max(collections.Counter(line.split()[0] for line in file if f" {call}(" in line).values(), default=0)

    def of_loader(self, call):
        """The number of them before memstatd's first instruction: the loader ends by freeing its list of libraries. It
        fails in its own ways without mmap, which memstatd cannot change."""
        if call not in TRACED:
            return 0
        output = os.path.join(self.directory, "loader")
        subprocess.run([*self.strace(f"{call},munmap", output), program.MEMSTATD, "--version"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "LD_PRELOAD": self.library})
        with open(output, encoding="utf-8", errors="replace") as file:
            return sum(f" {call}(" in line for line in file.read().split(" munmap(")[0].splitlines())

    def run(self, cases):
        """Runs in which these fail: call, number, length of the burst."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (call, at, burst), life in zip(cases, pool.map(lambda case: self.life(*case), cases)):
                self.endings[call, life.status] += 1
                if life.problem():
                    self.problems.append(f"{burst} of {call} from number {at} on: {life.problem()}")
                    print(self.problems[-1], flush=True)


def can_trace():
    """Whether strace is installed and may trace, which some containers forbid."""
    if not shutil.which("strace"):
        return False
    tried = subprocess.run(["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=mmap", "true"], check=False,
                           stderr=subprocess.PIPE)
    return tried.returncode == 0 and not tried.stderr


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with program.temporary_directory() as directory:
        sweep = Sweep(directory)
        for call in sys.argv[2:] or (*CALLS, *(TRACED if can_trace() else ())):
            made = sweep.count(call)
            sweep.run([(call, at, burst) for at in range(1 + sweep.of_loader(call), made + 1, step) for burst in BURSTS])
            endings = {status: number for (of, status), number in sorted(sweep.endings.items(), key=str) if of == call}
            print(f"{call}: {made} in a whole run; runs by how they ended: {endings}, {len(sweep.problems)} bad so far", flush=True)
    sys.exit(1 if sweep.problems else 0)


if __name__ == "__main__":
    main()
