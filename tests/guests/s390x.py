#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tests of captures on a machine of the other byte order: cross-built for s390x and run by QEMU's user mode.

    tests/guests/s390x.py [GTEST_ARGUMENT]...

Captures of Linux, which are text, must be read there as here, and those of FreeBSD refused with the reason. Debian's libraries for s390x are
downloaded once, with apt, into build/guests/s390x/root. Needs Debian's g++-s390x-linux-gnu and qemu-user-static. Exit status: 77: what it
needs is not there.
"""
import pathlib
import shutil
import subprocess
import sys

import arm64
import kernels

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/guests/s390x"
PACKAGES = ("libc6-dev", arm64.CXX_LIBRARY, "libzstd-dev", *arm64.FOR_TESTS)


def main():
    for program, package in (("s390x-linux-gnu-g++", "g++-s390x-linux-gnu"), ("qemu-s390x-static", "qemu-user-static")):
        if not shutil.which(program):
            print(f"{program} is not installed (Debian's {package})")
            return 77
    root, build = PLACE / "root", PLACE / "build"
    try:
        if not root.exists():
            arm64.unpack_root("s390x", PACKAGES, root)
    except kernels.Missing as reason:
        print(f"Debian's packages for s390x are not available: {reason}")
        return 77
    parts = ("DAEMON", "COUNTERS", "POSTMORTEM")
    arm64.configure(build, "s390x", root, "-DCMAKE_BUILD_TYPE=Debug", "-DMEMSTAT_EVENTS=OFF", *(f"-DMEMSTAT_{part}=OFF" for part in parts))
    subprocess.run(["ninja", "-C", build, "test_capture"], check=True)
    return subprocess.run(["qemu-s390x-static", "-L", root, build / "bin/test_capture", *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
