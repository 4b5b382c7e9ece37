#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tests/size counts a made-up tree as a person would."""
import gzip
import pathlib
import sys
import tempfile

from documents_test import load

LONG = "int long_one(int x) {  // with a comment\n" + "  ++x;\n" * 60 + "  return x;\n}\n"
TWICE = "".join(f"int twice{number} = {number};\n" for number in range(6))
FILES = {
    "core/a.cpp": '// A comment.\n#include "a.h"\n\n/* another\n   one */\nint a = 1\'000;  // behind code\nconst char* b = "// no comment";\n' + TWICE,
    "core/b.cpp": LONG,
    "core/sources/c.cpp": TWICE,
    "daemon/namespace.cpp": "namespace a {\n" + "int f(int x) { return x; }\n" * 70 + "}\n",
    "config/d.h": "",
    "tests/e.py": '"""A text\nof two lines."""\n# A comment.\nx = """one\ntwo"""\n',
    "tests/f.sh": "#!/bin/sh\n# A comment.\n\necho\n",
}


def main():
    size = load("size")
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        crowd = {f"daemon/crowd/{number}.h": "int x;\n" for number in range(31)}
        open_set = {f"core/sources/{number}.h": "int x;\n" for number in range(31)}
        for name, text in (FILES | crowd | open_set).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="ascii")
        golden = root / "tests/end_to_end/golden"
        golden.mkdir(parents=True)
        (golden / "a.prom").write_text("1\n2\n", encoding="ascii")
        (golden / "b.prom.gz").write_bytes(gzip.compress(b"3\n"))
        lines = {name: len(size.code_lines(root / name)) for name in FILES}
        assert lines == {"core/a.cpp": 9, "core/b.cpp": 63, "core/sources/c.cpp": 6, "daemon/namespace.cpp": 72, "config/d.h": 0,
                         "tests/e.py": 2, "tests/f.sh": 1}, lines
        assert size.golden_lines(root) == 3
        assert size.full_directories(root) == [("daemon/crowd", 31)], size.full_directories(root)
        assert size.long_functions(root) == [("core/b.cpp:1", 63)], size.long_functions(root)
        runs = size.equal_runs(root)
        assert ("core/a.cpp:8", "core/sources/c.cpp:1", 6) in runs, runs
    return 0


if __name__ == "__main__":
    sys.exit(main())
