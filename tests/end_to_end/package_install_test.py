#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`cmake --install`: every file is in its place, and external projects build against it and get the right figures."""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import package  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402

LIBDIR = package.setting("CMAKE_INSTALL_LIBDIR")
CAPTURE = captures.fixtures()["freebsd-15.0-amd64-4cpu"]
SERVICE_SCRIPT = os.path.join(program.SOURCE_DIR, "daemon", "package", "install_service.cmake")


def source(path):
    with open(os.path.join(program.SOURCE_DIR, path), encoding="ascii") as file:
        return file.read()


def content(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def install_service(system, prefix, destdir):
    """Only the service file and the configuration, as for another system."""
    return package.command("cmake", f"-DMEMSTAT_SOURCE={program.SOURCE_DIR}", f"-DMEMSTAT_SYSTEM={system}",
                           "-DMEMSTAT_BINDIR=bin", "-DMEMSTAT_DATADIR=share", "-DMEMSTAT_SYSCONFDIR=etc", f"-DCMAKE_INSTALL_PREFIX={prefix}",
                           "-P", SERVICE_SCRIPT, environment={"DESTDIR": destdir})


class InDirectory(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = self.enterContext(program.temporary_directory())

    def path(self, *names):
        return os.path.join(self.directory, *names)


class Places(InDirectory):
    def test_files_and_their_permissions(self):
        umask = os.umask(0o022)
        try:
            package.install("/usr", self.directory)
        finally:
            os.umask(umask)
        wanted = {
            f"usr/{LIBDIR}/libmemstat.so": "libmemstat.so.3", f"usr/{LIBDIR}/libmemstat.so.3": "libmemstat.so.3.0",
            f"usr/{LIBDIR}/libmemstat.so.3.0": None, f"usr/{LIBDIR}/libmemstat.a": "644",
            "usr/include/memstat.h": "644", "usr/bin/memstatd": "755", "etc/memstatd/memstatd.yaml": "644",
            f"usr/{LIBDIR}/pkgconfig/memstat.pc": "644", f"usr/{LIBDIR}/pkgconfig/cpc.pc": "644", "usr/include/libcpc.h": "644",
            f"usr/{LIBDIR}/libcpc.so": "libcpc.so.1", f"usr/{LIBDIR}/libcpc.so.1": "libcpc.so.1.0", f"usr/{LIBDIR}/libcpc.so.1.0": None,
        }
        for file in ("README.md", "runbooks.md", "prometheus/alerts.yml", "prometheus/recording_rules.yml", "grafana/host.json",
                     "prometheus/scrape/static.yml", "grafana/provisioning/dashboards/memstatd.yml"):
            wanted[f"usr/share/memstatd/dashboards/{file}"] = "644"
        for name in ("config", "config-version", "targets", "static-targets"):
            wanted[f"usr/{LIBDIR}/cmake/memstat/memstat-{name}.cmake"] = "644"
        for part in ("memstatd", "libmemstat3", "libmemstat-dev", "libcpc1", "libcpc-dev", "memstatd-dashboards"):
            wanted[f"usr/share/doc/{part}/copyright"] = "644"
        wanted["usr/share/doc/memstatd/copyright.uplot"] = "644"  # of the charts, which are in the program
        for manual in ("core/man/memstat.3", "core/man/cpc.3", "daemon/man/memstatd.8", "daemon/man/memstatctl.8",
                       "config/man/memstatd.yaml.5", "daemon/man/memstatd-metrics.7", "daemon/man/memstatd-sources.7"):
            if os.path.exists(os.path.join(program.SOURCE_DIR, manual)):
                wanted[f"usr/share/man/man{manual[-1]}/{os.path.basename(manual)}"] = "644"
        if os.path.exists(os.path.join(package.BUILD_DIR, "bin", "memstatctl")):
            wanted["usr/bin/memstatctl"] = "755"
            wanted["usr/share/memstatd/demo.tar.zst"] = "644"
            zsh = "vendor-completions" if os.path.exists("/etc/debian_version") else "site-functions"
            for path in ("bash-completion/completions/memstatctl", f"zsh/{zsh}/_memstatctl", "fish/vendor_completions.d/memstatctl.fish"):
                wanted[f"usr/share/{path}"] = "644"
        if sys.platform == "linux":
            wanted["usr/lib/systemd/system/memstatd.service"] = "644"
            for name in ("events", "holders", "journal", "kernel-log", "network"):
                wanted[f"usr/share/doc/memstatd/examples/{name}.conf"] = "644"
        if os.path.exists(os.path.join(package.BUILD_DIR, "package", "memstatd.spdx.json")):  # of the target sbom
            wanted["usr/share/doc/memstatd/memstatd.spdx.json"] = "644"
        found = package.tree(self.directory)
        for path, mode in wanted.items():
            self.assertIn(path, found)
            if mode:
                self.assertEqual(found[path], mode, path)
        strange = [path for path in found if path not in wanted and "/dashboards/" not in path
                   and not (path.startswith(f"usr/{LIBDIR}/cmake/memstat/memstat-") and path.endswith("targets-release.cmake"))]
        self.assertEqual(strange, [])
        self.assertEqual([path for path in found if path.endswith(".py") or "/dashboards/prometheus/tests/" in path], [])
        for where, directories, _ in os.walk(self.directory):
            for name in directories:
                self.assertEqual(os.stat(os.path.join(where, name)).st_mode & 0o777, 0o755, os.path.join(where, name))

    def test_shells_complete_from_what_is_installed(self):
        if not os.path.exists(os.path.join(package.BUILD_DIR, "bin", "memstatctl")):
            self.skipTest("memstatctl is not built")
        package.install(self.path("prefix"))
        for shell, path in (("bash", "bash-completion/completions/memstatctl"), ("zsh", "zsh/site-functions/_memstatctl"),
                            ("fish", "fish/vendor_completions.d/memstatctl.fish")):
            printed = package.command(os.path.join(package.BUILD_DIR, "bin", "memstatctl"), "completion", shell)
            self.assertEqual(content(self.path("prefix", "share", path)), printed, shell)
        offered = package.command("bash", "-c", f"source {self.path('prefix/share/bash-completion/completions/memstatctl')}; COMP_WORDS=(memstatctl ''); "
                                  "COMP_CWORD=1; _memstatctl; echo ${COMPREPLY[@]}").split()
        self.assertLessEqual({"why", "help", "version"}, set(offered))

    def test_nothing_installed_names_the_source_or_the_build(self):
        package.install(self.path("prefix"))
        for path in package.tree(self.directory):
            with open(self.path(path), "rb") as file:
                data = file.read()
            self.assertNotIn(program.SOURCE_DIR.encode() + b"/", data, path)
            self.assertNotIn(package.BUILD_DIR.encode(), data, path)
            if path.endswith((".cmake", ".pc")):
                self.assertNotIn(self.directory.encode(), data, path)

    def test_an_edited_configuration_is_kept(self):
        edited = self.path("etc", "memstatd", "memstatd.yaml")
        install_service("Linux", "/usr", self.directory)
        self.assertEqual(content(edited), source("config/memstatd.yaml"))
        install_service("Linux", "/usr", self.directory)
        self.assertFalse(os.path.exists(edited + ".new"))
        with open(edited, "w", encoding="ascii") as file:
            file.write("tier: minimal\n")
        self.assertIn("Kept /etc/memstatd/memstatd.yaml", install_service("Linux", "/usr", self.directory))
        self.assertEqual(content(edited), "tier: minimal\n")
        self.assertEqual(content(edited + ".new"), source("config/memstatd.yaml"))

    def test_dashboards_name_the_paths_of_the_prefix(self):
        for prefix in ("/usr", "/opt/mem"):
            package.command("cmake", "--install", package.BUILD_DIR, "--prefix", prefix, "--component", "dashboards",
                            environment={"DESTDIR": self.path("a")})
        for file in ("grafana/provisioning/dashboards/memstatd.yml", "prometheus/scrape/static.yml", "README.md"):
            shipped = source("dashboards/" + file)
            self.assertIn("/usr/share/memstatd/dashboards", shipped, file)
            self.assertEqual(content(self.path("a/usr/share/memstatd/dashboards", file)), shipped)
            self.assertEqual(content(self.path("a/opt/mem/share/memstatd/dashboards", file)),
                             shipped.replace("/usr/share/memstatd", "/opt/mem/share/memstatd"))

    def test_service_files_name_the_paths_of_the_prefix(self):
        install_service("Linux", "/usr", self.path("a"))
        self.assertEqual(content(self.path("a/usr/lib/systemd/system/memstatd.service")), source("rc.d/memstatd.service"))
        install_service("Linux", "/opt/mem", self.path("b"))
        unit = content(self.path("b/opt/mem/lib/systemd/system/memstatd.service"))
        self.assertIn("ExecStart=/opt/mem/bin/memstatd --config /opt/mem/etc/memstatd/memstatd.yaml\n", unit)
        self.assertNotIn("/usr/bin/memstatd", unit)
        self.assertNotIn(" /etc/memstatd", unit)
        self.assertTrue(os.path.exists(self.path("b/opt/mem/etc/memstatd/memstatd.yaml")))

        install_service("FreeBSD", "/usr/local", self.path("c"))
        script = self.path("c/usr/local/etc/rc.d/memstatd")
        self.assertEqual(content(script), source("rc.d/memstatd"))
        self.assertEqual(os.stat(script).st_mode & 0o777, 0o555)
        install_service("FreeBSD", "/opt/mem", self.path("d"))
        text = content(self.path("d/opt/mem/etc/rc.d/memstatd"))
        self.assertIn(': "${memstatd_bin:="/opt/mem/bin/memstatd"}"\n', text)
        self.assertIn(': "${memstatd_config:="/opt/mem/etc/memstatd/memstatd.yaml"}"\n', text)
        self.assertNotIn("/usr/local/bin", text)
        self.assertFalse(os.path.exists(self.path("d/opt/mem/lib")))
        self.assertTrue(os.path.exists(self.path("d/opt/mem/etc/memstatd/memstatd.yaml")))


class Consumers(InDirectory):
    """Each external project is built with the shared and with the static library, and run on a capture of a FreeBSD kernel."""

    @classmethod
    def setUpClass(cls):
        done = program.run("--once", "--replay", CAPTURE)
        cls.page = page.check(done.stdout)[0]

    def setUp(self):
        super().setUp()
        package.install(self.path("prefix"))
        self.prefix = self.path("prefix")

    def build_with_cmake(self, name):
        build = self.path(f"build-{name}")
        compiler = package.setting("CMAKE_C_COMPILER", "cc")
        arguments = [f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={compiler}",
                     f"-DCMAKE_CXX_COMPILER={package.setting('CMAKE_CXX_COMPILER')}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF",
                     "-G", package.setting("CMAKE_GENERATOR"), "--no-warn-unused-cli"]
        package.command("cmake", "-S", os.path.join(package.CONSUMERS, name), "-B", build, *arguments)
        package.command("cmake", "--build", build)
        return build

    def build_with_make(self):
        for needed in ("make", "pkg-config"):
            if not shutil.which(needed):
                self.skipTest(f"{needed} is not installed")
        build = shutil.copytree(os.path.join(package.CONSUMERS, "freebsd"), self.path("build-freebsd"))
        package.command("make", "-C", build, f"CC={package.setting('CMAKE_C_COMPILER', 'cc')}",
                        environment={"PKG_CONFIG_PATH": os.path.join(self.prefix, LIBDIR, "pkgconfig")})
        return build

    def run_both(self, build, name):
        """The program's output, which must be the same with both libraries, as rows of columns."""
        printed = []
        for kind in ("shared", "static"):
            path = os.path.join(build, f"{name}_{kind}")
            needed = "[libmemstat.so.3]" in package.command("readelf", "-d", path)
            self.assertEqual(needed, kind == "shared", path)
            printed.append(package.command(path, environment={"MEMSTAT_CAPTURE": CAPTURE,
                                                              "LD_LIBRARY_PATH": os.path.join(self.prefix, LIBDIR)}))
        self.assertEqual(printed[0], printed[1])
        return [line.split("|") for line in printed[0].splitlines()]

    def check_types(self, rows):
        """ALLOCATOR|NAME|BYTES|COUNT of all types, compared with memstatd's page, where types with one name are one."""
        for number, allocator in (("1", "malloc"), ("2", "uma")):
            counted, summed = {}, {}
            for row in rows:
                if row[0] == number:
                    counted[row[1]] = counted.get(row[1], 0) + int(row[3])
                    summed[row[1]] = summed.get(row[1], 0) + int(row[2])
            self.assertGreater(len(counted), 100)
            self.assertEqual(counted, self.integers("memstat_type_objects", allocator))
            self.assertEqual(summed, self.integers("memstat_type_bytes", allocator))

    def integers(self, metric, allocator):
        return {name: int(value) for name, value in self.page.by_type(metric, allocator).items()}

    def test_a_cpp_project_through_find_package(self):
        self.check_types(self.run_both(self.build_with_cmake("cmake_cpp"), "types"))

    def test_a_c11_project_and_the_freebsd_program_when_the_installed_tree_was_moved(self):
        self.prefix = shutil.move(self.prefix, self.path("elsewhere"))
        self.check_types(self.run_both(self.build_with_cmake("c11"), "types"))
        self.assertGreater(len(self.run_both(self.build_with_make(), "zones")), 100)


if __name__ == "__main__":
    unittest.main()
