#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""freebsd_links.py OBJECT...: reports what a linker on FreeBSD would, for all objects that were compiled for FreeBSD.

They are on Linux, with Linux's C library and other libraries, so they cannot be linked. But each of our names that one of them needs must be
in another, and what they need of C must be in libraries, or in a C library, to which FreeBSD's programs are linked.
"""
import re
import subprocess
import sys

# Files that CMake writes, which are left out.
GENERATED = re.compile(r"_ZN7memstat(11all_sourcesEv|16all_view_openersEv|10web_assetsEv|13runbooks_textEv|16known_types_textEv|16limit_words_textEv|20allocator_words_textEv|17column_words_textEv|14cause_familiesEv|15all_inspectionsEv)")
# Libraries that are opened when needed (libpmc), or that only Linux has.
NOT_LINKED = re.compile(r"(pmc|pfm|bpf|btf|seccomp|epoll|inotify|timerfd|fanotify|process_vm)_\w+|prctl|gettid|unshare|setns|capset"
                        r"|capget|fallocate|statx|get_nprocs(_conf)?|sysinfo|signalfd")


def names(objects, flag):
    listed = subprocess.run(["nm", "-P", flag, *objects], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[0] for line in listed.splitlines() if line and not line.endswith(":")}


def problems(wanted, there):
    ours = re.compile(r"_Z\w*7memstat|(cpc|pctx|memstat)_\w+")
    for name in sorted(wanted - there):
        if ours.match(name) and not GENERATED.match(name) and not name.endswith("_completion_textEv"):
            yield f"{name}: no file that FreeBSD compiles has it"
        elif NOT_LINKED.fullmatch(name):
            yield f"{name}: FreeBSD's programs are not linked to the library that has it"


def main():
    bad = list(problems({"_ZN7memstat3oneEv", "pmc_init", "prctl", "read"}, {"_ZN7memstat3twoEv"}))
    if len(bad) != 3:
        sys.exit(f"freebsd_links.py does not find what is wrong: {bad}")
    found = list(problems(names(sys.argv[1:], "--undefined-only"), names(sys.argv[1:], "--defined-only")))
    sys.exit("\n".join(found) if found else 0)


main()
