#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: builds the packages twice
"""What is shipped: hardened programs, a bill of materials (SPDX), and reproducible packages. daemon/package/reproduce builds twice from
scratch, which takes too long for a test."""
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import package  # noqa: E402
import program  # noqa: E402

PROGRAMS = ("memstatd", "memstatctl")
LIBRARIES = ("libmemstat.so.3.0", "libcpc.so.1.0")


class Code:
    """The instructions of an installed file for x86-64, as bytes."""
    MARK = b"\xf3\x0f\x1e\xfa"  # endbr64, of -fcf-protection
    PROBE = b"\x48\x83\x0c\x24\x00"  # orq $0,(%rsp), of -fstack-clash-protection and of nothing else

    def __init__(self, path):
        sections = package.command("readelf", "-SW", path)
        address, offset, size = (int(field, 16) for field in
                                 re.search(r"\] \.text +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", sections).groups())
        with open(path, "rb") as file:
            self.text = file.read()[offset:offset + size]
        pointers = {int(value, 16) - address for value in
                    re.findall(r"R_X86_64_RELATIVE +([0-9a-f]+)", package.command("readelf", "-rW", path))}
        # The targets of pointers in the file: virtual functions, callbacks, constructors.
        self.targets = [pointer for pointer in pointers if 0 <= pointer < size]

    def unmarked(self):
        return [target for target in self.targets if not self.text.startswith(self.MARK, target)]


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Supply(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(program.temporary_directory())
        cls.root = os.path.join(cls.directory, "root")
        package.install("/usr", cls.root)

    def installed(self, *path):
        return os.path.join(self.root, "usr", *path)

    @unittest.skipUnless(shutil.which("readelf"), "readelf is not installed (Debian package binutils)")
    def test_the_installed_programs_are_hardened(self):
        for name in PROGRAMS:
            with self.subTest(name):
                headers = package.command("readelf", "-lW", self.installed("bin", name))
                dynamic = package.command("readelf", "-dW", self.installed("bin", name))
                symbols = package.command("readelf", "--dyn-syms", "-W", self.installed("bin", name))
                self.assertRegex(dynamic, r"FLAGS_1.*\bPIE\b")
                self.assertRegex(headers, r"GNU_RELRO")
                self.assertRegex(dynamic, r"\bBIND_NOW\b|FLAGS_1.*\bNOW\b", "RELRO is full with both")
                self.assertRegex(headers, r"GNU_STACK .* RW +0x", "no stack that can be run")
                self.assertNotRegex(headers, r"LOAD .* RWE ", "nothing that can be written and run")
                self.assertNotRegex(dynamic, r"\b(RPATH|RUNPATH|TEXTREL)\b")
                self.assertIn("__stack_chk_fail", symbols)
                self.assertRegex(symbols, r"__\w+_chk@", "fortified calls")
                if name == "memstatd":  # level 3: buffers whose sizes are known only at run time
                    self.assertRegex(symbols, r"__(read|recv)_chk@")

    @unittest.skipUnless(shutil.which("readelf") and platform.machine() == "x86_64", "readelf is not installed, or this is no x86-64")
    def test_targets_of_indirect_calls_are_marked_and_large_stack_frames_probed(self):
        # The note of IBT and SHSTK in a file requires all that is linked to have it, and Debian 12's start files lack it. So
        # the test looks at the instructions, which are what a kernel and a C library with these features need.
        libraries = [os.path.join(package.setting("CMAKE_INSTALL_LIBDIR"), name) for name in LIBRARIES]
        for name in [os.path.join("bin", name) for name in PROGRAMS] + [name for name in libraries if os.path.exists(self.installed(name))]:
            with self.subTest(name):
                code = Code(self.installed(name))
                unmarked = code.unmarked()
                print(f"{name}: {len(code.targets)} targets of pointers, {len(unmarked)} without mark, "
                      f"{code.text.count(Code.PROBE)} probes of the stack")
                self.assertGreater(len(code.targets), 20)
                self.assertEqual([hex(target) for target in unmarked[:20]], [])
                if name.startswith("bin"):
                    self.assertGreater(code.text.count(Code.PROBE), 0)

    def test_the_list_of_parts_names_what_is_there(self):
        path = self.installed("share", "doc", "memstatd", "memstatd.spdx.json")
        if not os.path.exists(path):
            self.skipTest("the target sbom was not built")
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual((document["spdxVersion"], document["dataLicense"], document["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(document["documentNamespace"], r"^https://\S+-[0-9a-f]{64}$")
        self.assertRegex(document["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        packages = {part["SPDXID"]: part for part in document["packages"]}
        self.assertEqual(len(packages), len(document["packages"]))
        for identity, part in packages.items():
            self.assertRegex(identity, r"^SPDXRef-[A-Za-z0-9.-]+$")
            for field in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"):
                self.assertTrue(part[field], (identity, field))
        for relation in document["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], packages)
            self.assertIn(relation["spdxElementId"], {"SPDXRef-DOCUMENT", *packages})
        names = {part["name"] for part in packages.values()}
        self.assertLessEqual({"uplot", *PROGRAMS}, names)
        for name in PROGRAMS:
            built = os.path.join(os.path.dirname(program.MEMSTATD), name)
            self.assertEqual(packages[f"SPDXRef-program-{name}"]["checksums"][0]["checksumValue"], sha256(built))
            needed = re.findall(r"\(NEEDED\).*\[(\S+)\]", package.command("readelf", "-dW", built)) if shutil.which("readelf") else []
            self.assertLessEqual(set(needed), names)
        if shutil.which("dpkg-query"):
            libc = packages["SPDXRef-library-libc.so.6"]
            self.assertRegex(libc["externalRefs"][0]["referenceLocator"], r"^pkg:deb/debian/libc6@\d")

    @unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("cpack"), "dpkg-dev is not installed")
    def test_packages_made_again_are_equal(self):
        digests = []
        for number in ("1", "2"):
            directory = os.path.join(self.directory, number)
            package.command("cpack", "--config", os.path.join(package.BUILD_DIR, "CPackConfig.cmake"), "-G", "DEB", "-B", directory,
                            environment={"SOURCE_DATE_EPOCH": "1700000000"})
            digests.append({name: sha256(os.path.join(directory, name)) for name in os.listdir(directory) if name.endswith(".deb")})
        self.assertGreaterEqual(len(digests[0]), 5)
        self.assertEqual(digests[0], digests[1])


if __name__ == "__main__":
    program.main()
