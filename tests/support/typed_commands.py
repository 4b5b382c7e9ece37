# SPDX-License-Identifier: BSD-2-Clause
"""The commands in a document, in order, and the comparison of their output with the document.

Commands are blocks of `sh` (a command per line, or several lines that form one), lines of `console` after `$ `, and code in sentences
that begins with a program. A block of C is a file: SAVED_AS names it."""
import os
import re
import subprocess
import typing

import program

DOCUMENTS = ("README.md", "dashboards/README.md")
RECIPE = "dashboards/examples/container/Containerfile"
SAVED_AS = "show.c"
PROGRAMS = {"amtool", "apt-get", "cc", "cmake", "cp", "cpack", "curl", "docker", "export", "jsonnet", "memstatctl", "memstatd", "npm", "pkg",
            "podman", "promtool", "sed", "service", "sudo", "sysrc", "systemctl", "tar"}


class Command(typing.NamedTuple):
    document: str
    line: int
    text: str
    shown: typing.Optional[list]  # its output as shown in the document, or None
    file: typing.Optional[str]    # a file that the reader should save, instead of a command

    def __str__(self):
        return f"{self.document}:{self.line}: {self.text}"


def _is_complete(text):
    return not text.endswith("\\") and subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False).returncode == 0


def _of_shell(lines, first):
    text, start = "", first
    for number, line in enumerate(lines, first):
        start = start if text else number
        text += ("\n" if text else "") + line
        if text.strip() and _is_complete(text):
            if not text.lstrip().startswith("#"):
                yield start, re.sub(r"\s+# .*\Z", "", text), None
            text = ""
    if text.strip():
        raise ValueError(f"line {start}: not a whole command: {text}")


def _of_console(lines, first):
    command = None
    for number, line in enumerate([*lines, "$ "], first):
        if line.startswith("$ "):
            if command:
                yield command
            command = (number, line[2:], [])
        elif line:
            command[2].append(line)


def _is_command(span):
    words = span.split()
    path = os.path.join(program.SOURCE_DIR, words[0]) if words else ""
    if len(words) > 1:
        return words[0] in PROGRAMS or "/" in words[0] and os.path.isfile(path)
    return "/" in span and os.path.isfile(path) and os.access(path, os.X_OK)


def commands(document, text=None):
    """In the order of the document. Code in a sentence that repeats a command above it is not typed again."""
    if text is None:
        with open(os.path.join(program.SOURCE_DIR, document), encoding="utf-8") as file:
            text = file.read()
    found, fence, block, first = [], None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```") and fence is None:
            fence, block, first = line[3:], [], number + 1
        elif line.startswith("```"):
            if fence == "c":
                found.append(Command(document, first, f"save {SAVED_AS}", None, "".join(row + "\n" for row in block)))
            elif fence in ("sh", "console"):
                of = _of_shell if fence == "sh" else _of_console
                found += [Command(document, *command, None) for command in of(block, first)]
            fence = None
        elif fence is not None:
            block.append(line)
        else:
            for span in re.findall(r"`([^`]+)`", line):
                if _is_command(span) and span not in {command.text for command in found}:
                    found.append(Command(document, number, span, None, None))
    return found


def recipe():
    """The commands of the first stage of the container's recipe, in a clone of the tree."""
    with open(os.path.join(program.SOURCE_DIR, RECIPE), encoding="utf-8") as file:
        text = file.read()
    stages = [found.start() for found in re.finditer(r"^FROM ", text, re.M)]
    for found in re.finditer(r"^RUN ((?:.*\\\n)*.*)", text[:stages[1]], re.M):
        yield Command(RECIPE, 1 + text.count("\n", 0, found.start()), found.group(1), None, None)


def as_typed(text):
    """For bash: every part of a pipe must succeed, unless the last one ends before the one that it reads from."""
    return text if "| head" in text else f"set -o pipefail; {text}"


def difference(command, printed):
    """An empty string, or the error. Output about a capture must be the same, byte by byte; about the live kernel, the same series."""
    lines = printed.splitlines()
    if command.shown is None:
        return ""
    if "--from tests/" in command.text or "--check-config" in command.text:
        same = lines == command.shown
    elif command.shown[0].startswith("memstat_"):
        same = {line.rsplit(" ", 1)[0] for line in command.shown} <= {line.rsplit(" ", 1)[0] for line in lines}
    else:  # A sentence: what follows the colon depends on the kernel.
        same = bool(lines) and lines[0].partition(": ")[0] == command.shown[0].partition(": ")[0]
    return "" if same else f"{command}\nprinted:\n{printed[-3000:]}\nthe document shows:\n" + "\n".join(command.shown)
