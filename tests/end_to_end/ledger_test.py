#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tests/LEDGER.md is as its writer writes it, and tests/fuzz/long appends a row, also when it is stopped."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import ledger  # noqa: E402

# Prints like libFuzzer. `waits_fuzz` runs until it is interrupted; `early_fuzz` uses a tenth of a second of CPU; `bad_fuzz` crashes.
FUZZER = """#!/usr/bin/python3 -B
import os, signal, sys, time
name = os.path.basename(sys.argv[0])
def end(status):
    print(f"#9 NEW cov: {len(name)} ft: 9\\nstat::number_of_executed_units: 12345", file=sys.stderr, flush=True)
    os._exit(status)
if "MEMSTAT_SEEDS" in os.environ or any(argument.startswith("-seed=") for argument in sys.argv):
    sys.exit(0)
if name == "waits_fuzz":
    signal.signal(signal.SIGINT, lambda *_: end(72))
    open(os.environ["STARTED"], "w").close()
    signal.pause()
while time.process_time() < 0.1:
    pass
end(77 if name == "bad_fuzz" else 0)
"""
COMMIT = r"[0-9a-f]{8,}\+?|unknown"
PATTERNS = {
    ledger.FUZZING: (r"20\d\d-\d\d-\d\d", COMMIT, r"\d+\.\d\d", r"[\d.]+[kMG]?", r"\d+", r"[a-z0-9_]+ [\d.]+[kMG]?/\d+(, [a-z0-9_]+ [\d.]+[kMG]?/\d+)*|"),
    ledger.SOAKING: (r"20\d\d-\d\d-\d\d", COMMIT, r"\d+\.\d\d", r"live [+-]\d+, replay [+-]\d+", r"[+-]\d+, [+-]\d+", r"\d+"),
}


class Ledger(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.ledger = self.directory / "LEDGER.md"

    def check_rows(self, table, rows):
        for row in rows:
            self.assertEqual(len(row), len(PATTERNS[table]), row)
            for cell, pattern in zip(row, PATTERNS[table]):
                self.assertRegex(cell.strip(), re.compile(f"(?:{pattern})$"), row)

    def fuzz(self, *names):
        (self.directory / "bin").mkdir(exist_ok=True)
        for name in names:
            program = self.directory / "bin" / name
            program.write_text(FUZZER, encoding="ascii")
            program.chmod(0o755)
        environment = {**os.environ, "BUILD_DIR": str(self.directory), "LEDGER": str(self.ledger), "STARTED": str(self.directory / "started")}
        return subprocess.Popen([sys.executable, "-B", str(ledger.SOURCE / "tests/fuzz/long"), "0.001"], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def fuzzing_rows(self):
        with mock.patch.dict(os.environ, LEDGER=str(self.ledger)):
            rows = ledger.rows(ledger.FUZZING)
        self.check_rows(ledger.FUZZING, rows)
        return rows

    def test_the_kept_ledger_is_as_the_scripts_write_it(self):
        text = (ledger.SOURCE / "tests/LEDGER.md").read_text(encoding="utf-8")
        kept = {table: ledger.rows(table) for table in PATTERNS}
        for table, rows in kept.items():
            self.check_rows(table, rows)
        with mock.patch.dict(os.environ, LEDGER=str(self.ledger)):  # written again, it is the same
            for table, rows in kept.items():
                for cells in rows:
                    row = ledger.Row(table)
                    row.begun = cells[:2]
                    row.add(*cells[2:])
        if any(kept.values()):
            self.assertEqual(self.ledger.read_text(encoding="utf-8"), text)
        else:
            self.assertEqual(text, ledger.empty())

    def test_rows_are_appended_to_their_table(self):
        with mock.patch.dict(os.environ, LEDGER=str(self.ledger)):
            rows = [ledger.Row(table) for table in (ledger.SOAKING, ledger.FUZZING)] * 5
            soaked, fuzzed = ("2.00", "live +12, replay -3", "+0, +0", 0), ("2.10", "9.99G", 0, "tar 4.21M/871, config 812/90")
            writers = [threading.Thread(target=row.add, args=soaked if row.table == ledger.SOAKING else fuzzed) for row in rows]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            for table in PATTERNS:
                self.assertEqual(len(ledger.rows(table)), 5)
                self.check_rows(table, ledger.rows(table))
            with self.assertRaises(ValueError):
                ledger.Row(ledger.SOAKING).add("2.00")

    def test_numbers_are_compact(self):
        self.assertEqual([ledger.compact(number) for number in (0, 42, 999, 1000, 9994, 9996, 99949, 99951, 123456, 12345678, 10 ** 13)],
                         ["0", "42", "999", "1.00k", "9.99k", "10.0k", "99.9k", "100k", "123k", "12.3M", "10000G"])

    def test_a_run_of_the_fuzzers_is_a_row(self):
        output, _ = (run := self.fuzz("bad_fuzz", "early_fuzz")).communicate()
        self.assertEqual(run.returncode, 1, output)
        (row,) = self.fuzzing_rows()
        self.assertEqual(row[3:], ["24.7k", "1", "bad 12.3k/8, early 12.3k/10"])
        self.assertRegex(output, r"early_fuzz +12345 +10  none")

    def test_what_was_done_until_it_was_stopped_is_a_row(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                run = self.fuzz("waits_fuzz")
                while not (self.directory / "started").exists() and run.poll() is None:
                    os.sched_yield()
                run.send_signal(number)
                output, _ = run.communicate()
                self.assertEqual(run.returncode, 0, output)
                self.assertEqual(self.fuzzing_rows()[-1][3:], ["12.3k", "0", "waits 12.3k/10"])
                (self.directory / "started").unlink()

    def test_hours_are_those_of_the_processor(self):
        loader = importlib.machinery.SourceFileLoader("fuzz_long", str(ledger.SOURCE / "tests/fuzz/long"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz_long", loader))
        with mock.patch.dict(sys.modules, fuzz_long=module):
            loader.exec_module(module)
        busy = "import time\nwhile time.process_time() < 0.2: pass\nprint(time.process_time())"
        nested = f"import subprocess, sys\nprint(sum(float(subprocess.check_output([sys.executable, '-c', {busy!r}])) for _ in range(2)))"
        status, printed, seconds = module.Fuzzers(1).call([sys.executable, "-c", nested])
        self.assertEqual(status, 0)
        self.assertGreaterEqual(seconds, float(printed))


if __name__ == "__main__":
    unittest.main()
