# SPDX-License-Identifier: BSD-2-Clause
"""Captures for the end-to-end tests: reads the fixtures, creates new ones, and decodes kernel data independently of memstatd."""
import functools
import io
import os
import re
import struct
import subprocess
import tarfile

import program

DIRECTORY = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "captures")
POLL_NS = 10_000_000_000


def fixtures():
    """{name: path} of every captured kernel of the tree."""
    ending = ".tar.zst"
    found = {name[:-len(ending)]: os.path.join(DIRECTORY, name) for name in sorted(os.listdir(DIRECTORY)) if name.endswith(ending)}
    if len(found) < 3:
        raise AssertionError(f"{DIRECTORY} has hardly any capture")
    return found


# Captures of sources that are off by default.
OFF_BY_DEFAULT = {"linux-6.18-processes"}


def shown_fixtures():
    """The captures of fixtures() that have figures by default."""
    return {name: path for name, path in fixtures().items() if name not in OFF_BY_DEFAULT}


def archive_files(archive):
    """{path: bytes} of a tarfile; a symbolic link is {path: target, a str}."""
    return {member.name.removeprefix("./"): member.linkname if member.issym() else archive.extractfile(member).read()
            for member in archive if member.issym() or member.isfile()}


@functools.lru_cache(maxsize=2)
def read_fixture(path):
    """archive_files() of a .tar.zst, with paths below the capture's top directory.
    Python 3.11 cannot read Zstandard, so zstd(1) does."""
    unpacked = subprocess.run(["zstd", "-dc", path], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
        return {name.partition("/")[2]: content for name, content in archive_files(archive).items()}


def manifest_value(files, key):
    return re.search(rf'^{key}: "?([^"\n]*)', files["manifest.yaml"].decode(), re.MULTILINE).group(1)


def poll_times(path):
    """The monotonic time of each poll of a .tar.zst, in ns."""
    files = read_fixture(path)
    return [int(re.search(r"^monotonic_ns: (\d+)", files[name].decode(), re.MULTILINE)[1])
            for name in sorted(files) if re.fullmatch(r"\d+/poll.yaml", name)]


# ---- what /proc/slabinfo says -------------------------------------------------------------------------------------------

def decode_slabinfo(text, page_size=4096):
    """{metric: {type: figure}} as the page must show it: caches with one name are one type, with a size only if theirs agree."""
    lines = text.decode("utf-8", "backslashreplace").splitlines()
    if not lines[0].startswith("slabinfo - version: 2."):
        raise AssertionError(f"not a slabinfo that this test knows: {lines[0]}")
    caches = {}
    for line in lines[2:]:
        match = re.match(r"(.*\S)" + r"\s+(\d+)" * 5 + r"\s*:\s*tunables .*:\s*slabdata" + r"\s+(\d+)" * 3, line)
        name, *numbers = match.groups()
        caches.setdefault(name, []).append([int(number) for number in numbers])
    page = {f"memstat_type_{figure}": {} for figure in
            ("bytes", "objects", "held_bytes", "free_objects", "object_footprint_bytes")}
    for name, rows in caches.items():
        page["memstat_type_bytes"][name] = sum(row[0] * row[2] for row in rows)
        page["memstat_type_objects"][name] = sum(row[0] for row in rows)
        page["memstat_type_held_bytes"][name] = sum(row[6] * row[4] * page_size for row in rows)
        page["memstat_type_free_objects"][name] = sum(max(row[1] - row[0], 0) for row in rows)
        if len({row[2] for row in rows}) == 1:
            page["memstat_type_object_footprint_bytes"][name] = rows[0][2]
    return page


# ---- generated captures ----------------------------------------------------------------------------------------------

def write_file(path, content):
    """Writes a file, making the directories above it, and returns its path."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def recorded_polls(directory):
    """Names of the complete polls of a recording to a directory: polls in its segments, and polls with their own directory."""
    names = os.listdir(directory) if os.path.isdir(directory) else []
    found = {name for name in names if name.isdigit()}
    for name in names:
        if re.fullmatch(r"\d{6,}\.tar", name):
            try:
                with tarfile.open(os.path.join(directory, name), "r:") as archive:
                    found.update(path.split("/")[0] for path in archive.getnames() if path.endswith("/poll.yaml"))
            except tarfile.ReadError:
                pass  # its first poll has begun
    return sorted(found)


def write_capture(directory, polls, system="linux", cpus="0-1", page_size=4096, apart_ns=POLL_NS):
    """Makes a capture. Each poll is {path: content}: "fs/proc/slabinfo", "sysctl/vm.zone_stats", "errors.yaml"; polls are
    `apart_ns` apart, as they are when a daemon replays them. Gives back the directory."""
    write_file(os.path.join(directory, "manifest.yaml"),
               f'format: 1\nos: {system}\nrelease: "test"\nmachine: x86_64\npage_size: {page_size}\ncpus_present: "{cpus}"\n'
               "nodes: 1\nhow: made by an end-to-end test\nedits: all of it\n")
    for index, files in enumerate(polls):
        poll = os.path.join(directory, f"{index:06d}")
        for path, content in files.items():
            write_file(os.path.join(poll, path), content)
        write_file(os.path.join(poll, "poll.yaml"),
                   f"label: poll {index}\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: {(index + 10) * apart_ns}\n")
    return directory


SLABINFO_HEADER = ("slabinfo - version: 2.1\n"
                   "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> "
                   "<batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n")


def slabinfo_line(name, active=10, objects=20, size=64, pages=1, slabs=1):
    name = name if isinstance(name, bytes) else name.encode()
    return name.ljust(17) + (f" {active:6} {objects:6} {size:6} {20:4} {pages:4} : tunables    0    0    0 : slabdata "
                             f"{slabs:6} {slabs:6}      0\n").encode()


def slabinfo(*lines):
    return SLABINFO_HEADER.encode() + b"".join(lines)


def malloc_stats(types, slots=4, version=1, says_slots=None, says_count=None):
    """kern.malloc_stats: types is a list of (name, {cpu: (memalloced, memfreed, numallocs, numfrees)}), with the mask of
    size classes as a fifth figure or without."""
    stream = struct.pack("<4I", version, slots if says_slots is None else says_slots,
                         len(types) if says_count is None else says_count, 0)
    for name, cpus in types:
        stream += (name if isinstance(name, bytes) else name.encode())[:32].ljust(32, b"\0")
        for cpu in range(slots):
            figures = tuple(cpus.get(cpu, ()))
            stream += struct.pack("<8Q", *figures, *(0,) * (8 - len(figures)))
    return stream


def zone_stats(zones, slots=4, version=1, says_slots=None, says_count=None):
    """vm.zone_stats: zones is a list of dicts with the name and the values that are not 0: size, rsize, limit, pages, allocs, fails..."""
    stream = struct.pack("<4I", version, slots if says_slots is None else says_slots,
                         len(zones) if says_count is None else says_count, 0)
    for zone in zones:
        name = zone["name"]
        stream += (name if isinstance(name, bytes) else name.encode())[:32].ljust(32, b"\0")
        stream += struct.pack("<10I", 7, zone.get("size", 64), zone.get("rsize", 64), 0, zone.get("limit", 0),
                              zone.get("pages", 0), zone.get("keg_free", 0), zone.get("zone_free", 0), 0, 0)
        stream += struct.pack("<6Q", *(zone.get(key, 0) for key in ("allocs", "frees", "fails", "sleeps", "xdomain")), 0)
        stream += bytes(64) * slots
    return stream
