#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""libcpc as shipped: its symbols, its manual page, and programs like the original's examples."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import package  # noqa: E402
import program  # noqa: E402

SHARED = os.path.join(package.BUILD_DIR, "lib", "libcpc.so")
LIBDIR = package.setting("CMAKE_INSTALL_LIBDIR")
# The calls of libcpc(3LIB), each with a page of its own there.
ORIGINAL = {f"cpc_{name}" for name in """
open close npic caps cciname cpuref seterrhndlr walk_events_all walk_events_pic walk_generic_events_all walk_generic_events_pic
walk_attrs walk_requests set_create set_destroy set_add_request set_request_preset request_preset bind_curlwp bind_pctx bind_cpu unbind
set_restart set_sample enable disable buf_create buf_destroy buf_get buf_set buf_hrtime buf_tick buf_sub buf_add buf_copy buf_zero
version access
""".split()}


def read(*path):
    with open(os.path.join(program.SOURCE_DIR, *path), encoding="ascii") as file:
        return file.read()


def declared():
    code = re.sub(r"/\*.*?\*/", "", read("core", "include", "libcpc.h"), flags=re.DOTALL)
    return set(re.findall(r"^CPC_EXPORT [^;(]*?\b(\w+)\(", code, re.M))


@unittest.skipUnless(os.path.exists(SHARED), "this build has no libcpc")
class Library(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())

    def test_it_shows_what_is_declared_and_all_of_the_original(self):
        shown = [line.split()[2] for line in package.command("nm", "-D", "--defined-only", SHARED).splitlines()]
        self.assertEqual(sorted(shown), sorted(declared()))
        self.assertEqual(ORIGINAL - set(shown), set())
        self.assertRegex(package.command("readelf", "-dW", SHARED), r"\(SONAME\).*\[libcpc\.so\.1\]")

    def test_the_page_has_every_function(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not installed")
        page = os.path.join(program.SOURCE_DIR, "core/man/cpc.3")
        self.assertEqual(package.command("mandoc", "-T", "lint", "-W", "warning", page), "")
        with open(page, encoding="ascii") as file:
            text = file.read()
        synopsis, description = text.split(".Sh DESCRIPTION")
        self.assertEqual(set(re.findall(r"^\.Fo (\w+)", synopsis, re.M)), declared())
        self.assertEqual(declared() - set(re.findall(r"^\.Fn (\w+)", description, re.M)), set())

    def test_programs_like_the_originals_examples(self):
        for needed in ("make", "pkg-config"):
            if not shutil.which(needed):
                self.skipTest(f"{needed} is not installed")
        prefix = os.path.join(self.directory, "prefix")
        package.install(prefix)
        environment = {"PKG_CONFIG_PATH": os.path.join(prefix, LIBDIR, "pkgconfig"), "LD_LIBRARY_PATH": os.path.join(prefix, LIBDIR)}
        build = shutil.copytree(os.path.join(package.CONSUMERS, "libcpc"), os.path.join(self.directory, "build"))
        package.command("make", "-C", build, f"CC={package.setting('CMAKE_C_COMPILER', 'cc')}", environment=environment)
        probe = subprocess.run([os.path.join(build, "delta")], capture_output=True, text=True, check=False, timeout=program.PATIENCE,
                               env={**package.ENVIRONMENT, **environment})
        if "cannot access the counters" in probe.stderr or (os.geteuid() != 0 and "kernel.perf_event_paranoid" in probe.stderr):
            self.skipTest(probe.stderr.strip())
        self.assertEqual((probe.returncode, probe.stdout), (0, "  1 100\n  2 100\n  3 100\n"), probe.stderr)
        self.assertIn("event page-faults\n", package.command(os.path.join(build, "delta"), "-l", environment=environment))
        self.assertIn("there is no event nonsense here", package.command(os.path.join(build, "delta"), "nonsense", status=1,
                                                                         environment=environment))
        self.assertEqual(package.command(os.path.join(build, "overflow"), environment=environment),
                         "cpc_set_add_request 1 there is no event page-fault here; is it page-faults?\noverflows 5\n")


if __name__ == "__main__":
    unittest.main()
