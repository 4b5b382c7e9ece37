# SPDX-License-Identifier: BSD-2-Clause
"""The Debian releases on which memstatd is built and tested, from daemon/releases.txt: RELEASES["13"].suite."""
import pathlib
import typing

TABLE = pathlib.Path(__file__).resolve().parents[2] / "daemon" / "releases.txt"


class Release(typing.NamedTuple):
    suite: str
    gcc: str
    clang: str


def read(text):
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {release: Release(*row) for release, *row in rows}


RELEASES = read(TABLE.read_text(encoding="ascii"))
OLDEST, NEWEST = next(iter(RELEASES)), next(reversed(RELEASES))
