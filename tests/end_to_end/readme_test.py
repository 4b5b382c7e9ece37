#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""README's tables of metrics and sources are what the program prints. UPDATE_GOLDEN=1 rewrites them."""
import os
import re
import subprocess
import sys


def printed(flag):
    output = subprocess.run([os.environ["MEMSTATD"], flag], check=True, capture_output=True, text=True, timeout=60).stdout
    header, *rows = (line.split("\t") for line in output.splitlines())
    return [dict(zip(header, row)) for row in rows]


def escaped(text):
    return text.replace("|", "\\|")


def metric_table():
    lines = ["| metric | type | tier | what it is |", "|---|---|---|---|"]
    for metric in printed("--list-metrics"):
        tier = {"cpu": "`per_cpu`", "size_class": "`--once`"}.get(metric["scope"], metric["tier"])
        names = metric["labels"].removeprefix("allocator,type").removeprefix(",").removeprefix("-")  # as README says of types
        labels = names and "{%s}" % names.replace(",", ", ")
        lines.append(f"| `{metric['name']}{labels}` | {metric['type']} | {tier} | {escaped(metric['help'])} |")
    return lines


def source_table():
    lines = ["| source | reads | allocator | figures | per CPU | to know |", "|---|---|---|---|---|---|"]
    for source in printed("--list-sources"):
        lines.append(f"| `{source['name']}` | {source['origin']} | {source['allocator']} | "
                     f"{source['figures'].replace(',', ', ')} | {source['per_cpu'].replace(',', ', ')} | {source['notes']} |")
    return lines


def with_table(text, name, lines):
    pattern = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)", re.S)
    if len(pattern.findall(text)) != 1:
        sys.exit(f"README.md has no place for the table of {name}")
    return pattern.sub(lambda match: match.group(1) + "\n" + "\n".join(lines) + "\n\n" + match.group(2), text)


def main():
    path = os.path.join(os.environ["SOURCE_DIR"], "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    wanted = with_table(with_table(text, "metrics", metric_table()), "sources", source_table())
    if wanted == text:
        print("README.md has the tables that the program prints")
    elif os.environ.get("UPDATE_GOLDEN") == "1":
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted)
        print("README.md rewritten")
    else:
        sys.exit("README.md differs from what the program prints; UPDATE_GOLDEN=1 tests/run readme rewrites it")


if __name__ == "__main__":
    main()
