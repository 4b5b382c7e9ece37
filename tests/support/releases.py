# SPDX-License-Identifier: BSD-2-Clause
"""The Debian releases on which memstatd is built and tested, from daemon/releases.txt: RELEASES["13"].suite."""
import pathlib
import platform
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


def here():
    """The release of this machine, or the oldest one on other systems: what its compiler made runs there."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return OLDEST
    release = system.get("VERSION_ID", "")
    return release if system["ID"] == "debian" and release in RELEASES else OLDEST
