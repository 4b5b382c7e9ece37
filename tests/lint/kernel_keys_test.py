#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 10
"""Each key of the kernel's statistics is used, or kernel_keys.txt has why it is not. A new kernel's keys are thus noticed, and not lost in silence.

    tests/lint/kernel_keys_test.py [--list] [--freebsd DIRECTORY]

Examined are the captures of tests, the newest kernels of the provoked situations, this machine where it runs Linux, and with --freebsd the sysctls
`vm` and `kern.ipc` in a source tree of FreeBSD. A key is used if code that reads its file has its name. --list prints all keys by file. What only this
machine's kernel has is printed, and is no failure: it may be newer than memstatd."""
import argparse
import collections
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile

import findings

LIST = pathlib.Path(__file__).with_name("kernel_keys.txt")
# FILE: the sources of core that read it, beside parsers that several share.
READERS = {
    "meminfo": ("linux_memory", "linux_percpu", "linux_cma", "linux_zswap", "linux_hugetlb", "linux_memcg", "linux_table", "unmapped", "accounts"),
    "vmstat": ("linux_page", "linux_oom", "linux_memory"),
    "zoneinfo": ("zoneinfo", "linux_page"),
    "memory.stat": ("linux_memcg", "cgroup_walk", "memory_stat"),
    "netstat": ("linux_socket", "linux_table"),
    "sockstat": ("linux_socket", "linux_table", "linux_memory", "sockstat"),
    "pressure": ("pressure", "linux_oom"),
    "slabinfo": ("slabinfo", "linux_slabinfo"),
    "sysctl": ("freebsd_",),
}
HERE = "this machine, Linux " + platform.release()
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SYSCTL = re.compile(r"SYSCTL_(?!NODE)[A-Z0-9_]+\(\s*_(vm|kern_ipc)((?:_[a-z0-9]+)*),\s*[\w-]+,\s*(\w+),")
VARIABLE = re.compile(r"VM_STATS_(VM|SYS|PROC)\((\w+),")


def pairs(text):
    """Keys of files with a line of names and a line of numbers: "TcpExt ListenDrops"."""
    lines = text.splitlines()
    return [f"{names.split()[0].rstrip(':')} {key}" for names in lines[::2] for key in names.split()[1:]]


KEYS = {
    # Those of a node begin with "Node 0 ".
    "meminfo": lambda text: re.findall(r"^(?:Node \d+ )?(.+?):", text, re.MULTILINE),
    "vmstat": lambda text: [line.split()[0] for line in text.splitlines() if line.strip()],
    # Of nodes, zones and CPUs, without "Node 0, zone DMA".
    "zoneinfo": lambda text: [match for match in re.findall(r"^ +(?:pages )?([a-z][\w ]*?):?(?: +\d.*| +\(.*)?$", text, re.MULTILINE)],
    "memory.stat": lambda text: [line.split()[0] for line in text.splitlines() if line.strip()],
    "netstat": pairs,
    "sockstat": lambda text: [f"{line.partition(':')[0]} {key}" for line in text.splitlines() for key in line.split()[1::2]],
    "pressure": lambda text: [word.partition("=")[0] for line in text.splitlines() for word in line.split()],
    "slabinfo": lambda text: re.findall(r"<(\w+)>|: (tunables|slabdata|globalstat|cpustat)\b", "".join(line for line in text.splitlines(True) if line[0] == "#")),
}


def file_of(path):
    """The kind of file of KEYS that a path of a capture or of a machine is; None: another."""
    name = path.rsplit("/", 1)[-1]
    return name if name in KEYS else "pressure" if "/proc/pressure/" in path or name in ("memory.pressure", "io.pressure") else None


def keys_of(kind, text):
    for key in KEYS[kind](text):
        yield next(filter(None, key)) if isinstance(key, tuple) else key


