#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Debian 13's makedumpfile, kexec and drgn, which know newer kernels and more formats than Debian 12's.

    tests/guests/dump_tools.py     unpacks them below build/guests/dump_tools and prints what they are

This machine's package state is not touched: the programs run with the loader and the libraries that they came with.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import arm64
import kernels

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/guests/dump_tools"
SUITE = "trixie"
PACKAGES = ("makedumpfile", "kexec-tools", "python3-drgn")
LOADER = "usr/lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def find():
    """Unpacks them if they are missing. Raises kernels.Missing."""
    if PLACE.exists():
        return
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise kernels.Missing(f"{program} is missing: the tools are Debian's packages")
    arm64.unpack_root("amd64", PACKAGES, PLACE, SUITE)


def command(program):
    """The command that runs usr/bin/NAME or usr/sbin/NAME of the unpacked tools."""
    return [str(PLACE / LOADER), "--library-path", str(PLACE / LIBRARIES), str(PLACE / program)]


def python():
    """The same for the unpacked Python with drgn, and its environment."""
    version = re.match(r"python(3\.\d+)", next(path.name for path in (PLACE / "usr/bin").glob("python3.*")))[1]
    places = {"PYTHONHOME": str(PLACE / "usr"), "PYTHONPATH": str(PLACE / "usr/lib/python3/dist-packages")}
    return command(f"usr/bin/python{version}"), os.environ | places


def files_of(programs):
    """The files that a guest needs to run the tools: {path: (mode, content)}."""
    files = {"lib64/ld-linux-x86-64.so.2": (0o100755, (PLACE / LOADER).read_bytes())}
    for program in programs:
        files[f"bin/{pathlib.Path(program).name}"] = (0o100755, (PLACE / program).read_bytes())
        words = command(program)
        listed = subprocess.run([*words[:-1], "--list", words[-1]], capture_output=True, text=True, check=True).stdout
        for name in re.findall(rf"=> {re.escape(str(PLACE / LIBRARIES))}/(\S+)", listed):
            files[f"{LIBRARIES}/{name}"] = (0o100755, (PLACE / LIBRARIES / name).read_bytes())
    return files


def main():
    try:
        find()
    except kernels.Missing as reason:
        print(reason)
        return 77
    print(subprocess.run([*command("usr/bin/makedumpfile"), "-v"], capture_output=True, text=True, check=False).stdout.splitlines()[0])
    print(subprocess.run([*command("usr/sbin/kexec"), "-v"], capture_output=True, text=True, check=False).stdout.strip())
    words, environment = python()
    return subprocess.run([*words, "-c", "import drgn; print('drgn', drgn.__version__)"], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
