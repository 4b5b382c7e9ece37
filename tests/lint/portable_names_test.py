#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nothing ties the tree to one Debian release: no struct of a foreign library is initialized by position, since another version has other
members; no package or compiler is named with a version outside daemon/releases.txt; README and the table name the same compilers."""
import os
import re
import sys

import findings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import releases  # noqa: E402

# A type of civetweb, zstd, zlib, isa-l, libpfm4, libbpf, libseccomp, lzo2, libcrypt, ncurses, libkvm, libdtrace or prometheus-cpp, a name,
# and a brace that neither is empty nor begins with a member's name.
FOREIGN = re.compile(r"\b(?:(?:mg|ZSTD|isal|pfm|perfmon|bpf|btf|ring_buffer|scmp|lzo|kinfo|kvm|dtrace)_\w+|z_stream|crypt_data|cchar_t|MEVENT|inflate_state"
                     r"|prometheus::(?:ClientMetric|MetricFamily)(?:::\w+)*)"
                     r"(?: \w+)?(?:\[\w*\])*(?: = )?\{(?!\s*[.}])")
FOREIGN_DIRECTORIES = ("core", "config", "daemon", "tests")
VERSIONED_PACKAGE = re.compile(r"^[a-z][a-z0-9+.-]*?-\d+(\.\d+)*(?![\w])")
VERSIONED_TOOL = re.compile(r"(?<![\w-])(clang|clang\+\+|clang-format|clang-tidy|g\+\+|gcc|libstdc\+\+)-\d+(?![\w.])")
SCRIPTS = {".sh", ".cmake", ".py", ""}
COMPILER = re.compile(r"\b(g\+\+|clang)[ -](\d+)\b")
# A release and what it is tested with, as README has it: "Debian 12 (g++ 12, clang 14".
RELEASE = re.compile(r"\bDebian (\d+) \(g\+\+ (\d+), clang (\d+)\b")


def foreign(file, text):
    for number, line in enumerate(text.splitlines(), 1):
        if FOREIGN.search(line.partition("//")[0]):
            yield f"{file}:{number}: a struct of a foreign library by position; set its members by name: {line.strip()}"


def packages(file, text):
    for number, line in enumerate(text.splitlines(), 1):
        if VERSIONED_PACKAGE.search(line):
            yield f"{file}:{number}: a version in a package name; another release has another: {line.strip()}"


def tools(file, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = VERSIONED_TOOL.search(line)
        if found and not line.lstrip().startswith("#"):
            yield f"{file}:{number}: {found[0]} has a version; use find_tool of daemon/setup.sh, or daemon/releases.txt: {line.strip()}"


def documents(file, text, table):
    """Compilers that no release has."""
    known = {("g++", release.gcc) for release in table.values()} | {("clang", release.clang) for release in table.values()}
    for number, line in enumerate(text.splitlines(), 1):
        for name in COMPILER.findall(line):
            if name not in known:
                yield f"{file}:{number}: {' '.join(name)} is not tested (daemon/releases.txt)"


def readme(text, table):
    named = {match[1]: (match[2], match[3]) for match in RELEASE.finditer(text)}
    for release, row in table.items():
        if named.pop(release, None) != (row.gcc, row.clang):
            yield f"README.md: does not state: Debian {release} (g++ {row.gcc}, clang {row.clang}"
    for release in named:
        yield f"README.md: states Debian {release}, which daemon/releases.txt does not have"


def check_self():
    for bad in ("mg_error_data error{nullptr, text.data(), text.size()};", "mg_init_data init = {&callbacks, this, settings};",
                "const ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};", "z_stream stream = {nullptr};", "pfm_perf_encode_arg_t argument{&attr, 0};",
                "label(prometheus::ClientMetric::Label{name, value});", "bpf_map_info infos[2] = {{1}};"):
        assert len(list(foreign("a.cpp", bad))) == 1, bad
    for good in ("mg_error_data error{};", "ZSTD_outBuffer out{.dst = buffer, .size = size};", "z_stream stream = {};", "bpf_object* open() {",
                 "bool operator()(const bpf_object* object) const {", "if (mg_get_user_data(c) == nullptr) {", "// mg_error_data error{nullptr}"):
        assert not list(foreign("a.cpp", good)), good
    for bad in ("clang-14  # x", "libclang-rt-14-dev", "libc++abi-14-dev", "g++-12", "openjdk-17-jre", "libstdc++-12-dev", "python3.11-dev-1"):
        assert len(list(packages("packages.txt", bad))) == 1, bad
    for good in ("# clang-14", "clang  # not clang-14", "libpfm4-dev", "qemu-system-x86", "nlohmann-json3-dev", "zlib1g-dev", "libc++abi-dev"):
        assert not list(packages("packages.txt", good)), good
    for bad in ("command -v clang-14", "for compiler in cc gcc clang-14; do", 'shutil.which("g++-12")', "clang++-19 x.cpp", '["libstdc++-12-dev"]', "clang-format-14 -i"):
        assert len(list(tools("a.sh", bad))) == 1, bad
    for good in ("# clang-14 has it", "command -v clang", "clang-$version", 'shutil.which("python3")', "python3 -B x"):
        assert not list(tools("a.sh", good)), good
    table = releases.read("# a table\n12 bookworm 12 14\n13 trixie 14 19\n")
    assert len(list(documents("a.md", "needs g++ 12 or clang 13\n", table))) == 1
    assert not list(documents("a.md", "g++ 14, clang 14\n", table))
    states = "Debian 12 (g++ 12, clang 14: all) and Debian 13 (g++ 14, clang 19)"
    assert not list(readme(states, table)) and len(list(readme(states.replace("19", "20"), table))) == 1
    assert len(list(readme(states + " Debian 14 (g++ 15, clang 21)", table))) == 1


def main():
    check_self()
    root, found, count = findings.ROOT, [], 0
    for file, text in findings.texts(FOREIGN_DIRECTORIES, {".cpp", ".h", ".c"}):
        count += 1
        found += foreign(file, text)
    lists = [path for path in sorted(root.rglob("packages*.txt")) if "build" not in path.relative_to(root).parts]
    assert len(lists) >= 3, lists
    for path in lists:
        found += packages(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    scripts = [root / "CMakeLists.txt", *(path for path in (root / ".ci").iterdir())]
    for directory in ("core", "config", "daemon", "dashboards", "tests"):
        scripts += (path for path in sorted((root / directory).rglob("*")) if path.is_file() and path.suffix in SCRIPTS and "fixtures" not in path.parts)
    for path in scripts:
        file = path.relative_to(root).as_posix()
        if file != "tests/lint/portable_names_test.py":
            found += tools(file, path.read_text(encoding="utf-8", errors="replace"))
    found += readme((root / "README.md").read_text(encoding="utf-8"), releases.RELEASES)
    for file in ("README.md", "core/README.md", "daemon/README.md", "tests/README.md", "daemon/packages.txt", "tests/support/packages.txt"):
        found += documents(file, (root / file).read_text(encoding="utf-8"), releases.RELEASES)
    return findings.report(found, count, 100)


if __name__ == "__main__":
    sys.exit(main())