def captured():
    """(kernel, kind of file, key) of the captures."""
    captures = sorted((findings.ROOT / "tests/fixtures/captures").glob("*.tar.zst"))
    captures += sorted((findings.ROOT / "tests/situations/provoked/fixtures").glob("*@newest.tar.zst"))[:10]
    for capture in captures:
        with tempfile.TemporaryFile() as unpacked:
            subprocess.run(["zstd", "-dcq", str(capture)], check=True, stdout=unpacked)
            unpacked.seek(0)
            with tarfile.open(fileobj=unpacked) as archive:
                for member in archive:
                    kind = file_of(member.name)
                    if member.isfile() and kind is not None:
                        for key in keys_of(kind, archive.extractfile(member).read().decode(errors="replace")):
                            yield capture.name.removesuffix(".tar.zst"), kind, key
                    elif member.isfile() and re.search(r"/sysctl/(vm|kern\.ipc)[\w.]*$", member.name):
                        yield capture.name.removesuffix(".tar.zst"), "sysctl", member.name.rsplit("/", 1)[-1]


def live():
    if platform.system() != "Linux":
        return
    paths = ["/proc/meminfo", "/proc/vmstat", "/proc/zoneinfo", "/proc/net/netstat", "/proc/net/sockstat", "/proc/slabinfo", "/proc/pressure/memory"]
    for path in paths + [str(one) for one in pathlib.Path("/sys/fs/cgroup").glob("*/memory.stat")][:4]:
        try:
            text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:  # no permission, or not configured
            continue
        for key in keys_of(file_of(path), text):
            yield HERE, file_of(path), key


def of_source(directory):
    """The sysctls of a source tree of FreeBSD."""
    for path in sorted(pathlib.Path(directory, "sys").rglob("*.c")):
        if path.relative_to(directory).parts[1] in ("arm", "powerpc", "riscv", "i386"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for root, below, name in SYSCTL.findall(text):
            if name == "var":  # in a macro
                continue
            yield "FreeBSD", "sysctl", ".".join([root.replace("_", "."), *filter(None, below.split("_")), name])
        for below, name in VARIABLE.findall(text):
            if name != "var":
                yield "FreeBSD", "sysctl", f"vm.stats.{'sys' if below == 'SYS' else 'vm'}.{name}"


def used_words(kind):
    words = set()
    for file, text in findings.texts(("core/sources", "core/parse", "core/collect", "core/inspect", "core/model"), {".cpp", ".h"}):
        if pathlib.Path(file).stem.startswith(READERS[kind]):
            for literal in LITERAL.findall(text):
                words.update((literal, literal.strip().rstrip(":"), *re.findall(r"[\w.()]+", literal)))
    return words


def entries():
    """[(kind, pattern, whether it is used, reason)] of the list."""
    found = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, pattern, reason = re.fullmatch(r"(\S+) (.+?)  (.+)", line).groups()
            found.append((kind, re.compile(pattern), reason))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--freebsd", metavar="DIRECTORY")
    options = parser.parse_args()
    seen = collections.defaultdict(set)
    for kernel, kind, key in [*captured(), *live(), *(of_source(options.freebsd) if options.freebsd else ())]:
        # Each zone of UMA and each domain has the same keys.
        seen[kind, re.sub(r"^vm\.uma\.[^.]+|(?<=domain\.)\d+", "NAME", key)].add(kernel)
    words = {kind: used_words(kind) for kind in READERS}
    listed = entries()
    problems, counts, matched = [], collections.Counter(), set()
    for (kind, key), kernels in sorted(seen.items()):
        is_used = key in words[kind] or key.split()[-1] in words[kind]
        why = [entry for entry in listed if entry[0] == kind and entry[1].fullmatch(key)]
        matched.update(entry[1].pattern for entry in why)
        state = "used" if is_used else why[0][2] if why else "UNKNOWN"
        counts["used" if state.startswith("used") else "unknown" if state == "UNKNOWN" else "not wanted"] += 1
        if options.list:
            print(f"{kind:12} {key:44} {state}")
        if state == "UNKNOWN":
            text = f"{kind}: {key}, of {sorted(kernels)[0]}, is unknown: use it, or say in tests/lint/kernel_keys.txt why not"
            print(text) if kernels == {HERE} else problems.append(text)
        if is_used and why and why[0][1].pattern == key:
            problems.append(f"{kind}: {key} is used, and kernel_keys.txt says why it is not")
    problems += [f"kernel_keys.txt: {entry[0]} {entry[1].pattern} matches no key" for entry in listed if entry[0] != "sysctl" and entry[1].pattern not in matched]
    print(f"{len(seen)} keys: {counts['used']} used, {counts['not wanted']} not wanted, {counts['unknown']} unknown")
    return findings.report(problems, len(seen), 400)


if __name__ == "__main__":
    sys.exit(main())
