#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Words that no operator would say aloud are in no message, comment, manual page or document of the tree."""
import pathlib
import re
import sys

import findings

WORDS = {
    "lest": "so that ... not",
    "goes by": "uses, or name the value",
    "go by": "use, or name the value",
    "so many": "N, or that number of",
    "but for": "except",
    "comes to nothing": "fails",
    "came to nothing": "failed",
    "that there is not": "unknown",
    "that there are not": "unknown",
    "nobody": "no type, no client, no program",
    "folder": "directory",
    "folders": "directories",
}
SAID = re.compile(r"(?<![\w`./$-])(" + "|".join(WORDS) + r")(?![\w(]|\.\w|::|`)", re.IGNORECASE)
# The account of that name, and what Grafana calls a folder.
MEANT = re.compile(r"\buser: (&me )?nobody|\bLi nobody|such as nobody|\"nobody\"|severity to nobody|what makes so many", re.IGNORECASE)
CODE = re.compile(r"(//[^\n]*|/\*.*?\*/)|(\"(?:\\.|[^\"\\\n])*\")|'(?:\\.|[^'\\\n])'", re.DOTALL)
PLACES = ("core", "config", "daemon", "rc.d", "dashboards", "tests")
SUFFIXES = {".h", ".cpp", ".c", ".3", ".5", ".7", ".8", ".md", ".yaml", ".service", ""}
NOT_OURS = {"dashboards/mixin", "dashboards/examples", "dashboards/grafana", "dashboards/render", "daemon/package", "tests/run",
            "tests/fixtures", "tests/end_to_end/golden", "tests/support/grafana_schema/node_modules", "tests/bench/run"}


def spoken(file, text):
    """(line, words) of what people read: of code the strings and comments, of other files every line."""
    if pathlib.PurePosixPath(file).suffix in {".h", ".cpp", ".c"}:
        for found in CODE.finditer(text):
            for offset, line in enumerate((found.group(1) or found.group(2) or "").split("\n")):
                yield text.count("\n", 0, found.start()) + 1 + offset, line
    else:
        yield from enumerate(text.split("\n"), 1)


def problems(file, text):
    for number, line in spoken(file, text):
        for word in SAID.findall(MEANT.sub("", line)):
            yield f"{file}:{number}: \"{word}\": say {WORDS[word.lower()]}"


def files(root):
    for place in PLACES:
        path = root / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = file.relative_to(root).as_posix()
            if file.is_file() and file.suffix in SUFFIXES and not any(name.startswith(other) for other in NOT_OURS):
                yield name, file


def check_self():
    bad = [("a.cpp", 'log("nobody listens");'), ("a.h", "/// All but for one."), ("a.h", "/* a name\n * that there is not */"),
           ("a.8", "The folder of the file."), ("a.md", "The poll came to nothing."), ("a.md", "as it goes by, lest it")]
    good = [("a.cpp", "const std::string folder = nobody;"), ("a.yaml", "user: nobody"), ("a.h", "/// In `folder`: made."),
            ("a.md", "The directory; nobody(5)"), ("a.cpp", 'open(folder + "/x");')]
    for file, text in bad:
        assert list(problems(file, text)), f"not found in {text}"
    for file, text in good:
        assert not list(problems(file, text)), f"found in {text}"
    assert len(list(problems("a.md", "goes by, lest"))) == 2


def main():
    check_self()
    named = list(files(findings.ROOT))
    found = [text for name, file in named for text in problems(name, file.read_text(encoding="utf-8", errors="replace"))]
    return findings.report(found, len(named), 100)


if __name__ == "__main__":
    sys.exit(main())
