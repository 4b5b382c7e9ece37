#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A file of this tree that a comment or a document names is there. Names of kernels' files are not judged: theirs are .c, or in a directory that is not
one of ours; the few headers of others without a directory are in ELSEWHERE."""
import re
import sys

import findings

NAME = re.compile(r"(?<![\w./<*-])((?:[a-z0-9_.]+/)*[a-z0-9_]+(?:_test|_fuzz|_bench)?\.(?:cpp|h|py|sh|cmake|md|js|libsonnet))(?![\w*(])")
COMMENT = re.compile(r"(?<!:)//[^\n]*|/\*.*?\*/", re.DOTALL)
HASH = re.compile(r"^\s*#[^\n]*", re.MULTILINE)
ELSEWHERE = re.compile(r"^(name|pmc|kvm|dtrace|regex|curses|ncurses|pthread|assert|zlib|zstd|libdtrace|sdt|vmlinux|memstat|libcpc|in_pcb|tcp_fsm|config\.sub)\.h$")
KERNELS = {"include", "linux", "sys"}  # also begin the paths of kernel headers
PLACES = ("core", "config", "daemon", "rc.d", "dashboards", "tests")
CODE = {".h", ".cpp", ".c"}
SCRIPTS = {".py", ".sh", ".cmake", ""}
DOCUMENTS = {".md", ".3", ".5", ".7", ".8"}


def comment_lines(path, text):
    """(line, words) of comments, or of a document every line."""
    suffix = "." + path.rsplit(".", 1)[1] if "." in path.rsplit("/", 1)[-1] else ""
    if suffix in CODE | SCRIPTS:
        for found in (COMMENT if suffix in CODE else HASH).finditer(text):
            for offset, line in enumerate(found.group().split("\n")):
                yield text.count("\n", 0, found.start()) + 1 + offset, line
    elif suffix in DOCUMENTS:
        yield from enumerate(text.split("\n"), 1)


def problems(path, text, files, rooms):
    for number, line in comment_lines(path, text):
        for name in NAME.findall(line):
            directory = name.rpartition("/")[0]
            if name.isupper() or "NAME" in name or ELSEWHERE.match(name):
                continue
            first = directory.split("/")[0]
            is_ours = not directory or (first in rooms and first not in KERNELS)
            if is_ours and not any(file == name or file.endswith("/" + name) for file in files):
                yield f"{path}:{number}: there is no {name}"


def main():
    files = [path.relative_to(findings.ROOT).as_posix() for place in PLACES for path in sorted((findings.ROOT / place).rglob("*"))
             if path.is_file() and "node_modules" not in path.parts and "__pycache__" not in path.parts]
    files += [path.name for path in findings.ROOT.iterdir() if path.is_file()]
    rooms = {part for file in files for part in file.split("/")[:-1]}
    check = lambda path, text: list(problems(path, text, ["core/base/text.h", "tests/size"], {"core", "base"}))
    assert check("a.cpp", "// see base/gone.h") and check("a.h", "// see gone.h") and check("a.md", "`core/base/gone.cpp`") and check("a.8", ".Pq base/gone_test.cpp .") and check("a.py", "# gone_test.py has it")
    assert not check("a.cpp", "// base/text.h; mm/slub.c; linux/mm.h\nf(\"base/gone.h\");") and not check("a.md", "NAME_test.cpp, text.h")
    readable = [file for file in files if not file.startswith(("tests/fixtures/", "tests/support/grafana_schema/", "daemon/web/uplot/", "tests/support/freebsd_headers/"))]
    found = []
    for file in readable:
        path = findings.ROOT / file
        if path.is_file():
            found += problems(file, path.read_text(encoding="utf-8", errors="replace"), files, rooms)
    return findings.report(found, len(readable), 500)


if __name__ == "__main__":
    sys.exit(main())
