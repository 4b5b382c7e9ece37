#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the product's code must leave to one shared place: reading the time, locking, packing structs into bytes. Commits are cited in one way."""
import re
import sys

import findings

RULES = [
    ("the time", re.compile(r"::now\(|\bclock_gettime\(|\bgettimeofday\(|\btime\((nullptr|NULL|0|&\w+)\)"),
     ("core", "config", "daemon"), {"core/base/clock.h"}, "reads the machine's time; use a Clock (core/base/clock.h)"),
    ("locks", re.compile(r"\bstd::(recursive_|timed_|shared_)?mutex\b|\bstd::(condition_variable|lock_guard|unique_lock|scoped_lock)\b"
                         r"|\bpthread_(mutex|cond)_"),
     ("core", "config", "daemon"), {"core/base/mutex.h"}, "locks without clang's checks; use Mutex, MutexLock, CondVar (core/base/mutex.h)"),
    ("bytes", re.compile(r"\breinterpret_cast\b"), ("core/sources", "core/collect"), set(),
     "makes bytes of an object or the reverse; a source's state is a struct derived from ReaderState (core/source.h)"),
    ("bounds", re.compile(r"\+\+ *== *k[A-Z]|\+\+ *== *\w+_?\b *\)* *return"), ("core", "config", "daemon"), set(),
     "is true once only, so the bound does not hold after it; write ++count > kMax"),
    ("dead tests", re.compile(r"if \(!([\w.>\-\[\]]+)\) \1 = true;"), ("core", "config", "daemon"), set(),
     "tests what it sets; write the assignment alone"),
    ("the kernel's files", re.compile(r"(?<![\w:])::(open|openat|fopen)\(|\bstd::[io]?fstream\b|\bfopen\("),
     ("core/sources", "core/collect", "core/parse", "core/model", "core/events", "core/counters"),
     # attach/ opens what belongs to its own programs; memuse/ is a command of memstatctl and not a source. A TextTableSource returns
     # what kernel_messages and mount_sizes read: the view calls it, and recordings and replays have its text.
     {"core/collect/kernel_messages.cpp", "core/collect/mount_sizes_linux.cpp", "core/events/attach/attach_again_linux.cpp", "core/events/attach/bpf_kernel.cpp",
      "core/events/attach/kernel_types_linux.cpp", "core/events/memuse/control_groups.cpp",
      "core/events/memuse/kernel_symbols.cpp", "core/events/memuse/memuse_linux.cpp"},
     "opens a file without the KernelView, so recordings, replays and failing reads of tests miss it"),
    # EventBudget, HelperOfProcess, PublishedCounters and Reserve lock; the filter is filled once, before there are threads; unique_number() is atomic.
    ("statics", re.compile(r"^ +(static|thread_local static) (?!const|constexpr|EventBudget budget;|HelperOfProcess helper;|PublishedCounters counters;|Reserve files;"
                           r"|std::array<sock_filter, 2 \* BPF_MAXINSNS> programs;|std::atomic<std::uint64_t> last_unique_number\{)[\w:<>,& *]+ \w+( = [^;(]*|\{[^;]*\})?;"),
     ("core", "config", "daemon"), set(), "is shared by all threads; make it constant, or lock inside and name it in this rule"),
    ("bounds' names", re.compile(r"\bk(Most|Longest|Least|Fewest|Smallest)[A-Z]"), ("core", "config", "daemon"), set(),
     "is a dialect; call it kMax or kMin"),
    ("ranges", re.compile(r"\bstd::ranges::\w"), ("core", "config", "daemon"), set(),
     "is not in the libc++ 14 of FreeBSD 13 and Debian 12; write the function of <algorithm> with two iterators"),
    ("literals", re.compile(r'[\w)]"? "[^"]*" "[^"]*"'), ("core", "config", "daemon"), set(), "is two literals; write one"),
]
COMMENT_LINES = re.compile(r"(?:[ \t]*//[^\n]*\n)+|[^\n]*[^:\n]//[^\n]*\n")
HASH = re.compile(r"(?<![\w-])(?=\d*[a-f])[0-9a-f]{12}(?![\w-])")
CITATION = re.compile(r'Linux commit [0-9a-f]{12} \(".+?"\) \(v\d+\.\d+\)')
BANNER = re.compile(r"^// -+ [^\n]*\n// -+\n", re.MULTILINE)


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
    for match in BANNER.finditer(text):
        yield f"{file}:{text[:match.start()].count(chr(10)) + 1}: the banner is broken over two lines; shorten it"


