#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files that the tree's documents, scripts and comments name are there, and so are the targets of links in documents."""
import re
import sys

import findings

SKIPPED_DIRECTORIES = {".git", "build", "__pycache__", "fixtures", "golden", "corpus", "node_modules"}
READ = {".md", ".sh", ".py", ".cpp", ".h", ".c", ".cmake", ".txt", ".yaml", ".yml", ".service", ".seeds", ""}
NAMES_EXAMPLES = ("tests/lint/",)  # whose bad examples name missing files

# A path from the top of the tree with an ending. Placeholders (NAME, *, $x, {x}) do not match.
PATH = re.compile(r"(?<![\w/.$<>{}*~:-])((?:core|config|daemon|tests|dashboards|rc\.d)/[a-z0-9_./-]*\.(?:cpp|h|c|py|sh|md|txt|yaml|yml|json|map"
                  r"|cmake|proto|css|js|service|seeds|captures|in|[1-8]))(?![\w/*{$<-])")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def anchors(text):
    """The names of a document's headings in links."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(text)}


def problems_of(root, file, text):
    """The missing files that one file, given by its path in the tree, names."""
    if not file.startswith(NAMES_EXAMPLES):
        for match in PATH.finditer(text):
            if not (root / match[1]).exists():
                yield f"{file}:{text.count(chr(10), 0, match.start()) + 1}: there is no {match[1]}"
    if not file.endswith(".md"):
        return
    for match in LINK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (root / file).parent / target if target else root / file
        if not path.exists():
            yield f"{file}:{line}: a link to {target}, which does not exist"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
            yield f"{file}:{line}: a link to #{anchor}, which is not a heading of {path.name}"


def problems(root):
    found, count = [], 0
    for path in sorted(root.rglob("*")):
        file = path.relative_to(root)
        if path.suffix not in READ or SKIPPED_DIRECTORIES & set(file.parts) or file.parts[0].startswith(".") or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        count += 1
        found += problems_of(root, file.as_posix(), text)
    return found, count


def check_self(root):
    bad = ["see core/base/no_such_file.h.\n", "`tests/no/such_test.py`\n", "[a](no/such.md)\n", "[a](#no-such-heading)\n",
           "[a](core/README.md#no-such-heading)\n"]
    good = ["see core/source.h, and tests/unit/DIRECTORY/NAME_test.cpp\n", "[a](core/README.md) [b](https://example.org/x.md)\n",
            "## A heading, of `words`\n[a](#a-heading-of-words)\n", "build/core/x.h core/sources/*.cpp $root/tests/x.sh\n"]
    for wanted, texts in ((1, bad), (0, good)):
        for text in texts:
            found = list(problems_of(root, "EXAMPLE.md", text) if "](#" not in text else in_document(root, text))
            assert len(found) == wanted, (text, found)


def in_document(root, text):
    """The problems of a text whose links lead into itself."""
    return [anchor for anchor in re.findall(r"\]\(#([^)]+)\)", text) if anchor not in anchors(text)]


def main():
    check_self(findings.ROOT)
    return findings.report(*problems(findings.ROOT), 100)


if __name__ == "__main__":
    sys.exit(main())
