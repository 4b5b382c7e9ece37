# SPDX-License-Identifier: BSD-2-Clause
"""For tests of the packages: the build tree, its settings, and running commands with their output."""
import os
import re
import subprocess
import sys

import program

BUILD_DIR = os.environ.get("BUILD_DIR") or os.path.join(program.SOURCE_DIR, "build")
CONSUMERS = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "consumers")
# dpkg and ldconfig are in directories that a normal user's PATH lacks.
ENVIRONMENT = {**os.environ, "LC_ALL": "C", "PATH": os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"}
for unwanted in ("DESTDIR", "MEMSTAT_CAPTURE", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH", "CFLAGS", "CXXFLAGS", "LDFLAGS"):
    ENVIRONMENT.pop(unwanted, None)


def setting(name, default=""):
    """A value of the build's CMakeCache.txt."""
    with open(os.path.join(BUILD_DIR, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{re.escape(name)}:[A-Z]+=(.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else default


def command(*arguments, status=0, environment=None, cwd=None):
    """Runs a command to its end and returns its output, both streams; AssertionError unless it ends with `status`."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=program.PATIENCE, cwd=cwd, env={**ENVIRONMENT, **(environment or {})})
    text = done.stdout.decode("utf-8", "backslashreplace")
    if done.returncode != status:
        raise AssertionError(f"{' '.join(arguments)}: exit status {done.returncode}, wanted {status}:\n{text[-6000:]}")
    return text


def install(prefix, destdir=""):
    return command("cmake", "--install", BUILD_DIR, "--prefix", prefix, environment={"DESTDIR": destdir})


def skip_all(reason):
    print(reason)
    sys.exit(77)


def tree(directory):
    """{path below the directory: permissions in octal, or the target of a link} of everything except directories."""
    found = {}
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            link = os.path.islink(path)
            found[os.path.relpath(path, directory)] = os.readlink(path) if link else f"{os.stat(path).st_mode & 0o7777:o}"
    return found


def other_version(deb, version, made, tree, change=lambda tree: None):
    """Makes the package `deb` again as `made`, with another version and what `change` does to its unpacked files in the new directory `tree`."""
    command("dpkg-deb", "-R", deb, tree)
    control = os.path.join(tree, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        text = re.sub(r"(?m)^Version: .*$", f"Version: {version}", file.read())
    with open(control, "w", encoding="utf-8") as file:
        file.write(text)
    change(tree)
    command("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, made)