def citations(file, text):
    """Comments that name a commit otherwise than: Linux commit d122019bf061 ("mm: Split slab into its own type") (v5.17)."""
    for match in COMMENT_LINES.finditer(text):
        words = re.sub(r"\s*\n\s*//[/!]?\s*", " ", match[0])
        for found in HASH.finditer(CITATION.sub("", words)):
            yield f"{file}:{text[:match.start()].count(chr(10)) + 1}: cite {found[0]} as: Linux commit HASH (\"SUBJECT\") (vVERSION)"


def check_self():
    assert len(list(citations("a.h", "/// In struct page until Linux 5.16 (d122019bf061).\n// Linux commit bb192ed9aa71 (v5.17)\nint a;\n"
                                     "int b;  // since Linux commit\nint c;  // bb192ed9aa71\n"))) == 3
    assert not list(citations("a.h", "// Linux commit d122019bf061\n// (\"mm: Split slab into its own\n// type\") (v5.17)\n// at 7f0000000000-7f0000010000\n"))
    bad = {"core/a.cpp": "auto t = std::chrono::steady_clock::now();", "daemon/a.cpp": "using C = std::chrono::system_clock;\nC::now();",
           "core/b.cpp": "::clock_gettime(CLOCK_MONOTONIC, &now);", "config/a.cpp": "std::time(nullptr);",
           "daemon/b.h": "std::mutex mutex_;", "daemon/c.cpp": "const std::lock_guard lock(mutex_);",
           "core/sources/a.cpp": "plan.append({reinterpret_cast<const char*>(&state), sizeof state});",
           "core/c.cpp": "if (slabs_walked_++ == kMaxSlabsWalked) return torn();", "core/d.cpp": "if (!type->is_present_) type->is_present_ = true;",
           "core/events/vm/a.cpp": "file_ = UniqueFd(::open(kFile, O_RDONLY));", "core/collect/a.cpp": "std::ifstream file(path);",
           "core/e.cpp": "  static std::shared_ptr<AttachHelper> helper;", "daemon/e.cpp": "  static int calls = 0;",
           "core/g.cpp": "constexpr int kMostNames = 3;", "core/f.cpp": 'return "it " "attached";', "daemon/f.cpp": "// ---- for the worker threads\n// ------------\n"}
    for file, text in bad.items():
        assert len(list(problems(file, text))) == 1, file
    good = {"core/base/clock.h": "std::chrono::steady_clock::now()", "core/base/mutex.h": "std::mutex mutex_;", "tests/a.cpp": "std::mutex m;",
            "core/a.cpp": "clock.now(); std::once_flag once; // std::mutex\nbool is_time(int x);", "core/parse/a.h": "reinterpret_cast<char*>(x)",
            "core/b.cpp": "if (count++ == 0) begin();\nif (++count > kMax) return;\nif (!a) b = true;", "core/kernel/a.cpp": "::open(path, O_RDONLY);",
            "core/events/a.cpp": "Result<void> CallSites::open() {", "core/c.cpp": "  static constexpr int kMax = 1;\n  static Result<void> check();",
            "core/d.cpp": "// ---- memory ----\nint x;\nprint(\"a\",\n      \"b\");"}
    for file, text in good.items():
        assert not list(problems(file, text)), file


def main():
    check_self()
    files = list(findings.texts(("core", "config", "daemon"), {".cpp", ".h"}))
    cited = [*files, *findings.texts(("core",), {".c"}), *findings.texts(("tests/unit",), {".cpp", ".h"})]
    return findings.report([text for file in files for text in problems(*file)] + [text for file in cited for text in citations(*file)], len(files), 100)


if __name__ == "__main__":
    sys.exit(main())
