# SPDX-License-Identifier: BSD-2-Clause
"""Runs the real memstatctl for the end-to-end tests, and makes captures of FreeBSD kernels for it."""
import functools
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import captures
import program

MEMSTATCTL = os.environ.get("MEMSTATCTL") or os.path.join(program.SOURCE_DIR, "build", "bin", "memstatctl")


def run(*arguments, environment=None, command=MEMSTATCTL, **options):
    """Runs memstatctl: a CompletedProcess with text in stdout and stderr. MEMSTAT_CAPTURE is set only by `environment`."""
    inherited = {name: value for name, value in os.environ.items() if name != "MEMSTAT_CAPTURE"}
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([command, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=program.PATIENCE,
                          check=False, env={**inherited, **(environment or {})}, **options)
    done.stdout = (done.stdout or b"").decode("utf-8", "backslashreplace")
    done.stderr = done.stderr.decode("utf-8", "backslashreplace")
    program.check_no_report(done.stderr)
    return done


@functools.cache
def schemas():
    """{command: the schema of its JSON, with command lines to try}."""
    directory = pathlib.Path(program.SOURCE_DIR, "tests", "fixtures", "schemas")
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.json"))}


def command_names():
    return re.findall(r"(?m)^  ([a-z]+)  ", run("--help").stdout)


def cause_names():
    """The causes of both systems, sorted."""
    names = set()
    for capture in ("linux-7.2-2cpu", "freebsd-15.0-amd64-2cpu-limits"):
        document = json.loads(run("why", "--json", "--from", captures.fixtures()[capture]).stdout)
        names |= {*document["ruled_out"], *(one["cause"] for one in document["not_checked"] + document["findings"])}
    return sorted(names)


def readers():
    """{command: the arguments that it needs besides --from}, of commands that read kernels: the first words of its first command line."""
    found = {}
    for command in command_names():
        if command not in ("diff", "doctor", "hosts", "incidents") and "--from" in run(command, "--help").stdout:
            line = schemas().get(command, {"command_lines": [[]]})["command_lines"][0]
            found[command] = line[:next((place for place, word in enumerate(line) if word.startswith("--")), len(line))]
    return found


def output(*arguments, **options):
    done = run(*arguments, **options)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"memstatctl {arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def live_output(*arguments):
    """The output about the live kernel, or about a recording of it."""
    done = run(*arguments)
    if not is_whole(done.returncode, done.stderr):
        raise AssertionError(f"memstatctl {arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def is_whole(status, errors):
    """Whether a command on the live kernel gave all that this user may see. Some of it is left out for everybody but root, and named."""
    if os.geteuid() != 0 and status == 3:
        return re.fullmatch(r"memstatctl: not in this (answer|capture), because [^\n]+\n", errors) is not None
    return (status, errors) == (0, "")


def on_terminal(*arguments, columns=0):
    """The output of memstatctl on a terminal, with this number of columns if given."""
    leader, follower = pty.openpty()
    if columns:
        termios.tcsetwinsize(follower, (24, columns))
    with open(leader, "rb", buffering=0) as screen:
        child = subprocess.Popen([MEMSTATCTL, *arguments], stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.PIPE)
        os.close(follower)
        text = b""
        try:
            while part := screen.read(4096):
                text += part
        except OSError:  # how Linux reports that the other end is closed
            pass
        errors = child.communicate(timeout=program.PATIENCE)[1]
    if child.returncode != 0:
        raise AssertionError(f"memstatctl {arguments} on a terminal ended with {child.returncode}: {errors}")
    return text.decode().replace("\r\n", "\n")


def integer(value):
    return struct.pack("<I", value)


def capture_of(directory, malloc=(), zones=(), classes=None):
    """A capture with these types; each is (name, in use, bytes, requests, mask) or a zone for captures.zone_stats. The kernel
    names the newest first, so their order is reversed."""
    types = [(name, {1: (memory, 0, requests, (requests - used) % 2**64, mask)}) for name, used, memory, requests, mask in malloc]
    poll = {"sysctl/kern.smp.maxcpus": integer(4), "sysctl/kern.smp.maxid": integer(3), "sysctl/hw.pagesize": integer(4096),
            "sysctl/kern.malloc_count": integer(len(types)), "sysctl/vm.zone_count": integer(len(zones)),
            "sysctl/kern.malloc_stats": captures.malloc_stats(types[::-1]),
            "sysctl/vm.zone_stats": captures.zone_stats(list(zones)[::-1])}
    if classes:
        poll["sysctl/vm.malloc.zone_count"] = integer(len(classes) + 1)
        poll["sysctl/vm.malloc.zone_sizes"] = struct.pack(f"<{len(classes) + 1}I", *classes, 0)
    return captures.write_capture(directory, [poll], system="freebsd", cpus="0-3")
