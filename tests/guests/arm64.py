#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds memstatd and memstatctl for arm64 with Debian's cross compiler, against Debian 12's libraries for arm64.

    tests/guests/arm64.py [TARGET]...     TARGET: of ninja; without: memstatd memstatctl
    tests/guests/run arm64 [TEST]...      runs them in an emulated guest then

The libraries are downloaded once, with apt, into build/guests/arm64/root; this machine's package state is not touched. Needs Debian's
g++-aarch64-linux-gnu. Exit status: 77: what it needs is not there.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import kernels
import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/guests/arm64"
# Of daemon/packages.txt those that run on the machine that builds.
TOOLS = ("g++", "cmake", "ninja-build", "clang-14", "libbpf-dev", "libpfm4-dev")
TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT {root})
set(CMAKE_FIND_ROOT_PATH {root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
"""


def packages():
    lines = (ROOT / "daemon/packages.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split("#")[0].strip() for line in lines]
    return ["libc6-dev", "libstdc++-12-dev", "busybox-static", *(name for name in names if name and name not in TOOLS)]


def unpack_root():
    """Debian's packages and all that they depend on, unpacked."""
    new = PLACE / "root.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="memstat-arm64-") as directory:
        work = pathlib.Path(directory)
        apt = [*kernels.apt_for(work, "bookworm", "arm64"), "-o", "APT::Install-Recommends=false", "-o", "Debug::NoLocking=1"]
        kernels.run("apt-get", *apt, "update")
        kernels.run("apt-get", *apt, "-y", "--download-only", "install", *packages())
        for package in sorted((work / "cache/archives").glob("*.deb")):
            kernels.run("dpkg-deb", "-x", str(package), str(new))
    new.rename(machine.ARM64_ROOT)


def main():
    if not shutil.which("aarch64-linux-gnu-g++"):
        print("aarch64-linux-gnu-g++ is not installed (Debian's g++-aarch64-linux-gnu)")
        return 77
    try:
        if not machine.ARM64_ROOT.exists():
            unpack_root()
    except kernels.Missing as reason:
        print(f"Debian's packages for arm64 cannot be had: {reason}")
        return 77
    toolchain = PLACE / "toolchain.cmake"
    toolchain.write_text(TOOLCHAIN.format(root=machine.ARM64_ROOT), encoding="utf-8")
    build = PLACE / "build"
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DCMAKE_BUILD_TYPE=Release",
                    "-DMEMSTAT_TESTS=OFF", "-DMEMSTAT_EVENTS=OFF", "-DMEMSTAT_LIBPFM=OFF"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build, *(sys.argv[1:] or ["memstatd", "memstatctl"])], check=True)
    for program in ("memstatd", "memstatctl"):
        head = subprocess.run(["readelf", "-h", build / "bin" / program], capture_output=True, text=True, check=False).stdout
        print(f"{program}: {(re.search(r'Machine: +(.*)', head) or ['', 'not built'])[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
