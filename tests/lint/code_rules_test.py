#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the code of the product must not do by hand because one place does it: ask for the time, lock, pack structs into bytes."""
import re
import sys

import findings

RULES = [
    ("the time", re.compile(r"::now\(|\bclock_gettime\(|\bgettimeofday\(|\btime\((nullptr|NULL|0|&\w+)\)"),
     ("core", "config", "daemon"), {"core/base/clock.h"}, "asks the machine for the time; take a Clock (core/base/clock.h)"),
    ("locks", re.compile(r"\bstd::(recursive_|timed_|shared_)?mutex\b|\bstd::(condition_variable|lock_guard|unique_lock|scoped_lock)\b"
                         r"|\bpthread_(mutex|cond)_"),
     ("core", "config", "daemon"), {"core/base/mutex.h"}, "locks unseen by clang; take Mutex, MutexLock, CondVar (core/base/mutex.h)"),
    ("bytes", re.compile(r"\breinterpret_cast\b"), ("core/sources", "core/collect"), set(),
     "makes bytes of an object or the reverse; what a source remembers is a struct derived from ReaderState (core/source.h)"),
]


def code_of(text):
    """The text without comments, its lines where they were."""
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def problems(file, text):
    for _, pattern, directories, except_for, what in RULES:
        if file in except_for or not file.startswith(tuple(directory + "/" for directory in directories)):
            continue
        for number, line in enumerate(code_of(text).splitlines(), 1):
            if pattern.search(line):
                yield f"{file}:{number}: {what}: {line.strip()}"


def check_self():
    bad = {"core/a.cpp": "auto t = std::chrono::steady_clock::now();", "daemon/a.cpp": "using C = std::chrono::system_clock;\nC::now();",
           "core/b.cpp": "::clock_gettime(CLOCK_MONOTONIC, &now);", "config/a.cpp": "std::time(nullptr);",
           "daemon/b.h": "std::mutex mutex_;", "daemon/c.cpp": "const std::lock_guard lock(mutex_);",
           "core/sources/a.cpp": "plan.append({reinterpret_cast<const char*>(&state), sizeof state});"}
    for file, text in bad.items():
        assert len(list(problems(file, text))) == 1, file
    good = {"core/base/clock.h": "std::chrono::steady_clock::now()", "core/base/mutex.h": "std::mutex mutex_;", "tests/a.cpp": "std::mutex m;",
            "core/a.cpp": "clock.now(); std::once_flag once; // std::mutex\nbool is_time(int x);", "core/parse/a.h": "reinterpret_cast<char*>(x)"}
    for file, text in good.items():
        assert not list(problems(file, text)), file


def main():
    check_self()
    files = list(findings.texts(("core", "config", "daemon"), {".cpp", ".h"}))
    return findings.report([text for file in files for text in problems(*file)], len(files), 100)


if __name__ == "__main__":
    sys.exit(main())
