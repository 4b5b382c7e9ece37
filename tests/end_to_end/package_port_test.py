#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The skeleton of a FreeBSD port: it lists the files of an installation there, and its names exist in the tree. The ports' own tools are
not available here, so building it is not tested. UPDATE_GOLDEN=1 writes pkg-plist instead of comparing."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import package  # noqa: E402
import program  # noqa: E402

PORT = os.path.join(program.SOURCE_DIR, "daemon", "package", "freebsd")
SERVICE_SCRIPT = os.path.join(program.SOURCE_DIR, "daemon", "package", "install_service.cmake")
ACCOUNT = "_memstatd"


def text(*path):
    with open(os.path.join(program.SOURCE_DIR, *path), encoding="utf-8") as file:
        return file.read()


def makefile():
    return text("daemon", "package", "freebsd", "Makefile")


def variable(name):
    found = re.search(rf"^{name}=[ \t]*((?:.*\\\n)*.*)$", makefile(), re.MULTILINE)
    return found.group(1).replace("\\\n", " ").split() if found else []


def installed():
    """Paths below the prefix that the component has on FreeBSD: this build's, with the service file of that system."""
    with program.temporary_directory() as directory:
        for component in ("daemon", "dashboards"):
            package.command("cmake", "--install", package.BUILD_DIR, "--prefix", "/usr/local", "--component", component,
                            environment={"DESTDIR": os.path.join(directory, "all")})
        package.command("cmake", f"-DMEMSTAT_SOURCE={program.SOURCE_DIR}", "-DMEMSTAT_SYSTEM=FreeBSD", "-DMEMSTAT_BINDIR=bin",
                        "-DMEMSTAT_SYSCONFDIR=etc", "-DCMAKE_INSTALL_PREFIX=/usr/local", "-P", SERVICE_SCRIPT,
                        environment={"DESTDIR": os.path.join(directory, "service")})
        paths = {path for part in ("all", "service") for path in package.tree(os.path.join(directory, part, "usr", "local"))}
    # The last two are only for Linux, as are the examples, which change systemd's unit.
    return {path for path in paths if "/doc/memstatd/examples/" not in path and not path.endswith((".service", ".spdx.json"))}


def plist_of(paths):
    """As pkg-plist names them: manual pages are compressed, the configuration is a sample of one."""
    lines = []
    for path in sorted(paths):
        if re.fullmatch(r"share/man/man\d/.*", path):
            path += ".gz"
        elif path.startswith("etc/memstatd/"):
            path = f"@sample {path}.sample"
        lines.append(path)
    return lines


class Port(unittest.TestCase):
    maxDiff = None

    def test_the_list_is_what_is_installed(self):
        wanted = plist_of(installed())
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(os.path.join(PORT, "pkg-plist"), "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in wanted))
        self.assertIn("etc/rc.d/memstatd", wanted)
        self.assertIn("bin/memstatctl", wanted)
        self.assertEqual(text(PORT, "pkg-plist").splitlines(), wanted, "UPDATE_GOLDEN=1 rewrites it")

    def test_the_makefile_names_what_the_tree_has(self):
        version = package.command(program.MEMSTATD, "--version").split()[1]
        self.assertEqual(variable("DISTVERSION"), [version.replace("~", "-")])
        self.assertTrue(os.path.exists(os.path.join(program.SOURCE_DIR, "LICENSE")))
        options = set(re.findall(r"^option\((\w+)", text("CMakeLists.txt"), re.MULTILINE))
        self.assertLessEqual(set(variable("CMAKE_OFF") + variable("CMAKE_ON")), options)
        self.assertIn("--component daemon", makefile())
        self.assertIn("--component dashboards", makefile())
        # What find_package and find_library ask for.
        for library in ("civetweb", "isal", "prometheus-cpp-core", "re2", "spdlog", "yaml-cpp"):
            self.assertIn(f"lib{library}.so:", makefile())

    def test_the_account_is_the_default_one(self):
        self.assertEqual((variable("USERS"), variable("GROUPS")), ([ACCOUNT], [ACCOUNT]))
        self.assertIn(f"\nuser: {ACCOUNT}\n", text("config", "memstatd.yaml"))
        self.assertIn(f"\n#   {ACCOUNT}:*:", makefile(), "the lines for UIDs and GIDs")


if __name__ == "__main__":
    program.main()
