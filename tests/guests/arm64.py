#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds memstatd and memstatctl for arm64 with Debian's cross compiler, against Debian 12's libraries for arm64.

    tests/guests/arm64.py [TARGET]...     TARGET: of ninja; without: memstatd memstatctl
    tests/guests/arm64.py --package       also makes the Debian packages, below build/guests/arm64/packages
    tests/guests/arm64.py --tests         also builds test_c_api, for tests/guests/run arm64 c_api
    tests/guests/run arm64 [TEST]...      then runs them in an emulated guest

The libraries are downloaded once, with apt, into build/guests/arm64/root; this machine's package state is not touched. Needs Debian's
g++-aarch64-linux-gnu, and qemu-user-static for --tests. Exit status: 77: what it needs is not there.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import kernels
import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import releases  # noqa: E402

OLDEST = releases.RELEASES[releases.OLDEST]
CXX_LIBRARY = f"libstdc++-{OLDEST.gcc}-dev"
PLACE = ROOT / "build/guests/arm64"
# The packages of daemon/packages.txt that run on the build machine.
TOOLS = ("g++", "cmake", "ninja-build", "clang", "libbpf-dev", "libpfm4-dev")
FOR_TESTS = ("libgtest-dev", "libgmock-dev", "zlib1g-dev")
PACKAGED = ("memstatd", "memstatctl", "memstat", "memstat_static", "cpc")
TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {processor})
set(CMAKE_C_COMPILER {processor}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER {processor}-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE {processor}-linux-gnu)
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
    return ["libc6-dev", CXX_LIBRARY, "busybox-static", *FOR_TESTS, *(name for name in names if name and name not in TOOLS)]


def note_package(package, new, root):
    """Writes dpkg's records of a package unpacked in `new`, which will be in `root`, so that dpkg-shlibdeps finds a library's package."""
    fields = kernels.run("dpkg-deb", "-f", str(package))
    name, architecture = (re.search(rf"^{field}: (.*)$", fields, re.M)[1] for field in ("Package", "Architecture"))
    stem = new / "var/lib/dpkg/info" / (f"{name}:{architecture}" if "\nMulti-Arch: same" in fields else name)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = re.findall(r"^\S+ \S+ +\d+ \S+ \S+ \.(/.*?)(?: -> .*)?$", kernels.run("dpkg-deb", "-c", str(package)), re.M)
    pathlib.Path(f"{stem}.list").write_text("".join(f"{root}{path.rstrip('/')}\n" for path in paths), encoding="utf-8")
    with tempfile.TemporaryDirectory() as control:
        kernels.run("dpkg-deb", "-e", str(package), control)
        for kind in ("symbols", "shlibs"):
            if (pathlib.Path(control) / kind).exists():
                shutil.copy(pathlib.Path(control) / kind, f"{stem}.{kind}")
    (stem.parent / "format").write_text("1\n", encoding="ascii")
    with open(new / "var/lib/dpkg/status", "a", encoding="utf-8") as status:
        status.write(f"{fields.strip()}\nStatus: install ok installed\n\n")


def unpack_root(architecture, names, root, suite=OLDEST.suite):
    """Debian's packages of these names and all their dependencies, unpacked."""
    new = root.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix=f"memstat-{architecture}-") as directory:
        work = pathlib.Path(directory)
        apt = [*kernels.apt_for(work, suite, architecture), "-o", "APT::Install-Recommends=false", "-o", "Debug::NoLocking=1"]
        kernels.run("apt-get", *apt, "update")
        kernels.run("apt-get", *apt, "-y", "--download-only", "install", *names)
        for package in sorted((work / "cache/archives").glob("*.deb")):
            kernels.run("dpkg-deb", "-x", str(package), str(new))
            note_package(package, new, root)
    new.rename(root)


def configure(build, processor, root, *options):
    """Makes CMake configure a tree for a processor, named as in Debian, with the libraries in `root`."""
    toolchain = build.with_suffix(".toolchain.cmake")
    toolchain.write_text(TOOLCHAIN.format(root=root, processor=processor), encoding="utf-8")
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DCMAKE_BUILD_TYPE=Release",
                    f"-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-{processor}-static;-L;{root}", *options], check=True, stdout=subprocess.DEVNULL)


def make_packages(build):
    """The Debian packages; dpkg-shlibdeps finds their dependencies in what note_package() wrote."""
    root, target = machine.ARM64_ROOT, PLACE / "packages"
    libraries = [build / "lib", *(root / directory for directory in ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"))]
    environment = os.environ | {"DPKG_ADMINDIR": str(root / "var/lib/dpkg"), "DEB_HOST_ARCH": "arm64"}
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", target, "-D", "CPACK_DEBIAN_PACKAGE_ARCHITECTURE=arm64", "-D",
                    "CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS=" + ";".join(map(str, libraries))], check=True, env=environment)
    for package in sorted(target.glob("*.deb")):
        fields = kernels.run("dpkg-deb", "-f", str(package))
        print(package.name, *re.findall(r"^(?:Architecture|Depends): .*$", fields, re.M), sep="; ")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("targets", nargs="*", metavar="TARGET", help=argparse.SUPPRESS)
    arguments.add_argument("--package", action="store_true", help="make the Debian packages")
    arguments.add_argument("--tests", action="store_true", help="build the tests of the C API")
    options = arguments.parse_args()
    if not shutil.which("aarch64-linux-gnu-g++"):
        print("aarch64-linux-gnu-g++ is not installed (Debian's g++-aarch64-linux-gnu)")
        return 77
    try:
        if not machine.ARM64_ROOT.exists():
            unpack_root("arm64", packages(), machine.ARM64_ROOT)
    except kernels.Missing as reason:
        print(f"Debian's packages for arm64 are not available: {reason}")
        return 77
    build = PLACE / "build"
    configure(build, "aarch64", machine.ARM64_ROOT, f"-DMEMSTAT_TESTS={'ON' if options.tests else 'OFF'}", "-DMEMSTAT_EVENTS=OFF", "-DMEMSTAT_LIBPFM=OFF")
    targets = options.targets or [*(PACKAGED if options.package else PACKAGED[:2]), *(["test_c_api"] if options.tests else [])]
    subprocess.run(["ninja", "-C", build, *targets], check=True)
    for program in ("memstatd", "memstatctl"):
        head = subprocess.run(["readelf", "-h", build / "bin" / program], capture_output=True, text=True, check=False).stdout
        print(f"{program}: {(re.search(r'Machine: +(.*)', head) or ['', 'not built'])[1]}")
    if options.package:
        make_packages(build)
    return 0


if __name__ == "__main__":
    sys.exit(main())
