#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd as on FreeBSD, where it may use no paths once it serves: later work on files continues, below directories that it has opened
before. tests/support/capability_mode.c makes the calls fail here that capability mode refuses there."""
import os
import re
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import preload  # noqa: E402
import program  # noqa: E402

CAPTURE = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "captures", "freebsd-15.0-amd64-4cpu.tar.zst")


class CapabilityMode(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        os.chmod(self.directory, 0o777)
        library = preload.build_library(self.directory, "capability_mode.c")
        self.environment = {"LD_PRELOAD": library}
        # FreeBSD does not have Linux's filter and rules; the library refuses calls instead.
        self.config = ["sandbox: false", "enable_reload: true"]
        self.write_config()

    def path(self, name):
        return os.path.join(self.directory, name)

    def write_config(self, *more):
        """As editors do: a new file takes the name."""
        captures.write_file(self.path("new"), "\n".join([*self.config, *more, ""]).encode())
        os.rename(self.path("new"), self.path("memstatd.yaml"))

    def refusals(self, daemon):
        return re.findall(r"capability mode refuses: (.*)", daemon.log)

    def serve(self, *more):
        daemon = program.Daemon("--config", self.path("memstatd.yaml"), "--replay", CAPTURE, "--replay-speed", "1000", *more,
                                environment=self.environment)
        self.assertIn("capability mode is entered", daemon.log)
        return daemon

    def test_it_serves_and_reloads_without_a_path(self):
        with self.serve() as daemon:
            daemon.wait_log("the replay has ended")
            self.assertIn(b'allocator="malloc"', daemon.scrape())
            for path in ("/", "/api/v1/types", "/-/healthy", "/-/ready"):
                daemon.request(path)
            self.assertEqual(self.refusals(daemon), [])
            self.write_config("min_bytes: 1KiB")
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("the configuration was reloaded")
            self.write_config("no such key: 1")
            self.assertEqual(daemon.request("/-/reload", "POST")[0], 500)
            self.write_config()
            self.assertEqual(daemon.request("/-/reload", "POST")[0], 200)
            # The path is tried first: on systems where that works, it may be another directory by now.
            self.assertEqual(set(self.refusals(daemon)), {f"openat {self.path('memstatd.yaml')}"})
            stats = {name: float(value) for name, value in re.findall(r"^(process_\w+) (\S+)$", daemon.scrape().decode(), re.MULTILINE)}
            for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"):
                self.assertGreater(stats[name], 0)
            self.assertEqual(daemon.terminate(), 0, daemon.log)

    def test_it_records_and_writes_its_text_file_without_a_path(self):
        for record in ("recording", "recording.tar.zst"):
            with self.subTest(record=record):
                textfile = self.path(f"{record}.prom")
                self.config = ["sandbox: false", f"textfile: {textfile}"]
                self.write_config()
                with self.serve("--record", self.path(record)) as daemon:
                    daemon.wait_log("the replay has ended")
                    program.wait_until(lambda: os.path.exists(textfile), "the text file")
                    self.assertEqual(daemon.terminate(signal.SIGINT), 0, daemon.log)
                    self.assertEqual(self.refusals(daemon), [])
                with open(textfile, encoding="utf-8") as file:
                    self.assertIn('allocator="malloc"', file.read())
                done = program.run("--once", "--replay", self.path(record))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(b'allocator="malloc"', done.stdout)


if __name__ == "__main__":
    unittest.main()
