#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 120
# Long: installs from a repository in a bare system
"""An apt repository that daemon/package/repository makes: in a bare Debian, memstatd is installed from it by file: and http:, upgraded with an edited
configuration, downgraded and purged. What somebody changed on the way, or signed with another key, is refused."""
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import bare_system  # noqa: E402
import package  # noqa: E402
import program  # noqa: E402

MAKE = os.path.join(program.SOURCE_DIR, "daemon", "package", "repository")
CACHE = os.path.join(package.BUILD_DIR, "bare")
OLD = "0.0.9-1"
LIST = "/etc/apt/sources.list.d/memstatd.sources"
CONFIGURATION = "/etc/memstatd/memstatd.yaml"


def make(directory, **environment):
    return package.command("bash", MAKE, directory, package.BUILD_DIR, environment=environment)


def add_old_version(directory):
    """An older memstatd in the pool, with other defaults."""
    pool = os.path.join(directory, "pool")
    newest = next(name for name in os.listdir(pool) if name.startswith("memstatd_"))

    def change(tree):
        with open(tree + CONFIGURATION, "a", encoding="utf-8") as file:
            file.write("# as of 0.0.9\n")

    with tempfile.TemporaryDirectory() as work:
        package.other_version(os.path.join(pool, newest), OLD, os.path.join(pool, newest.replace(newest.split("_")[1], OLD)), os.path.join(work, "tree"), change)


def version():
    return package.command("dpkg-parsechangelog", "-l", os.path.join(package.BUILD_DIR, "package", "changelog"), "-S", "Version").strip()


class Repository(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix="memstat-apt-", dir=os.environ.get("TMPDIR", "/var/tmp")))
        os.chmod(self.directory, 0o755)
        base = bare_system.make_base(os.path.join(CACHE, "image.tar"))
        self.system = self.enterContext(bare_system.BareSystem(base, self.directory))
        self.repository = self.system.path("/srv/apt")

    def run_there(self, command, status=0):
        done = self.system.run(f"export DEBIAN_FRONTEND=noninteractive; {command}", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=600)
        self.assertEqual(done.returncode != 0, status != 0, f"{command}: {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def installed(self):
        return self.run_there("dpkg-query -W -f '${Version} ${db:Status-Status}' memstatd").strip()

    def use(self, url):
        make(self.repository, URL=url)
        shutil.copy(os.path.join(self.repository, "memstatd.sources"), self.system.path(LIST))

    def test_it_is_installed_upgraded_downgraded_and_purged(self):
        make(self.repository)
        add_old_version(self.repository)
        self.use("file:/srv/apt")
        self.assertEqual(os.stat(self.repository + ".key").st_mode & 0o777, 0o700, "nobody else may sign")
        self.run_there("apt-get -qq update")
        self.run_there(f"apt-get -qq install -y --no-install-recommends memstatd={OLD}")
        self.assertEqual(self.installed(), f"{OLD} installed")
        self.run_there("memstatd --once | grep -q ^memstat_type_bytes")
        self.run_there(f"echo 'tier: minimal  # mine' > {CONFIGURATION}")
        # From here on by http, as from another machine.
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=self.repository)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        handler.func.log_message = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.use(f"http://127.0.0.1:{server.server_port}/")
        self.run_there("apt-get -qq update")
        self.run_there("apt-get -qq install -y -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold --no-install-recommends memstatd")
        self.assertEqual(self.installed(), f"{version()} installed")
        self.assertEqual(self.run_there(f"cat {CONFIGURATION}"), "tier: minimal  # mine\n")
        self.run_there(f"apt-get -qq install -y --allow-downgrades -o Dpkg::Options::=--force-confold --no-install-recommends memstatd={OLD}")
        self.assertEqual(self.installed(), f"{OLD} installed")
        self.assertEqual(self.run_there(f"cat {CONFIGURATION}"), "tier: minimal  # mine\n")
        self.run_there("apt-get -qq purge -y memstatd")
        self.run_there(f"test ! -e {CONFIGURATION} && ! command -v memstatd")

    def test_what_was_changed_or_signed_by_another_is_refused(self):
        self.use("file:/srv/apt")
        index = os.path.join(self.repository, "dists/stable/main/binary-" + package.command("dpkg", "--print-architecture").strip())
        shutil.rmtree(os.path.join(index, "by-hash"))
        os.remove(os.path.join(index, "Packages.gz"))
        with open(os.path.join(index, "Packages"), "a", encoding="utf-8") as file:
            file.write("\n")
        self.assertRegex(self.run_there("apt-get update 2>&1", status=100), "unexpected size|Hash Sum mismatch")
        shutil.rmtree(self.repository + ".key")
        make(self.repository)  # with a new key
        self.assertRegex(self.run_there("apt-get update 2>&1", status=100), "NO_PUBKEY|not signed|Missing key")


if __name__ == "__main__":
    if bare_system.missing():
        package.skip_all(bare_system.missing())
    unittest.main()
