#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The shipped libraries export only the functions of memstat.h, under upstream's soname."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import package  # noqa: E402
import program  # noqa: E402

SHARED = os.path.join(package.BUILD_DIR, "lib", "libmemstat.so")
STATIC = os.path.join(package.BUILD_DIR, "lib", "libmemstat.a")

# Every function of FreeBSD's <memstat.h>, all versions together.
UPSTREAM = {f"memstat_{name}" for name in """
strerror mtl_alloc mtl_first mtl_next mtl_find mtl_free mtl_geterror
sysctl_all sysctl_malloc sysctl_uma kvm_all kvm_malloc kvm_uma
malloc_zone_get_count malloc_zone_get_size malloc_zone_used
get_name get_allocator get_countlimit get_byteslimit get_sizemask get_size get_rsize get_memalloced get_memfreed get_numallocs
get_numfrees get_bytes get_count get_free get_failures get_sleeps get_xdomain get_zonefree get_kegfree
get_caller_pointer set_caller_pointer get_caller_uint64 set_caller_uint64
get_percpu_memalloced get_percpu_memfreed get_percpu_numallocs get_percpu_numfrees get_percpu_sizemask get_percpu_free
get_percpu_caller_pointer set_percpu_caller_pointer get_percpu_caller_uint64 set_percpu_caller_uint64
""".split()}

# What every C++ object brings along, merged by the linker when two have it: instances of templates of the standard library,
# and inline functions of the compiler's support.
LIBRARY_INSTANCE = re.compile(r"_Z(GV|GR|T[VTIS]|Z)*(N[rVKRO]*)?(S[tabsiod]|9__gnu_cxx)|DW\.ref\.|__clang_call_terminate")


def read(path):
    with open(os.path.join(program.SOURCE_DIR, path), encoding="ascii") as file:
        return file.read()


def declared():
    """The functions of memstat.h by their names; each must be declared as visible."""
    code = re.sub(r"/\*.*?\*/|^#.*?$", "", read("core/include/memstat.h"), flags=re.DOTALL | re.MULTILINE)
    functions = re.findall(r"^(.*?)\b(memstat_\w+)\(", code, re.MULTILINE)
    hidden = [name for before, name in functions if not before.startswith("MEMSTAT_EXPORT ")]
    if hidden:
        raise AssertionError(f"declared without MEMSTAT_EXPORT: {hidden}")
    return {name for _, name in functions}


def listed():
    code = re.sub(r"#.*", "", read("core/libmemstat.map"))
    return set(re.findall(r"(\w+);", code[code.index("global:"):code.index("local:")]))


def symbols(path):
    """(name, binding, visibility) of the global symbols of an archive."""
    for line in package.command("readelf", "-sW", path).splitlines():
        column = line.split()
        if len(column) == 8 and column[0].endswith(":") and column[4] != "LOCAL" and column[6] != "UND":
            yield column[7], column[4], column[5]


class Exports(unittest.TestCase):
    maxDiff = None

    def test_the_shared_library_shows_what_is_listed_and_declared(self):
        lines = package.command("nm", "-D", "--defined-only", SHARED).splitlines()
        self.assertEqual({line.split()[1] for line in lines}, {"T"})  # functions: no variable, no weak symbol
        shown = [line.split()[2] for line in lines]
        self.assertEqual(sorted(shown), sorted(listed()))
        self.assertEqual(sorted(shown), sorted(declared()))

    def test_every_function_of_upstream_is_there(self):
        self.assertEqual(len(UPSTREAM), 49)
        self.assertEqual(UPSTREAM - listed(), set())

    def test_the_soname_is_upstreams(self):
        dynamic = package.command("readelf", "-dW", SHARED)
        self.assertRegex(dynamic, r"\(SONAME\).*\[libmemstat\.so\.3\]")
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH|TEXTREL)\)")

    def test_the_static_library_shows_no_more_than_the_functions(self):
        shown = {name: binding for name, binding, visibility in symbols(STATIC) if visibility in ("DEFAULT", "PROTECTED")}
        strong = {name for name, binding in shown.items() if binding == "GLOBAL"}
        self.assertEqual(sorted(strong), sorted(listed()))
        weak = [name for name in shown if name not in strong and not LIBRARY_INSTANCE.match(name)]
        self.assertEqual(weak, [])

    def test_every_internal_name_of_the_static_library_is_in_our_namespace(self):
        # A program that links the archive still sees hidden symbols, so their names must not clash with its own.
        ours = re.compile(r"memstat_|_Z\w*7memstat|_Z\w*(memory_type|16memory_type_list)")
        strange = [name for name, binding, visibility in symbols(STATIC)
                   if visibility == "HIDDEN" and not ours.match(name) and not LIBRARY_INSTANCE.match(name)]
        self.assertEqual(strange, [])


if __name__ == "__main__":
    unittest.main()
