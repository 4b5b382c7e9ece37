#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd-metrics(7) and memstatd-sources(7) list what the program prints. UPDATE_GOLDEN=1 rewrites the lists."""
import os
import re
import subprocess
import sys

# The section of a family of metrics, by the scope that --list-metrics prints.
SECTIONS = [("of types", {"type", "size_class", "detail"}), ("of allocators", {"allocator"}), ("of CPUs and nodes", {"cpu", "node"}),
            ("of the system", {"machine", "system"})]


def printed(flag):
    output = subprocess.run([os.environ["MEMSTATD"], flag], check=True, capture_output=True, text=True, timeout=600).stdout
    header, *rows = (line.split("\t") for line in output.splitlines())
    return [dict(zip(header, row)) for row in rows]


def text(words):
    """Text for mdoc: each sentence on a line of its own, no escape, no request at the start of a line."""
    sentences = re.split(r"(?<=[\w)]\.) (?=[A-Z])", words.replace("\\", "\\e"))
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in sentences)


def argument(words):
    """Words as one argument of a macro."""
    return '"' + words.replace("\\", "\\e").replace('"', '""') + '"'


def metric_list():
    metrics = printed("--list-metrics")
    known = set().union(*(scopes for _, scopes in SECTIONS))
    unknown = {metric["scope"] for metric in metrics} - known
    if unknown:
        sys.exit(f"memstatd-metrics(7) has no section for the scopes {unknown}")
    lines = []
    for title, scopes in SECTIONS:
        lines += [f".Ss Metrics {title}", ".Bl -tag -width Ds"]
        for metric in metrics:
            if metric["scope"] not in scopes:
                continue
            labels = metric["labels"].removeprefix("allocator,type").removeprefix(",").removeprefix("-")
            labels = "{%s}" % labels.replace(",", ", ") if labels else ""
            shown = {"cpu": "key per_cpu", "size_class": "--once only"}.get(metric["scope"], "tier " + metric["tier"])
            lines += [f".It Sy {argument(metric['name'] + labels)}", text(f"{metric['help']}"),
                      f".Pq {metric['type']} , {shown}"]
        lines.append(".El")
    return lines


def reads(source):
    """What the source reads: the groups of its plan, or its origin."""
    if source["reads"] == "-":
        return [text(f"Reads {source['origin']}")]
    lines = ["Reads", ".Bl -tag -compact -width Ds"]
    for group in source["reads"].split("; "):
        title, paths = group.split(": ", 1)
        lines += [f".It {title}", text(paths)]
    return [*lines, ".El"]


def source_list():
    lines = []
    for source in printed("--list-sources"):
        often = source["interval"] + ("" if source["default"] == "auto" else "; off unless switched on")
        owns = "metrics of the system only" if source["allocator"] == "-" else "allocator " + source["allocator"]
        lines += [f".Ss {source['name']}", *reads(source), text(f"({owns}; {often})."), ".Pp",
                  text(source["notes"][:1].upper() + source["notes"][1:] + "."), ".Bl -tag -width Ds"]
        for figure in source["figures"].split("; "):
            name, origin = figure.split(": ", 1)
            lines += [f".It Sy {argument(name)}", text(origin)]
        lines.append(".El")
        if source["options"] != "-":
            lines += [".Pp", "Settings:", ".Bl -tag -width Ds"]
            for option in source["options"].split("; "):
                name, rest = option.split("=", 1)
                default, what = rest.split(": ", 1)
                lines += [f".It Ic {argument(name)} , default {argument(default)}", text(what)]
            lines.append(".El")
    return lines


def with_list(page, name, lines):
    pattern = re.compile(rf'(^\.\\" {name}: generated[^\n]*\n).*?(^\.\\" end of {name}\n)', re.S | re.M)
    if len(pattern.findall(page)) != 1:
        sys.exit(f"the page has no place for the list of {name}")
    return pattern.sub(lambda match: match.group(1) + "\n".join(lines) + "\n" + match.group(2), page)


def main():
    failed = False
    for name, lines in (("metrics", metric_list()), ("sources", source_list())):
        path = os.path.join(os.environ["SOURCE_DIR"], "daemon", "man", f"memstatd-{name}.7")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        wanted = with_list(page, name, lines)
        if wanted == page:
            print(f"memstatd-{name}.7 lists what the program prints")
        elif os.environ.get("UPDATE_GOLDEN") == "1":
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted)
            print(f"memstatd-{name}.7 rewritten")
        else:
            print(f"memstatd-{name}.7 differs from what the program prints; UPDATE_GOLDEN=1 tests/run generated_pages rewrites it")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
