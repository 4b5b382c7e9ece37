# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of this directory: they print what they found, and fail if they examined the wrong place."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def texts(directories, suffixes):
    """(path in the tree, text) of every file below these directories of the tree with one of these suffixes."""
    for directory in directories:
        for path in sorted((ROOT / directory).rglob("*")):
            if path.suffix in suffixes:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def report(found, count, least):
    """Prints what was found in `count` places, which must be at least `least`; returns the exit status."""
    for text in found:
        print(text)
    assert count > least, f"only {count} places were examined: this test examines the wrong place"
    return 1 if found else 0
