#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What daemon/run and tests/run install: what this release has, and the rest is named with its use; no service that comes along starts, then
or at the next boot; what cannot be installed is not tried at each start; a release that is too old is refused before anything is installed.

apt and dpkg are small scripts here, whose machine is a directory. tests/fresh runs the real ones in bare systems."""
import os
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
import releases  # noqa: E402

# Packages: `good` and `served` exist, `served` has services, `broken` cannot be installed, `absent` does not exist.
TOOLS = {
    "id": "echo 0",
    "dpkg-query": 'shift 3; for name; do [ ! -e "$MACHINE/installed/$name" ] || echo "ii  $name"; done',
    "apt-cache": 'shift; for name; do case $name in good | served | broken) echo "Package: $name" ;; *) status=100 ;; esac; done; exit $status',
    "apt-get": r"""
echo "$*" >>"$MACHINE/typed"
case "$*" in *" update") exit "${UPDATE:-0}" ;; *broken*) exit 100 ;; esac
for name; do
  case $name in
    good) touch "$MACHINE/installed/$name" ;;
    served)
      touch "$MACHINE/installed/$name"
      "$MACHINE/usr/sbin/policy-rc.d" served start || echo "denied $?" >>"$MACHINE/typed"
      ln -s /lib/served.service "$MACHINE/etc/systemd/system/multi-user.target.wants/served.service"
      ln -s /lib/served.service "$MACHINE/etc/systemd/user/default.target.wants/own.service"
      ln -s ../init.d/served "$MACHINE/etc/rc2.d/S01served" ;;
  esac
done""",
    "deb-systemd-helper": r"""
[ -n "$DPKG_MAINTSCRIPT_PACKAGE" ] || exit 1
directory=system
[ "$1" != --user ] || { directory=user; shift; }
[ "$1" = disable ] && rm "$MACHINE/etc/systemd/$directory"/*.wants/"$2" """,
    "update-rc.d": '[ "$2" = disable ] && mv "$MACHINE/etc/rc2.d/S01$1" "$MACHINE/etc/rc2.d/K01$1"',
}
LIST = "good    # the compiler\nserved  # a server\nbroken  # breaks\nabsent  # names of events\n"


class InstallMissing(unittest.TestCase):
    def setUp(self):
        self.machine = self.enterContext(program.temporary_directory())
        for directory in ("tools", "installed", "tree/daemon", "usr/sbin", "etc/systemd/system/multi-user.target.wants",
                          "etc/systemd/user/default.target.wants", "etc/rc2.d", "var/lib/apt/lists", "etc/apt/sources.list.d"):
            os.makedirs(self.path(directory))
        os.symlink("/lib/own.service", self.path("etc/systemd/system/multi-user.target.wants/before.service"))
        os.symlink("../init.d/before", self.path("etc/rc2.d/S01before"))
        for name, text in TOOLS.items():
            with open(self.path("tools", name), "w", encoding="ascii") as file:
                file.write(f"#!/bin/bash\n{text}\n")
            os.chmod(file.name, stat.S_IRWXU)
        for name in ("setup.sh", "releases.txt"):
            shutil.copy(os.path.join(program.SOURCE_DIR, "daemon", name), self.path("tree/daemon"))
        with open(self.path("list"), "w", encoding="ascii") as file:
            file.write(LIST)

    def path(self, *names):
        return os.path.join(self.machine, *names)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_setup(self, command, **variables):
        """(exit status, messages)"""
        start = f"program=test; root={self.path('tree')}; . $root/daemon/setup.sh; system={self.machine}; {command}"
        done = subprocess.run(["bash", "-uc", start], env={"PATH": f"{self.path('tools')}:{os.environ['PATH']}", "MACHINE": self.machine, **variables},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=program.PATIENCE, check=False)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def install(self, **variables):
        if os.path.exists(self.path("typed")):
            os.remove(self.path("typed"))
        status, said = self.run_setup(f"install_missing {self.path('list')}", **variables)
        self.assertEqual(status, 0, said)
        typed = self.read("typed") if os.path.exists(self.path("typed")) else ""
        return said, typed

    def test_what_exists_is_installed_and_the_rest_is_named_with_its_use(self):
        said, _ = self.install()
        self.assertEqual(sorted(os.listdir(self.path("installed"))), ["good", "served"])
        self.assertIn("test: apt does not have absent (names of events)\n", said)
        self.assertIn("test: could not install broken (breaks); as root: apt-get install broken\n", said)

    def test_what_could_not_be_installed_waits_for_another_index(self):
        self.install()
        said, typed = self.install()
        self.assertEqual((typed, said.count("\n")), ("", 1), said)
        self.assertIn("without absent broken ", said)
        os.utime(self.path("var/lib/apt/lists"), (2**32, 2**32))
        self.assertIn("update", self.install()[1])

    def test_a_failed_update_is_tried_again(self):
        self.install(UPDATE="100")
        self.assertIn("update", self.install()[1])

    def test_no_service_starts_now_or_at_boot(self):
        _, typed = self.install()
        self.assertIn("denied 101\n", typed)
        self.assertFalse(os.path.exists(self.path("usr/sbin/policy-rc.d")))
        self.assertEqual(sorted(os.listdir(self.path("etc/rc2.d"))), ["K01served", "S01before"])
        self.assertEqual(os.listdir(self.path("etc/systemd/system/multi-user.target.wants")), ["before.service"])
        self.assertEqual(os.listdir(self.path("etc/systemd/user/default.target.wants")), [])

    def test_a_policy_that_was_there_stays_unless_a_killed_run_left_it(self):
        for text, stays in (("exit 101\n", True), ("# made by memstatd\nexit 101\n", False)):
            with open(self.path("usr/sbin/policy-rc.d"), "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + text)
            os.chmod(file.name, stat.S_IRWXU)
            shutil.rmtree(self.path("installed"))
            os.mkdir(self.path("installed"))
            self.install()
            self.assertEqual(os.path.exists(self.path("usr/sbin/policy-rc.d")), stays)

    def test_an_old_release_is_refused_in_one_sentence(self):
        older = int(releases.OLDEST) - 1
        for text, good in ((f'ID=debian\nVERSION_ID="{older}"\n', False), (f'ID=debian\nVERSION_ID="{releases.OLDEST}"\n', True),
                           ("ID=debian\n", True), ('ID=ubuntu\nVERSION_ID="11.04"\n', True)):
            with open(self.path("os-release"), "w", encoding="ascii") as file:
                file.write(text)
            status, said = self.run_setup(f"is_supported {self.path('os-release')}")
            expected = "" if good else f"test: Debian {older} is too old for memstatd, which needs Debian {releases.OLDEST} or newer\n"
            self.assertEqual((status, said), (0 if good else 1, expected), text)

    def test_the_newest_version_of_a_tool_is_found(self):
        for version in ("9", "14", "19"):
            shutil.copy(self.path("tools/id"), self.path(f"tools/some-tool-{version}"))
        self.assertEqual(self.run_setup("find_tool some-tool >&2"), (0, self.path("tools/some-tool-19\n")))
        shutil.copy(self.path("tools/id"), self.path("tools/some-tool"))
        self.assertEqual(self.run_setup("find_tool some-tool >&2"), (0, self.path("tools/some-tool\n")))


if __name__ == "__main__":
    unittest.main()
