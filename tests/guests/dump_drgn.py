#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every slab cache of a dump, against what drgn finds in the same dump: the addresses of all allocated objects must be the same.

    tests/guests/dump_drgn.py DUMP VMLINUX

DUMP is an ELF dump of a guest with virtual addresses, as dump_linux.py --paging --keep leaves it, and VMLINUX its kernel with debugging
information: /usr/lib/debug/boot/vmlinux-RELEASE of Debian's package linux-image-RELEASE-dbg. If Python has no drgn, it is that of
dump_tools.py. A cache that drgn cannot read is printed with its error, and is no difference. MEMSTATCTL in the environment: the program, by
default build/bin/memstatctl. Exit status 77: drgn is missing.
"""
import argparse
import os
import subprocess
import sys

import dump_linux
import dump_tools
import kernels


def objects_of(dump, cache):
    """Addresses of the objects of a cache by memstatctl."""
    found, complaints = dump_linux.objects_of(dump, cache, "--limit", "1000000")
    if complaints:
        print(f"{cache}: {complaints.strip()}")
    return {int(one["address"], 16) for one in found["objects"]}


def in_sheaves(program, cache):
    """Addresses of the free objects in sheaves (since Linux 6.18), which drgn 0.0.31 counts as allocated: those of CPUs, and full ones of nodes."""
    from drgn.helpers.linux.cpumask import for_each_possible_cpu
    from drgn.helpers.linux.list import list_for_each_entry
    from drgn.helpers.linux.nodemask import for_each_online_node
    from drgn.helpers.linux.percpu import per_cpu_ptr
    found = set()

    def take(sheaf):
        if sheaf:
            found.update(sheaf.objects[i].value_() for i in range(sheaf.size))

    try:
        percpu = cache.cpu_sheaves
    except AttributeError:
        return found
    for cpu in for_each_possible_cpu(program) if percpu else ():
        sheaves = per_cpu_ptr(percpu, cpu)
        for sheaf in (sheaves.main, sheaves.spare, sheaves.rcu_free):
            take(sheaf)
    for node in for_each_online_node(program):
        try:
            barn = cache.per_node[node].barn
        except AttributeError:
            barn = cache.node[node].barn
        if barn:
            for sheaf in list_for_each_entry("struct slab_sheaf", barn.sheaves_full.address_of_(), "barn_list"):
                take(sheaf)
    return found


def with_drgn():
    """Runs this script again, by a Python with drgn."""
    if "MEMSTAT_DRGN" in os.environ:
        print("drgn is missing (Debian package python3-drgn)")
        return 77
    try:
        dump_tools.find()
    except kernels.Missing as reason:
        print(reason)
        return 77
    words, environment = dump_tools.python()
    return subprocess.run([*words, "-B", *sys.argv], env=environment | {"MEMSTAT_DRGN": "1"}, check=False).returncode


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("dump")
    arguments.add_argument("vmlinux")
    options = arguments.parse_args()
    try:
        import drgn
        from drgn.helpers.linux.slab import for_each_slab_cache, slab_cache_for_each_allocated_object
    except ImportError:
        return with_drgn()
    program = drgn.Program()
    program.set_core_dump(options.dump)
    program.load_debug_info([options.vmlinux])
    caches = objects = different = sheaves = 0
    unread = {}
    for cache in for_each_slab_cache(program):
        name = cache.name.string_().decode()
        try:
            wanted = {one.value_() for one in slab_cache_for_each_allocated_object(cache, "void")}
            free = in_sheaves(program, cache)
        except (drgn.FaultError, LookupError, AttributeError, TypeError, ValueError) as error:
            unread.setdefault(f"{type(error).__name__}: {error}", []).append(name)
            continue
        found = objects_of(options.dump, name)
        sheaves += len(wanted & free)
        wanted -= free
        caches += 1
        objects += len(wanted)
        if wanted != found:
            different += 1
            print(f"DIFFERENT: {name}: {len(wanted)} by drgn, {len(found)} by memstatctl, {len(wanted & found)} in both")
    for error, names in unread.items():
        print(f"drgn cannot read {len(names)} caches ({', '.join(names[:3])}...): {error}")
    print(f"{caches} caches with {objects} objects by drgn {drgn.__version__} ({sheaves} more of its lie in sheaves), {different} different")
    return 1 if different or caches < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
