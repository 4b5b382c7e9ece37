# SPDX-License-Identifier: BSD-2-Clause
"""A captured Linux that runs out of memory: polls derived by hand from its first one, as noted in the capture's manifest."""
import os
import re

import captures
import edited_capture

BASE = "linux-7.2-2cpu"
POLLS = 40
EDITS = """
  All polls are made by hand from the captured one. Programs can get 2 % of the memory, free pages are below the reserve, the kernel holds
  240 MiB of slab that it cannot give back and 1 MiB more at each poll, 64 KiB of memory is defective, 140 000 names of files that are not
  there are remembered, TCP is short of memory, and user 1000 has 195 of 200 keys. KFENCE found 2 errors, the kernel printed an oops, met a
  bad page and a machine check. At each poll all tasks waited 9 of 10 seconds for memory, 10 000 allocations stalled and 100 compactions
  failed."""


def with_kilobytes(meminfo, figures):
    """meminfo with these figures instead."""
    for name, kilobytes in figures.items():
        meminfo, count = re.subn(rf"^({name}:) +\d+ kB$".encode(), rf"\1 {kilobytes} kB".encode(), meminfo, flags=re.MULTILINE)
        if count != 1:
            raise AssertionError(f"{name} is not there to be edited")
    return meminfo


def poll(first, index):
    """Files of poll number `index`."""
    pressed = edited_capture.pressure(9_500_000 * index, 9_000_000 * index)
    stalls = {"allocstall_dma32": 10000 * index, "compact_stall": 200 * index, "compact_fail": 100 * index}
    unreclaimable = 240 * 1024 + 1024 * index
    return dict(first) | edited_capture.integrity(48, 3, 1, 2, 195) | {
        "fs/proc/pressure/memory": pressed,
        "fs/proc/vmstat": edited_capture.with_numbers(first["fs/proc/vmstat"], stalls),
        "fs/proc/meminfo": with_kilobytes(first["fs/proc/meminfo"], {
            "MemFree": 9000, "MemAvailable": 9344, "SUnreclaim": unreclaimable, "Slab": unreclaimable + 28976, "AnonPages": 120000,
            "HardwareCorrupted": 64}),
        "fs/proc/zoneinfo": re.sub(rb"^(  pages free +)\d+$", rb"\g<1>20", first["fs/proc/zoneinfo"], flags=re.MULTILINE),
        "fs/proc/sys/fs/dentry-state": b"150000\t149000\t45\t0\t140000\t0\n",
        "fs/proc/net/protocols": re.sub(rb"^(TCP +\d+ +\d+ +-?\d+ +)no", rb"\1yes", first["fs/proc/net/protocols"], flags=re.MULTILINE),
    }


def write(directory):
    """Writes the capture to a directory and returns that."""
    files = captures.read_fixture(captures.fixtures()[BASE])
    # Files that no rule needs are left out: the captured directories of the tracing system have ten thousand files.
    first = {path.partition("/")[2]: content for path, content in files.items()
             if path.startswith("000000/fs/proc/") or path.startswith("000000/fs/sys/devices/system/node/")}
    for index in range(POLLS):
        place = os.path.join(directory, f"{index:06d}")
        for path, content in poll(first, index).items():
            if not isinstance(content, str):
                captures.write_file(os.path.join(place, path), content)
        captures.write_file(os.path.join(place, "poll.yaml"),
                            f"label: poll {index}\nrealtime: 2026-11-20T15:{index // 6:02d}:{index % 6}0Z\nmonotonic_ns: {(index + 1) * captures.POLL_NS}\n")
    captures.write_file(os.path.join(directory, "manifest.yaml"), files["manifest.yaml"].decode().partition("edits:")[0] + "edits: >" + EDITS + "\n")
    return directory
