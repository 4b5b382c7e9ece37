#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A test that reads this machine's kernel has Live in its name: by that name CMake labels it `live` and runs it alone."""
import re
import sys

import findings

# What opens the machine's own kernel. RootedKernelView, which shows a temporary directory through the live view, does not count.
OPENS = re.compile(r"\bmake_live_kernel_view\(\)")
# What a line belongs to: the last test, fixture or function that begins before it.
BEGINS = re.compile(r"^(?:TEST(?:_F|_P)?\((\w+),\s*(\w+)\)|(?:class|struct) (\w+)[^;]*\{|[\w:<>*& ]+\b(\w+)\([^;]*\) (?:const )?\{)")


def problems(file, text):
    """Places of one file that open the live kernel under a name without Live."""
    name, word = "", "live"
    for number, line in enumerate(text.splitlines(), 1):
        match = BEGINS.match(line)
        if match:
            name = ".".join(part for part in match.groups() if part)
            word = "live" if match[4] else "Live"
        if OPENS.search(line) and word not in name:
            yield f"{file}:{number}: {name or 'this'} reads this machine's kernel: give it a name with Live"


def check_self():
    bad = ["TEST(Memory, IsRead) {\n  auto view = make_live_kernel_view();\n", "class Memory : public testing::Test {\n  make_live_kernel_view();\n",
           "TEST(LiveMemory, A) {\n}\nTEST_F(Memory, B) {\n  make_live_kernel_view();\n", "Kernel open_kernel() {\n  make_live_kernel_view();\n"]
    good = ["TEST(LiveMemory, IsRead) {\n  auto view = make_live_kernel_view();\n", "TEST(Memory, IsReadLive) {\n  make_live_kernel_view();\n",
            "std::unique_ptr<KernelView> live_view() {\n  make_live_kernel_view();\n", "TEST(Memory, IsRead) {\n  captured_view();\n"]
    for wanted, texts in ((1, bad), (0, good)):
        for text in texts:
            assert len(list(problems("a_test.cpp", text))) == wanted, text


def main():
    check_self()
    files = [file for file in findings.texts(["tests"], {".cpp"}) if file[0].endswith("_test.cpp")]
    return findings.report([text for file in files for text in problems(*file)], len(files), 50)


if __name__ == "__main__":
    sys.exit(main())
