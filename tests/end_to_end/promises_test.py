#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What others build on does not change in silence: metrics and labels, configuration keys, fields of JSON and of the API, exit statuses, causes, the
format of captures, and the symbols of the C libraries. daemon/package/promises.txt has them as of a release. Whatever is new, gone or different since
must be in the newest entry of Changes, and the version must be a later one; from 1.0.0 on what is gone needs a new major version. After a release
UPDATE_GOLDEN=1 writes the list anew."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import package  # noqa: E402
import program  # noqa: E402
from ctl import cause_names  # noqa: E402

SOURCE = program.SOURCE_DIR
LIST = os.path.join(SOURCE, "daemon", "package", "promises.txt")
CHANGES = os.path.join(SOURCE, "daemon", "package", "changelog.in")


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def metrics():
    output = subprocess.run([program.MEMSTATD, "--list-metrics"], check=True, capture_output=True, text=True, timeout=program.PATIENCE).stdout
    for line in output.splitlines()[1:]:
        name, kind, _, _, labels, tier, _ = line.split("\t")
        yield f"metric {name}{{{labels}}} {kind} {tier}"


def keys(node, path=""):
    """Of the shipped configuration, which has every key."""
    for key, value in node.items():
        if isinstance(value, dict) and value and path != "sources":
            yield from keys(value, f"{path}{key}.")
        else:
            yield f"key {path}{key}"


def fields(document, node, path=""):
    """The paths of a JSON schema's properties: ".findings[].cause"."""
    if "$ref" in node:
        found = document
        for part in node["$ref"].lstrip("#/").split("/"):
            found = found[part]
        node = found
    for key, value in node.get("properties", {}).items():
        yield f"{path}.{key}"
        yield from fields(document, value, f"{path}.{key}")
    for key, step in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(node.get(key), dict):
            yield from fields(document, node[key], path + step)
    for choice in ("oneOf", "anyOf", "allOf"):
        for value in node.get(choice, ()):
            yield from fields(document, value, path)


def documents():
    directory = os.path.join("tests", "fixtures", "schemas")
    for name in sorted(os.listdir(os.path.join(SOURCE, directory))):
        document = json.loads(read(directory, name))
        yield from (f"json {name.removesuffix('.json')} {field}" for field in fields(document, document))
    document = json.loads(read("tests", "support", "browser", "api_schema.json"))
    for name, node in document["definitions"].items():
        yield from (f"api {name} {field}" for field in fields(document, node))


def statuses():
    for page in ("memstatctl", "memstatd"):
        section = read("daemon", "man", f"{page}.8").partition(".Sh EXIT STATUS\n")[2].partition("\n.Sh ")[0]
        yield from (f"status {page} {number}" for number in re.findall(r"(?m)^\.It (\d+)$", section))


def symbols():
    for library in ("libmemstat", "libcpc"):
        path = os.path.join(package.BUILD_DIR, "lib", f"{library}.so")
        if os.path.exists(path):
            output = package.command("nm", "--dynamic", "--defined-only", "--with-symbol-versions", path)
            yield from (f"symbol {library} {name}" for name in re.findall(r"(?m)^\w+ [TDBRV] (\S+)$", output))


def promised():
    shipped = yaml.safe_load(read("config", "memstatd.yaml"))
    form = re.search(r'"format: (\d+)\\n"', read("core", "capture", "manifest.cpp")).group(1)
    return sorted({*metrics(), *keys(shipped), *documents(), *statuses(), *(f"cause {name}" for name in cause_names()), *symbols(), f"capture format {form}"})


def names_in(line):
    """The words of a line of which Changes must have one: the name of a metric, a path, or its last part."""
    kind, name, *rest = line.split()
    path = name if kind == "metric" or not rest else rest[-1]
    return {path.partition("{")[0], path.rpartition(".")[2]}


def number_of(version):
    """For comparison: a candidate is earlier than its release."""
    *numbers, candidate = re.match(r"(\d+)\.(\d+)\.(\d+)(?:~rc(\d+))?", version).groups()
    return (*map(int, numbers), int(candidate) - 1000) if candidate else (*map(int, numbers), 0)


def problems(before, now, was, version, entry):
    """`before`, `now`: the lines; `was`, `version`: the versions as texts; `entry`: the newest one of Changes."""
    gone, new = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    if not gone and not new:
        return
    numbers = [number_of(text) for text in (was, version)]
    if numbers[1] <= numbers[0]:
        yield f"the version is {version}, as when the list was written: raise it in CMakeLists.txt"
    elif gone and numbers[0] >= number_of("1.0.0") and numbers[1][0] == numbers[0][0]:
        yield f"{version} has no new major version, and something is gone"
    for what, lines in (("gone", gone), ("new", new)):
        for line in lines:
            if not any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", entry) for name in names_in(line)):
                yield f"{what}, and not in Changes: {line}"


def check_self():
    old, entry = ["metric memstat_a{x} gauge full", "key poll.interval"], "  * Gone: memstat_a. New: poll.jitter."
    assert not list(problems(old, old, "0.1.0", "0.1.0", ""))
    assert not list(problems(old, ["key poll.interval", "key poll.jitter"], "0.1.0", "0.2.0", entry))
    assert list(problems(old, old[:1], "0.1.0", "0.2.0", entry)) == ["gone, and not in Changes: key poll.interval"]
    assert "raise it" in next(problems(old, old[1:], "0.1.0", "0.1.0", entry))
    assert "major" in next(problems(old, old[1:], "1.0.0", "1.1.0", entry))
    assert not list(problems(old, old[1:], "1.0.0", "2.0.0", entry))
    assert not list(problems(old, old[1:], "1.0.0~rc1", "1.0.0~rc2", entry)) and not list(problems(old, old[1:], "1.0.0~rc2", "1.0.0", entry))
    assert list(problems(old, [*old, "cause x"], "1.0.0", "1.1.0", entry)) == ["new, and not in Changes: cause x"]


def main():
    check_self()
    now = promised()
    version = subprocess.run([program.MEMSTATD, "--version"], check=True, capture_output=True, text=True, timeout=program.PATIENCE).stdout.split()[1]
    if os.environ.get("UPDATE_GOLDEN"):
        with open(LIST, "w", encoding="utf-8") as file:
            file.write(f"# What others build on, as of version {version}, for tests/end_to_end/promises_test.py\n" + "".join(line + "\n" for line in now))
        return 0
    first, *before = read("daemon", "package", "promises.txt").splitlines()
    was = re.search(r"version (\S+),", first).group(1)
    entry = re.split(r"(?m)^ -- ", read("daemon", "package", "changelog.in"))[0]
    found = list(problems(before, now, was, version, entry))
    print(*found, f"{len(now)} names: " + ", ".join(f"{sum(line.startswith(kind + ' ') for line in now)} {kind}" for kind in
                                                    ("metric", "key", "json", "api", "status", "cause", "symbol")), sep="\n")
    assert len(now) > 800, "the lists are not where this test looks"
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
