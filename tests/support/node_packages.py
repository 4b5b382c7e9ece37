# SPDX-License-Identifier: BSD-2-Clause
"""Packages of npm for tests: copies a directory of tests/support with package.json and package-lock.json to the build and installs them there
as the lock file says, once for each content of it."""
import fcntl
import hashlib
import os
import shutil
import subprocess
import unittest

import program

PLACE = os.path.join(os.environ.get("BUILD_DIR") or os.path.join(program.SOURCE_DIR, "build"), "npm")


def installed(name):
    """The directory, with node_modules in it. unittest.SkipTest if npm is missing or cannot get the packages."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise unittest.SkipTest("npm is not installed (Debian packages nodejs and npm)")
    source = os.path.join(program.SOURCE_DIR, "tests", "support", name)
    with open(os.path.join(source, "package-lock.json"), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    directory = os.path.join(PLACE, f"{name}-{digest}")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        for file in os.listdir(source):
            if os.path.isfile(os.path.join(source, file)):
                shutil.copy(os.path.join(source, file), directory)
        if not os.path.exists(os.path.join(directory, "complete")):
            try:
                done = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=directory, capture_output=True, text=True, timeout=600, check=False)
            except subprocess.TimeoutExpired as hung:
                raise unittest.SkipTest("npm does not get the packages within 600 s") from hung
            if done.returncode != 0:
                raise unittest.SkipTest("npm cannot install the packages: " + done.stderr.strip().splitlines()[-1])
            with open(os.path.join(directory, "complete"), "w", encoding="utf-8"):
                pass
    return directory
