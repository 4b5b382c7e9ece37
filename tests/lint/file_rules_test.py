#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rules that every file of the tree keeps: licence line, length, ASCII, nothing left undone, its place."""
import os
import pathlib
import re
import sys
import tempfile

import findings

TOP_LEVEL = {"CMakeLists.txt", "README.md", "LICENSE", "core", "config", "daemon", "rc.d", "tests", "dashboards"}
SKIPPED_DIRECTORIES = {".git", "build", "__pycache__", "fixtures", "golden", "corpus", "uplot"}  # not ours, or data
CODE = {".cpp", ".h", ".c", ".py", ".sh", ".cmake", ".css", ".js"}
LICENSED = CODE | {".service", ".html", ""}
LICENSE_LINE = re.compile(r"SPDX-License-Identifier: (BSD-2-Clause|\(?GPL-2.0(-only)? OR BSD-2-Clause\)?|Dual BSD/GPL)")
UNDONE = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")  # in two pieces, so that this line is not one
MAX_LINES = 600
# pkg(8) prints every line of the first to its users; the second is generated, a line for each installed file.
CARRY_NO_LICENSE = {"daemon/package/freebsd/pkg-descr", "daemon/package/freebsd/pkg-plist"}
COMMANDS = {"daemon/run", "tests/run", "tests/fresh", "tests/guests/run", ".ci/run"}


def files(root):
    for directory, subdirectories, names in os.walk(root):
        subdirectories[:] = sorted(name for name in subdirectories if name not in SKIPPED_DIRECTORIES)
        for name in sorted(names):
            yield pathlib.Path(directory) / name


def file_problems(file, content):
    """The errors of one file, given by its path in the tree and its bytes."""
    suffix = pathlib.PurePosixPath(file).suffix
    dot_file = file.split("/")[-1].startswith(".")
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError as error:
        line = content[:error.start].count(b"\n") + 1
        yield f"{file}:{line}: not ASCII"
        text = content.decode("utf-8", "replace")
    lines = text.splitlines()
    if "\r" in text or "\t" in text and suffix in CODE - {".js"}:
        yield f"{file}: carriage returns or tabs"
    if text and not text.endswith("\n"):
        yield f"{file}: the last line has no end"
    for number, line in enumerate(lines, 1):
        if UNDONE.search(line):
            yield f"{file}:{number}: left undone: {line.strip()}"
    if suffix in CODE and len(lines) > MAX_LINES:
        yield f"{file}: {len(lines)} lines, {MAX_LINES} are the most"
    licensed = suffix in LICENSED and not dot_file and file not in CARRY_NO_LICENSE | {"LICENSE"}
    if licensed or file.endswith("CMakeLists.txt"):
        # A script's first line belongs to the kernel, an HTML file's to the browser.
        place = 1 if lines and (lines[0].startswith("#!") or lines[0].lower().startswith("<!doctype")) else 0
        if len(lines) <= place or not LICENSE_LINE.search(lines[place]):
            yield f"{file}:{place + 1}: the SPDX line is missing"
    if suffix == ".py":
        try:
            compile(text, file, "exec")
        except SyntaxError as error:
            yield f"{file}:{error.lineno}: {error.msg}"


def problems(root):
    found = []
    for name in sorted(os.listdir(root)):
        if name not in TOP_LEVEL and name != "build" and not name.startswith("."):
            found.append(f"{name}: the top level has no place for it; allowed are {', '.join(sorted(TOP_LEVEL))}")
    count = 0
    for path in files(root):
        if path.suffix == ".png":
            continue
        count += 1
        file = path.relative_to(root).as_posix()
        found += file_problems(file, path.read_bytes())
        if file in COMMANDS and not os.access(path, os.X_OK):
            found.append(f"{file}: not executable")
    return found, count


def check_self():
    spdx = "// SPDX-License-Identifier: BSD-2-Clause\n"
    bad = {
        "core/a.h": "#pragma once\n", "core/b.cpp": spdx + "// caf\u00e9\n", "core/c.cpp": spdx + "// TO" + "DO: later\n",
        "core/d.cpp": spdx + "\n" * MAX_LINES, "core/f.cpp": spdx + "int f;",
        "core/g.cpp": spdx + "\tint g;\n", "h.sh": "#!/bin/sh\necho\n", "i.py": "# " + spdx[3:] + "def (\n", "j/pkg-plist": "bin/j\n",
    }
    for file, text in bad.items():
        assert len(list(file_problems(file, text.encode()))) == 1, file
    good = {"core/a.h": spdx + "class A {\n};\n", "b.sh": "#!/bin/sh\n# " + spdx[3:], ".gitignore": "/build/\n",
            "core/c.h": spdx + "enum class C { kOne };\nclass D;\n", "LICENSE": "text\n",
            "daemon/package/freebsd/pkg-plist": "bin/memstatd\n"}
    for file, text in good.items():
        assert not list(file_problems(file, text.encode())), file
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for path in ("util/a.txt", "daemon/run"):
            (root / path).parent.mkdir()
            (root / path).write_text("#!/bin/sh\n# " + spdx[3:], encoding="ascii")
        assert len(problems(root)[0]) == 2, problems(root)  # an unexpected directory, a command that cannot be run


def main():
    check_self()
    return findings.report(*problems(findings.ROOT), 50)


if __name__ == "__main__":
    sys.exit(main())
