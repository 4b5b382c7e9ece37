#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A file of this tree that a comment, script or document names is there, and so are the targets of links in documents.

In comments and documents a name may lack its directory. Names of kernels' files are not judged: theirs are .c, or in a directory that is not
one of ours; the few headers of others without a directory are in ELSEWHERE."""
import re
import sys

import findings

ENDINGS = r"(?:cpp|h|c|py|sh|md|txt|yaml|yml|json|map|cmake|proto|css|js|service|seeds|captures|in|libsonnet|[1-8])"
# A path from the top of the tree, wherever it stands. Placeholders (NAME, *, $x, {x}) do not match.
PATH = re.compile(rf"(?<![\w/.$<>{{}}*~:-])((?:core|config|daemon|tests|dashboards|rc\.d)/[a-z0-9_./-]*\.{ENDINGS})(?![\w/*{{$<-])")
# A name in a comment or document, with or without a directory.
NAME = re.compile(r"(?<![\w./<*-])((?:[a-z0-9_.]+/)*[a-z0-9_]+\.(?:cpp|h|py|sh|cmake|md|js|libsonnet))(?![\w*(])")
COMMENT = re.compile(r"(?<!:)//[^\n]*|/\*.*?\*/", re.DOTALL)
HASH = re.compile(r"^\s*#[^\n]*", re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
ELSEWHERE = re.compile(r"^(name|pmc|kvm|dtrace|regex|curses|ncurses|pthread|assert|zlib|zstd|libdtrace|sdt|vmlinux|memstat|libcpc|in_pcb|tcp_fsm|config\.sub)\.h$")
KERNELS = {"include", "linux", "sys"}  # also begin the paths of kernel headers
PLACES = ("core", "config", "daemon", "rc.d", "dashboards", "tests")
CODE = {".h", ".cpp", ".c"}
SCRIPTS = {".py", ".sh", ".cmake", ""}
DOCUMENTS = {".md", ".3", ".5", ".7", ".8"}
OTHER_TEXTS = {".txt", ".yaml", ".yml", ".service", ".seeds"}
UNREAD = re.compile(r"tests/(fixtures|end_to_end/golden|fuzz/corpus|support/(grafana_schema|freebsd_headers)|lint)/|daemon/web/uplot/")  # lints have bad examples


def anchors(text):
    """The names of a document's headings in links."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(text)}


def spoken(suffix, text):
    """(place, words) of the comments of code and scripts, or of a whole document."""
    if suffix in CODE | SCRIPTS:
        for found in (COMMENT if suffix in CODE else HASH).finditer(text):
            yield found.start(), found[0]
    elif suffix in DOCUMENTS:
        yield 0, text


def problems(path, text, files, rooms):
    def report(place, what):
        return f"{path}:{text.count(chr(10), 0, place) + 1}: {what}"
    directory = path.rpartition("/")[0]
    suffix = re.search(r"(\.[^./]*)?$", path)[0]
    missing = {match.start(): match[1] for match in PATH.finditer(text) if match[1] not in files}
    for begin, words in spoken(suffix, text):
        for match in NAME.finditer(words):
            name, first = match[1], match[1].rpartition("/")[0].split("/")[0]
            is_ours = not first or (first in rooms and first not in KERNELS)
            if is_ours and not ELSEWHERE.match(name) and not any(file == name or file.endswith("/" + name) for file in files):
                missing[begin + match.start()] = name
    yield from (report(place, f"there is no {name}") for place, name in sorted(missing.items()))
    for match in LINK.finditer(text) if suffix == ".md" else ():
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        to = (findings.ROOT / directory / target) if target else None
        if to and not to.exists():
            yield report(match.start(), f"a link to {target}, which does not exist")
        elif anchor and (to is None or to.suffix == ".md") and anchor not in anchors(to.read_text(encoding="utf-8") if to else text):
            yield report(match.start(), f"a link to #{anchor}, which is not a heading")


def check_self():
    def found(path, text):
        return list(problems(path, text, {"core/base/text.h", "tests/size"}, {"core", "base"}))
    for path, text in (("a.cpp", "// see base/gone.h"), ("a.h", "// see gone.h"), ("a.md", "`core/base/gone.cpp`"), ("a.8", ".Pq base/gone_test.cpp ."),
                       ("a.py", "# gone_test.py has it"), ("a.sh", "run tests/no/such_test.py\n"), ("a.md", "[a](no/such_link)\n"),
                       ("a.md", "# Other\n[a](#no-such-heading)\n"), ("a.md", "[a](core/README.md#no-such-heading)")):
        assert len([problem for problem in found(path, text) if "README" not in problem or "#" in problem]) == 1, (path, text, found(path, text))
    for path, text in (("a.cpp", "// base/text.h; mm/slub.c; linux/mm.h\nf(\"base/gone.h\");"), ("a.md", "NAME_test.cpp, text.h [b](https://example.org/x.md)"),
                       ("a.md", "## A heading, of `words`\n[a](#a-heading-of-words)"), ("a.sh", "build/core/x.h core/sources/*.cpp $root/tests/x.sh")):
        assert not found(path, text), (path, text, found(path, text))


def main():
    check_self()
    paths = [path for place in PLACES for path in sorted((findings.ROOT / place).rglob("*"))]
    paths = [path for path in [*paths, *findings.ROOT.iterdir()] if path.is_file() and not {"node_modules", "__pycache__"} & set(path.parts)]
    files = {path.relative_to(findings.ROOT).as_posix() for path in paths}
    rooms = {part for file in files for part in file.split("/")[:-1]}
    readable = [path for path in paths if path.suffix in CODE | SCRIPTS | DOCUMENTS | OTHER_TEXTS and not UNREAD.match(path.relative_to(findings.ROOT).as_posix())]
    found = [problem for path in readable
             for problem in problems(path.relative_to(findings.ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace"), files, rooms)]
    return findings.report(found, len(readable), 500)


if __name__ == "__main__":
    sys.exit(main())
