# SPDX-License-Identifier: BSD-2-Clause
"""tests/LEDGER.md: a row for each long run, which tests/fuzz/long and tests/support/soak.py append themselves.

The variable LEDGER names another file. The date and commit of a row are those at which its run began."""
import datetime
import fcntl
import os
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FUZZING, SOAKING = "Fuzzing", "Soaking"
COLUMNS = {FUZZING: ("date", "commit", "CPU hours", "executions", "crashes", "target executions/edges"),
           SOAKING: ("date", "commit", "hours", "growth KiB", "descriptors", "wrong answers")}
HEAD = """# Long runs

`tests/fuzz/long` and `tests/support/soak.py` append a row when they end, also when they are stopped. `+` after a commit: with changes.
CPU hours are those that the fuzzers used. Executions have three digits (k, M, G). Growth is that of resident memory and descriptors
from the first fifth of a run to the last, of memstatd on this kernel and of memstatd on a replay.

Version 1.0.0 is a release candidate until the rows have 24 CPU hours of fuzzing, each target 30 minutes since its parser last changed
and no crash open, and 8 hours of soaking in runs of at least 2 hours.
"""


def path():
    return pathlib.Path(os.environ.get("LEDGER") or SOURCE / "tests/LEDGER.md")


def empty():
    tables = (f"\n## {name}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n" for name, columns in COLUMNS.items())
    return HEAD + "".join(tables)


def commit():
    def git(*arguments):
        return subprocess.run(["git", "-C", str(SOURCE), *arguments], capture_output=True, text=True, check=True).stdout.strip()
    try:
        is_changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!tests/LEDGER.md")
        return git("rev-parse", "--short=8", "HEAD") + ("+" if is_changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def compact(number):
    """Three digits: 42, 9.99k, 12.3M."""
    for unit in ("", "k", "M", "G"):
        if number < 999.5 or unit == "G":
            return f"{number:.{3 if not unit else 2 if number < 9.995 else 1 if number < 99.95 else 0}f}".removesuffix(".000") + unit
        number /= 1000
    return ""


class Row:
    """The row of a run that begins now."""

    def __init__(self, table):
        self.table = table
        self.begun = [f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}", commit()]

    def add(self, *cells):
        """Appends it to its table. Another run may do the same at this moment."""
        cells = self.begun + [str(cell) for cell in cells]
        if len(cells) != len(COLUMNS[self.table]):
            raise ValueError(f"{self.table} has {len(COLUMNS[self.table])} columns, the row {len(cells)}")
        with open(path(), "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before, heading, table = (file.read() or empty()).partition(f"\n## {self.table}\n")
            if not heading:
                raise ValueError(f"{path()}: no table \"{self.table}\"")
            rows, next_heading, after = table.partition("\n## ")
            row = "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |\n"
            file.truncate(0)
            file.write(before + heading + rows + row + next_heading + after)


def rows(table):
    """The cells of the rows of a table."""
    text = path().read_text(encoding="utf-8")
    if not text.startswith(HEAD):
        raise ValueError(f"{path()}: does not begin as tests/support/ledger.py writes it")
    lines = text.partition(f"\n## {table}\n\n")[2].partition("\n## ")[0].splitlines()
    return [line.strip("|").strip().split(" | ") for line in lines[2:]]
