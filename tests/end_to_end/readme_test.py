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
    sources = printed("--list-sources")
    lines = ["| source | reads | allocator | how often | to know |", "|---|---|---|---|---|"]
    for source in sources:
        often = source["interval"] + ("" if source["default"] == "auto" else ", off unless switched on")
        allocator = source["allocator"] if source["allocator"] != "-" else "none: figures of the machine"
        lines.append(f"| `{source['name']}` | {escaped(source['origin'])} | {allocator} | {often} | {escaped(source['notes'])} |")
    lines += ["", "<details><summary>Where each figure comes from, and the settings of each source</summary>", ""]
    for source in sources:
        lines += [f"`{source['name']}`", "", "| figure | kernel's |", "|---|---|"]
        for figure in source["figures"].split("; "):
            name, origin = figure.split(": ", 1)
            lines.append(f"| {escaped(name)} | {escaped(origin)} |")
        lines.append("")
        if source["options"] != "-":
            lines += ["| setting | default | what it does |", "|---|---|---|"]
            for option in source["options"].split("; "):
                name, rest = option.split("=", 1)
                default, what = rest.split(": ", 1)
                lines.append(f"| `{name}` | {escaped(default)} | {escaped(what)} |")
            lines.append("")
    return lines + ["</details>"]


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
