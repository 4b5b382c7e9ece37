# SPDX-License-Identifier: BSD-2-Clause
"""Libraries to preload into memstatd: they make calls hang, as on a broken kernel or disk, make calls fail, or count calls."""
import os
import re
import shutil
import struct
import subprocess
import unittest

import captures
import program


def build_library(directory, source):
    """The library that tests/support/SOURCE makes, in `directory`."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise unittest.SkipTest("no C compiler for the library that is loaded into memstatd")
    library = os.path.join(directory, os.path.splitext(source)[0] + ".so")
    path = os.path.join(program.SOURCE_DIR, "tests", "support", source)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-I", program.SOURCE_DIR, "-o", library, path, "-ldl"], check=True)
    return library


def sanitizers():
    """The libraries of a sanitizer that memstatd was built with: they must come first, or they do not work."""
    linked = subprocess.run(["ldd", program.MEMSTATD], stdout=subprocess.PIPE, text=True, check=False).stdout
    return re.findall(r"=> (\S*/lib[at]san\.so\S*)", linked)


class Hang:
    """Makes the calls of tests/support/SOURCE hang and continue, in a memstatd started with `environment`."""

    def __init__(self, directory, source):
        library = build_library(directory, source)
        self.switch = os.path.join(directory, "hang")
        self.turn(False)
        self.environment = {"LD_PRELOAD": ":".join([*sanitizers(), library]), "MEMSTAT_TEST_HANG": self.switch}

    def turn(self, on):
        if not os.path.exists(self.switch):
            captures.write_file(self.switch, bytes(4096))
        with open(self.switch, "r+b") as file:
            file.write(struct.pack("I", on))
