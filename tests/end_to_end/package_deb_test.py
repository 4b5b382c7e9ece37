#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: makes, installs and removes the packages
"""The Debian packages, installed into a temporary root: files, service, upgrades that keep the configuration, removal, purge."""
import contextlib
import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import package  # noqa: E402
import program  # noqa: E402

CONFIGURATION = "etc/memstatd/memstatd.yaml"
UNIT = "usr/lib/systemd/system/memstatd.service"
WANTED_BY = "etc/systemd/system/multi-user.target.wants/memstatd.service"
EDITED = b"tier: minimal  # mine\n"
NEWER = b"# the defaults of another version\n"
SCRIPTS = os.path.join(program.SOURCE_DIR, "daemon", "package", "memstatd")
NAMES = ("memstatd", "libmemstat3", "libmemstat-dev", "libcpc1", "libcpc-dev", "memstatd-dashboards")
as_root = [] if os.geteuid() == 0 else ["fakeroot"]


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def write(data, *path):
    with open(os.path.join(*path), "wb") as file:
        file.write(data)


class Installed:
    """The packages of this machine, as dpkg has them."""

    def __init__(self):
        fields = "Package", "Essential", "Priority", "Installed-Size", "Provides", "Pre-Depends", "Depends"
        text = package.command("dpkg-query", "-W", "-f", "\\t".join(f"${{{field}}}" for field in fields) + "\\n")
        self.packages, self.provided = {}, {}
        for line in text.splitlines():
            values = dict(zip(fields, line.split("\t")))
            self.packages.setdefault(values["Package"], values)
            for name in self.names(values["Provides"]):
                self.provided[name[0]] = values["Package"]

    @staticmethod
    def names(depends):
        """[[name, other name that does as well...]...] of a field of dependencies."""
        return [[re.sub(r"[ (:].*", "", name.strip()) for name in one.split("|")] for one in depends.split(",") if one.strip()]

    def closure(self, names):
        """These packages and all their dependencies."""
        found, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            name = name if name in self.packages else self.provided.get(name)
            if name is None or name in found:
                continue
            found.add(name)
            for depends in ("Pre-Depends", "Depends"):
                for alternatives in self.names(self.packages[name][depends]):
                    waiting += [one for one in alternatives if one in self.packages or one in self.provided][:1]
        return found

    def of_minimal_system(self):
        """What `mmdebstrap --variant=minbase` installs."""
        return self.closure([name for name, values in self.packages.items()
                             if values["Essential"] == "yes" or values["Priority"] == "required" or name == "apt"])


class Root:
    """An empty root into which dpkg installs. Scripts run outside of it, with DPKG_ROOT, so that it needs no libc."""

    def __init__(self, directory):
        self.directory = directory
        for name in ("info", "updates", "triggers"):
            os.makedirs(os.path.join(directory, "var/lib/dpkg", name))
        for name in ("status", "available"):
            write(b"", directory, "var/lib/dpkg", name)

    def dpkg(self, *arguments):
        # The dependencies are this machine's; the root has none. A container's dpkg may omit documents.
        return package.command(*as_root, "dpkg", f"--root={self.directory}", "--force-script-chrootless", "--force-depends",
                               "--log=/dev/null", "--path-include=/*", *arguments)

    def path(self, name):
        return os.path.join(self.directory, name)

    def has(self, name):
        return os.path.lexists(self.path(name))

    def files(self):
        found = package.tree(self.directory)
        return {path: mode for path, mode in found.items() if not path.startswith("var/lib/")}

    def status(self, name):
        text = read(self.directory, "var/lib/dpkg/status").decode()
        found = re.search(rf"^Package: {name}\nStatus: (.*)$", text, re.MULTILINE)
        return found.group(1) if found else "not known"


