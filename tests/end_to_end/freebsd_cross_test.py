#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""daemon/package/freebsd/toolchain.cmake: which system it finds in a sysroot, what it says of one that is not, and, where FREEBSD_SYSROOT
(and FREEBSD_PREFIX, FREEBSD_LLVM) name a real one, that memstatd and memstatctl compile, link and need no library of DTrace."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ["SOURCE_DIR"]
TOOLCHAIN = os.path.join(SOURCE, "daemon/package/freebsd/toolchain.cmake")
# Prints what the toolchain file sets. A script includes it, so that no compiler has to work.
PRINT = """include("{toolchain}")
foreach(name CMAKE_SYSTEM_NAME CMAKE_SYSTEM_VERSION CMAKE_SYSTEM_PROCESSOR CMAKE_CXX_COMPILER_TARGET CMAKE_SYSROOT CMAKE_PREFIX_PATH)
  message("${{name}}=${{${{name}}}}")
endforeach()
"""


def described(sysroot):
    """What the file sets for a sysroot, or how it fails."""
    with tempfile.TemporaryDirectory() as place:
        script = os.path.join(place, "print.cmake")
        with open(script, "w", encoding="ascii") as file:
            file.write(PRINT.format(toolchain=TOOLCHAIN))
        done = subprocess.run(["cmake", f"-DFREEBSD_SYSROOT={sysroot}", "-P", script], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


class Toolchain(unittest.TestCase):
    def test_reads_the_release_from_the_sysroot(self):
        if not shutil.which("clang++"):
            self.skipTest("needs clang++")
        for version, release in (("1500068", "15.0"), ("1304000", "13.4"), ("1401000", "14.1")):
            with tempfile.TemporaryDirectory() as sysroot:
                os.makedirs(os.path.join(sysroot, "usr/include/sys"))
                with open(os.path.join(sysroot, "usr/include/sys/param.h"), "w", encoding="ascii") as file:
                    file.write(f"#undef __FreeBSD_version\n#define __FreeBSD_version {version}\t/* Master */\n")
                status, said = described(sysroot)
                self.assertEqual(status, 0, said)
                self.assertEqual(dict(line.split("=", 1) for line in said.split()),
                                 {"CMAKE_SYSTEM_NAME": "FreeBSD", "CMAKE_SYSTEM_VERSION": release, "CMAKE_SYSTEM_PROCESSOR": "amd64",
                                  "CMAKE_CXX_COMPILER_TARGET": f"x86_64-unknown-freebsd{release}", "CMAKE_SYSROOT": sysroot,
                                  "CMAKE_PREFIX_PATH": f"{sysroot}/usr/local"})

    def test_says_what_is_missing(self):
        status, said = described("/nonexistent")
        self.assertNotEqual(status, 0)
        self.assertIn("unpack base.txz", " ".join(said.split()))

    def test_builds_and_links_the_tree(self):
        if "FREEBSD_SYSROOT" not in os.environ:
            self.skipTest("FREEBSD_SYSROOT names no FreeBSD")
        options = [f"-D{name}={os.environ[name]}" for name in ("FREEBSD_SYSROOT", "FREEBSD_PREFIX", "FREEBSD_LLVM") if name in os.environ]
        with tempfile.TemporaryDirectory() as build:
            subprocess.run(["cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}", "-DMEMSTAT_TESTS=OFF",
                            *options, *os.environ.get("FREEBSD_OPTIONS", "").split()], check=True, stdout=subprocess.DEVNULL)
            built = subprocess.run(["ninja", "-C", build, "memstatd", "memstatctl"], check=True, stdout=subprocess.PIPE, text=True)
            self.assertNotIn("warning:", built.stdout)
            for program in ("memstatd", "memstatctl"):
                dynamic = subprocess.run(["readelf", "-d", os.path.join(build, "bin", program)], check=True, stdout=subprocess.PIPE, text=True)
                needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic.stdout)
                self.assertIn("libc.so.7", needed)
                self.assertFalse([library for library in needed if "dtrace" in library], "not in every base system")


if __name__ == "__main__":
    unittest.main()
