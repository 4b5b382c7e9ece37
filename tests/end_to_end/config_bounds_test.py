#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The cost of a configuration: a file of the maximum size, made to be expensive, is rejected with at most 32 MB of resident memory, and a
daemon that reloads it returns the memory."""
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

LARGEST_BYTES = 1 << 20
BOUND_KIB = 32 * 1024
GIVEN_BACK_WITHIN_KIB = 4 * 1024

# Each piece is repeated up to the largest size.
DEAR = {
    "lists in lists": b"[",
    "maps in maps": b"{",
    "keys without end": b"? ",
    "lists in lists by blocks": b"- ",
    "short values": b"- a\n",
    "short values in brackets": b"a,",
    "maps of one key": b"- {a: b}\n",
    "anchors": b"- &a a\n",
    "colons": b": ",
    "words": b"a ",
    "quotes": b"\"",
    "lines": b"\n",
}


# The kernel's maximum includes what the process used before exec, so a small process starts memstatd.
STARTER = """
import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def check(config):
    """--check-config: its exit status, maximum resident KiB, and messages."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", STARTER, program.MEMSTATD, "--config", config, "--check-config"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=program.PATIENCE, check=False)
    return done.returncode, int(done.stdout.split()[-1]), done.stderr


# Just within what is refused before it is parsed.
DEAR_TO_PARSE = {
    "the maximum of brackets": b"[" * 59000 + b"a" * (LARGEST_BYTES - 59000),
    "the maximum of values": b"[" + b"a" * 32 + (b"," + b"a" * 51) * 19900,
    "the maximum of lines": (b"- " + b"a" * 49 + b"\n") * 19900,
    "the maximum of keys": b"".join(b"%09d: %s\n" % (i, b"a" * 80) for i in range(9900)),
}


def dear_text(name):
    if name in DEAR_TO_PARSE:
        return DEAR_TO_PARSE[name]
    begin = b"[" if name == "short values in brackets" else b""
    return (begin + DEAR[name] * LARGEST_BYTES)[:LARGEST_BYTES]


class ConfigBounds(unittest.TestCase):
    def setUp(self):
        if program.SANITIZER:
            self.skipTest("a sanitizer's own memory is counted")
        self.directory = self.enterContext(program.temporary_directory())
        self.config = os.path.join(self.directory, "memstatd.yaml")

    def test_the_largest_file_is_refused_within_its_bound(self):
        for name in [*DEAR, *DEAR_TO_PARSE]:
            with self.subTest(name):
                captures.write_file(self.config, dear_text(name))
                status, most_kib, errors = check(self.config)
                print(f"{name}: {most_kib} KiB, {errors.splitlines()[:1]}")
                self.assertEqual(status, 0 if name == "lines" else 2, errors)
                if name != "lines":
                    self.assertIn(self.config, errors)
                self.assertLessEqual(most_kib, BOUND_KIB, name)

    def test_a_reload_gives_the_memory_back(self):
        captures.write_file(self.config, b"poll: {interval: 100ms}\n")
        with program.Daemon("--config", self.config) as daemon:
            daemon.wait_page(lambda now: now.number("memstat_poll_duration_seconds_count") >= 3, "some polls")

            def resident_kib():
                return int(program.status_of(daemon.process.pid)["VmRSS"].split()[0])
            before = resident_kib()
            reloads = ("lists in lists", *DEAR_TO_PARSE)
            for round_number, name in enumerate(reloads, 1):
                captures.write_file(self.config, dear_text(name))
                daemon.process.send_signal(signal.SIGHUP)
                daemon.wait_log("the configuration was not reloaded", round_number)
                daemon.wait_page(lambda now: now.number("memstat_config_last_reload_successful") == 0, "the failed reload")
                program.wait_until(lambda: resident_kib() - before < GIVEN_BACK_WITHIN_KIB,
                                   lambda: f"the memory of {name}: {before} KiB before, {resident_kib()} KiB now")
            print(f"resident: {before} KiB before, {resident_kib()} KiB after {len(reloads)} reloads of a megabyte")


if __name__ == "__main__":
    program.main()
