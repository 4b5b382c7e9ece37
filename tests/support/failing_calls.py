#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lives of memstatd in which system calls fail, one or some in a row, anywhere from start to stop: it serves on, or ends with a line
that says why and status 1 (2 where it is the configuration that cannot be read), and never by a signal.

`python3 tests/support/failing_calls.py [STEP [CALL]...]` with MEMSTATD, SOURCE_DIR and BUILD_DIR in the environment takes every
STEP-th of these calls (each one without it), of all kinds without CALL, and prints how the lives ended."""
import collections
import concurrent.futures
import os
import re
import sys

import captures
import out_of_memory
import preload
import program

CALLS = ("open", "read", "pread", "write", "readdir", "stat", "accept", "recv", "send", "poll", "pipe", "socketpair", "mmap", "thread",
         "fork")
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
        self.endings = collections.Counter()  # lives, by call and how they ended
        self.problems = []

    def life(self, call, at=0, burst=1):
        return Life(self.library, self.directory, at, burst, {"MEMSTAT_TEST_FAIL_CALL": call})

    def count(self, call):
        """How many of these calls a life makes in which none fails."""
        return self.life(call).allocations

    def run(self, cases):
        """Lives in which these fail: call, number, length of the burst."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (call, at, burst), life in zip(cases, pool.map(lambda case: self.life(*case), cases)):
                self.endings[call, life.status] += 1
                if life.problem():
                    self.problems.append(f"{burst} of {call} from number {at} on: {life.problem()}")
                    print(self.problems[-1], flush=True)


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with program.temporary_directory() as directory:
        sweep = Sweep(directory)
        for call in sys.argv[2:] or CALLS:
            made = sweep.count(call)
            sweep.run([(call, at, burst) for at in range(1, made + 1, step) for burst in BURSTS])
            endings = {status: number for (of, status), number in sorted(sweep.endings.items(), key=str) if of == call}
            print(f"{call}: {made} in a whole life; lives by how they ended: {endings}, {len(sweep.problems)} bad so far", flush=True)
    sys.exit(1 if sweep.problems else 0)


if __name__ == "__main__":
    main()