class Packages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.directory = stack.enter_context(program.temporary_directory())
        package.command("cpack", "--config", os.path.join(package.BUILD_DIR, "CPackConfig.cmake"), "-G", "DEB", "-B", cls.directory)
        cls.debs = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(cls.directory, "*.deb"))}
        cls.host_before = os.path.lexists("/" + WANTED_BY)

    def setUp(self):
        self.root = Root(self.enterContext(program.temporary_directory()))

    def field(self, name, field):
        return package.command("dpkg-deb", "-f", self.debs[name], field).strip()

    def other_version(self, version, configuration=None):
        """memstatd's package again, with another version and maybe another default configuration."""
        tree = os.path.join(self.root.directory + "-tree")
        self.addCleanup(shutil.rmtree, tree, True)
        shutil.rmtree(tree, ignore_errors=True)
        made = os.path.join(tree, "memstatd.deb")
        package.other_version(self.debs["memstatd"], version, made, tree, lambda tree: configuration is None or write(configuration, tree, CONFIGURATION))
        return made

    def test_the_packages_and_what_they_need(self):
        self.assertEqual(sorted(self.debs), sorted(NAMES))
        version = package.command(program.MEMSTATD, "--version").split()[1]
        for name in NAMES:
            self.assertEqual(self.field(name, "Version"), f"{version}-1")
            control = package.command("dpkg-deb", "-I", self.debs[name], "control")
            self.assertRegex(control, r"\nDescription: kernel memory statistics\b.*\n [A-Za-z]")
            self.assertRegex(control, r"\nMaintainer: .+ <.+@.+>\n")
        # From the program itself: the libraries that it is linked with, in at least the version with the symbols.
        for needed in ("libc6 (>= ", "libstdc++6 (>= ", "libyaml-cpp", "libre2", "libprometheus-cpp-core", "libcivetweb", "libspdlog"):
            self.assertIn(needed, self.field("memstatd", "Depends"))
        self.assertNotIn("libmemstat", self.field("memstatd", "Depends"))
        self.assertIn("libc6 (>= ", self.field("libmemstat3", "Depends"))
        self.assertIn(f"libmemstat3 (= {version}-1)", self.field("libmemstat-dev", "Depends"))
        # A Prometheus server needs nothing else of memstatd, whatever its architecture; a monitored host needs no dashboards.
        self.assertEqual((self.field("memstatd-dashboards", "Architecture"), self.field("memstatd-dashboards", "Depends")), ("all", ""))
        files = package.command("dpkg-deb", "-c", self.debs["memstatd-dashboards"])
        for file in ("prometheus/alerts.yml", "prometheus/alertmanager.yml", "grafana/host.json", "mixin/mixin.libsonnet", "runbooks.md"):
            self.assertIn(f"./usr/share/memstatd/dashboards/{file}\n", files)
        self.assertNotIn("/dashboards/", package.command("dpkg-deb", "-c", self.debs["memstatd"]))
        self.assertEqual(package.command("dpkg-deb", "-I", self.debs["memstatd"], "conffiles"), f"/{CONFIGURATION}\n")
        self.assertEqual(package.command("dpkg-deb", "-I", self.debs["libmemstat3"], "triggers"), "activate-noawait ldconfig\n")
        self.assertEqual(package.command("dpkg-deb", "-I", self.debs["libmemstat3"], "shlibs"), "libmemstat 3 libmemstat3\n")

    def test_lintian_finds_nothing(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        # No bug of Debian asks for the package, because nobody has offered it to Debian yet.
        done = subprocess.run(["lintian", "--allow-root", "--suppress-tags", "initial-upload-closes-no-bugs", *self.debs.values()], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=program.PATIENCE)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)

    def test_the_rpm_packages_have_the_same_files(self):
        if not shutil.which("rpmbuild"):
            self.skipTest("rpmbuild is not installed")
        top = self.root.directory + "-rpm"
        self.addCleanup(shutil.rmtree, top, True)
        version = package.command(program.MEMSTATD, "--version").split()[1]
        package.command("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {top}", "--define", f"prebuilt {package.BUILD_DIR}", "--define", f"memstatd_version {version}",
                        os.path.join(program.SOURCE_DIR, "daemon", "package", "memstatd.spec"))
        rpms = {os.path.basename(path).rsplit("-", 2)[0]: path for path in glob.glob(os.path.join(top, "RPMS", "*", "*.rpm"))}
        for name in ("memstatd", "memstatd-dashboards"):
            listed = package.command("rpm", "-qp", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", rpms[name]).splitlines()
            found = {path.replace("/zsh/site-functions/", "/zsh/vendor-completions/"): mode for mode, path in map(str.split, listed) if not mode.startswith("d")}
            unpacked = [line.split() for line in package.command("dpkg-deb", "-c", self.debs[name]).splitlines()]
            wanted = {words[5].removeprefix("."): words[0] for words in unpacked if not words[0].startswith("d")}
            self.assertEqual(found, {path: mode for path, mode in wanted.items() if not path.endswith("/changelog.Debian.gz")})
        self.assertEqual(package.command("rpm", "-qpc", rpms["memstatd"]), f"/{CONFIGURATION}\n")

    def test_what_a_minimal_system_gets_with_it_is_small(self):
        installed = Installed()
        depends = [one for alternatives in installed.names(self.field("memstatd", "Depends")) for one in alternatives]
        added = installed.closure(depends) - installed.of_minimal_system()
        self.assertIn("libzstd1", installed.closure(depends))
        self.assertTrue(any(name.startswith("libyaml-cpp") for name in added), added)
        sizes = {name: int(installed.packages[name]["Installed-Size"]) for name in added}
        self.assertLess(sum(sizes.values()), 15 << 10, sizes)  # KiB

    def test_what_is_installed(self):
        self.root.dpkg("-i", *self.debs.values())
        for name in NAMES:
            self.assertEqual(self.root.status(name), "install ok installed")
        # Together they are what `cmake --install` puts in place, except for what Debian wants compressed or adds.
        with program.temporary_directory() as directory:
            umask = os.umask(0o022)
            package.install("/usr", directory)
            os.umask(umask)
            wanted = package.tree(directory)
        wanted = {path + ".gz" if "/share/man/" in path else path: mode for path, mode in wanted.items()}
        wanted.update({f"usr/share/doc/{name}/changelog.Debian.gz": "644" for name in NAMES})
        wanted.update({f"usr/share/lintian/overrides/{name}": "644" for name in ("libmemstat3", "libcpc1")})
        wanted[WANTED_BY] = "/" + UNIT
        found = self.root.files()
        self.assertEqual({path: mode for path, mode in found.items() if path != WANTED_BY},
                         {path: mode for path, mode in wanted.items() if path != WANTED_BY})
        self.assertIn(found[WANTED_BY], ("/" + UNIT, "/" + UNIT[4:]))
        for line in package.command("dpkg-deb", "-c", self.debs["memstatd"]).splitlines():
            self.assertIn(" root/root ", line)
            self.assertRegex(line, r"^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) ")
        self.assertEqual(read(self.root.path(CONFIGURATION)), read(program.SOURCE_DIR, "config/memstatd.yaml"))
        self.assertEqual(os.path.lexists("/" + WANTED_BY), self.host_before)  # this machine is not touched

    def test_an_upgrade_keeps_an_edited_configuration(self):
        self.root.dpkg("-i", self.debs["memstatd"])
        write(EDITED, self.root.path(CONFIGURATION))
        # A version with the same defaults asks nothing.
        self.root.dpkg("-i", self.other_version("1.0.1-1"))
        self.assertEqual(read(self.root.path(CONFIGURATION)), EDITED)
        self.assertEqual(os.listdir(self.root.path("etc/memstatd")), ["memstatd.yaml"])
        # One with other defaults would; unattended, the user's file stays, with the new defaults next to it.
        self.root.dpkg("--force-confdef", "--force-confold", "-i", self.other_version("1.1.0-1", NEWER))
        self.assertEqual(read(self.root.path(CONFIGURATION)), EDITED)
        self.assertEqual(read(self.root.path(CONFIGURATION + ".dpkg-dist")), NEWER)
        self.assertEqual(self.root.status("memstatd"), "install ok installed")
        self.assertIn("\nVersion: 1.1.0-1\n", read(self.root.path("var/lib/dpkg/status")).decode())

    def test_an_upgrade_leaves_a_service_alone_that_was_disabled(self):
        self.root.dpkg("-i", self.debs["memstatd"])
        os.remove(self.root.path(WANTED_BY))
        self.root.dpkg("-i", self.other_version("1.0.1-1"))
        self.assertFalse(self.root.has(WANTED_BY))

    def test_removal_keeps_the_configuration_and_purge_takes_it(self):
        self.root.dpkg("-i", self.debs["memstatd"])
        write(EDITED, self.root.path(CONFIGURATION))
        recordings = self.root.path("var/lib/private/memstatd")
        os.makedirs(recordings)
        write(b"recorded", recordings, "capture.tar.zst")
        os.symlink("private/memstatd", self.root.path("var/lib/memstatd"))

        self.root.dpkg("-r", "memstatd")
        self.assertEqual(self.root.status("memstatd"), "deinstall ok config-files")
        self.assertEqual(read(self.root.path(CONFIGURATION)), EDITED)
        self.assertTrue(os.path.exists(os.path.join(recordings, "capture.tar.zst")))
        self.assertFalse(self.root.has("usr/bin/memstatd") or self.root.has(UNIT))

        self.root.dpkg("-P", "memstatd")
        self.assertEqual(self.root.files(), {})
        self.assertFalse(os.path.exists(recordings) or self.root.has("var/lib/memstatd"))
        self.assertTrue(self.root.has("var/lib/private"))


class Scripts(unittest.TestCase):
    """The maintainer scripts on a machine where systemd runs, with stand-ins that log their calls."""

    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())
        os.mkdir(os.path.join(self.directory, "running"))
        for name in ("systemctl", "deb-systemd-invoke", "deb-systemd-helper"):
            status = "exit 3" if name == "deb-systemd-invoke" else "exit ${HELPER_STATUS:-0}"  # a service that fails to start
            self.script(name, f'#!/bin/sh\necho "{name} $*" >>"{self.directory}/calls"\n{status}\n')

        self.script("useradd", "#!/bin/sh\n" 'echo "why it fails" >&2\nexit "${USERADD_STATUS:-0}"\n')  # no account of this machine is made

    def script(self, name, text):
        write(text.encode(), self.directory, name)
        os.chmod(os.path.join(self.directory, name), stat.S_IRWXU)

    def calls(self, name, *arguments, running=True, environment=None):
        """What the script calls; it must succeed."""
        text = read(SCRIPTS, name).decode()
        self.assertIn("-d /run/systemd/system", text)
        self.script("under-test", text.replace("/run/systemd/system", self.directory + ("/running" if running else "/absent")))
        write(b"", self.directory, "calls")
        path = self.directory + ":" + package.ENVIRONMENT["PATH"]
        package.command(os.path.join(self.directory, "under-test"), *arguments,
                        environment={"PATH": path, "DPKG_ROOT": self.directory + "/root", **(environment or {})})
        return [line.replace("--quiet ", "") for line in read(self.directory, "calls").decode().splitlines()]

    def test_installation_enables_and_starts(self):
        self.assertEqual(self.calls("postinst", "configure", "", environment={"DPKG_ROOT": ""}),
                         ["deb-systemd-helper was-enabled memstatd.service", "deb-systemd-helper enable memstatd.service",
                          "systemctl --system daemon-reload", "deb-systemd-invoke start memstatd.service"])

    def test_upgrade_restarts_and_does_not_enable_what_was_disabled(self):
        self.assertEqual(self.calls("postinst", "configure", "0.0.9-1", environment={"DPKG_ROOT": "", "HELPER_STATUS": "1"}),
                         ["deb-systemd-helper was-enabled memstatd.service", "deb-systemd-helper update-state memstatd.service",
                          "systemctl --system daemon-reload", "deb-systemd-invoke restart memstatd.service"])
        self.assertEqual(self.calls("prerm", "upgrade", "1.1.0-1", environment={"DPKG_ROOT": ""}), [])
        self.assertEqual(self.calls("postrm", "upgrade", "1.1.0-1", environment={"DPKG_ROOT": ""}),
                         ["systemctl --system daemon-reload"])

    def test_an_account_that_exists_is_used_and_another_failure_is_said(self):
        self.assertIn("deb-systemd-invoke restart memstatd.service",
                      self.calls("postinst", "configure", "0.0.9-1", environment={"DPKG_ROOT": "", "USERADD_STATUS": "9"}))
        with self.assertRaisesRegex(AssertionError, "exit status 10") as failed:
            self.calls("postinst", "configure", "0.0.9-1", environment={"DPKG_ROOT": "", "USERADD_STATUS": "10"})
        self.assertIn("memstatd: why it fails", str(failed.exception))

    def test_removal_stops(self):
        self.assertEqual(self.calls("prerm", "remove", environment={"DPKG_ROOT": ""}),
                         ["deb-systemd-invoke stop memstatd.service"])
        self.assertEqual(self.calls("postrm", "remove", environment={"DPKG_ROOT": ""}), ["systemctl --system daemon-reload"])

    def test_another_root_and_a_machine_without_systemd_start_and_stop_nothing(self):
        for running, root in ((True, self.directory + "/root"), (False, "")):
            for name, action in (("postinst", "configure"), ("prerm", "remove"), ("postrm", "remove")):
                called = self.calls(name, action, "", running=running, environment={"DPKG_ROOT": root})
                self.assertEqual([line for line in called if not line.startswith("deb-systemd-helper ")], [], (name, root))


if __name__ == "__main__":
    for command in ("dpkg", "dpkg-deb", "dpkg-shlibdeps", "deb-systemd-helper", *as_root):
        if not shutil.which(command, path=package.ENVIRONMENT["PATH"]):
            package.skip_all(f"{command} is not installed: no Debian package is made here")
    unittest.main()
