#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 240
# Long: yes
"""The image of dashboards/examples/container, built and run: Debian's buildah builds its second stage on this machine's Debian release,
with the package of this build, and memstatd starts in it with only the capabilities, namespaces and limits of the compose file. It is
scraped, and has no capabilities left. typed_documents_test.py runs the first stage, which compiles."""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import bare_system  # noqa: E402
import package  # noqa: E402
import program  # noqa: E402

EXAMPLE = os.path.join(program.SOURCE_DIR, "dashboards", "examples", "container")
CACHE = os.path.join(package.BUILD_DIR, "bare")
NO_POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}\n'


class Image(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix="memstat-image-", dir=os.environ.get("TMPDIR", "/var/tmp")))
        self.write("policy.json", NO_POLICY)
        with open(os.path.join(EXAMPLE, "compose.yaml"), encoding="utf-8") as file:
            self.service = yaml.safe_load(file)["services"]["memstatd"]

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def buildah(self, *arguments):
        return ["buildah", "--root", f"{self.directory}/storage", "--runroot", f"{self.directory}/run", "--storage-driver", "vfs", *arguments]

    def run_buildah(self, *arguments):
        done = subprocess.run(self.buildah(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout.strip()

    def make_base(self, name):
        """The image with which the recipe begins, of the same distribution."""
        tar = bare_system.make_base(os.path.join(CACHE, "image.tar"))
        container = self.run_buildah("from", "scratch")
        self.run_buildah("add", "--quiet", container, tar, "/")
        self.run_buildah("commit", "--quiet", "--signature-policy", f"{self.directory}/policy.json", container, name)
        self.run_buildah("rm", container)

    def make_image(self):
        with open(os.path.join(EXAMPLE, "Containerfile"), encoding="utf-8") as file:
            stages = re.split(r"(?m)^(?=FROM )", file.read())
        self.assertEqual(len(stages), 3)
        base = re.match(r"FROM (\S+)", stages[2]).group(1)
        recipe = self.write("context/Containerfile", stages[2].replace("COPY --from=build /packages/", "COPY packages/"))
        packages = os.path.join(self.directory, "context", "packages")
        package.command("cpack", "--config", os.path.join(package.BUILD_DIR, "CPackConfig.cmake"), "-G", "DEB", "-D", "CPACK_COMPONENTS_ALL=daemon", "-B", packages,
                        cwd=self.directory)
        self.assertTrue([name for name in os.listdir(packages) if re.fullmatch(r"memstatd_.*\.deb", name)])
        self.make_base(base)
        self.run_buildah("build", "--pull-never", "--isolation", "chroot", "--network", "host", "--signature-policy", f"{self.directory}/policy.json", "-f", recipe,
                         "-t", self.service["image"], os.path.dirname(recipe))

    def start(self):
        """The program in the image, with only what the compose file gives."""
        # At most what this machine allows.
        files = min(self.service["ulimits"]["nofile"], resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        container = self.run_buildah("from", "--pull-never", "--cap-drop", "all", *[part for name in self.service["cap_add"] for part in ("--cap-add", f"CAP_{name}")],
                                     "--ulimit", f"nofile={files}", "--signature-policy", f"{self.directory}/policy.json",
                                     self.service["image"])
        entry = re.search(r'(?m)^ENTRYPOINT \["(.*)"\]$', self.read("Containerfile")).group(1)
        arguments = re.findall(r'"([^"]*)"', re.search(r"(?m)^CMD (.*)$", self.read("Containerfile")).group(1))
        mounts = [part for volume in self.service["volumes"] for part in ("--volume", volume)]
        self.assertEqual((self.service["network_mode"], self.service["pid"]), ("host", "host"))
        self.assertEqual(self.service["ipc"], "host")
        return subprocess.Popen(self.buildah("run", "--isolation", ISOLATION, "--network", "host", "--pid", "host", "--ipc", "host", *mounts, container, "--", entry, *arguments, "--listen",
                                             "127.0.0.1:0"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def read(self, name):
        with open(os.path.join(EXAMPLE, name), encoding="utf-8") as file:
            return file.read()

    def test_it_is_built_started_as_compose_does_and_scraped(self):
        self.make_image()
        process = self.start()
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                address = re.search(r"listening on http://(\S+)/", line)
                if address:
                    break
            else:
                self.fail("it ended: " + "".join(lines)[-3000:])
            page = program.wait_until(lambda: self.page(address.group(1)), "a page with types")
            self.assertRegex(page, r'(?m)^memstat_type_bytes\{allocator="slab",type="[^"]+"\} ')
            self.assertRegex(page, r'(?m)^memstat_memory_total_bytes [1-9]')
            self.assertIn('memstat_source_up{source="linux_view"} 1\n', page)
            self.assertNotIn("memstat_partial_view{", page)  # it sees the machine whole
            with urllib.request.urlopen(f"http://{address.group(1)}/runbooks/MemstatLimitHit", timeout=program.PATIENCE) as answer:
                self.assertIn(b"memstatctl limits", answer.read())
            for pid in self.pids(address.group(1)):
                with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                    status = file.read()
                self.assertRegex(status, r"(?m)^CapEff:\t0+$")
                self.assertNotRegex(status, r"(?m)^Uid:\t0\t")
        finally:
            process.terminate()
            process.wait(program.PATIENCE)
            process.stdout.close()

    @staticmethod
    def page(address):
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=program.PATIENCE) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:  # 503 until the first poll is over
            if error.code != 503:
                raise
            return None
        return text if "memstat_type_bytes{" in text else None

    def pids(self, address):
        """The process with this address, in the machine's own PID namespace."""
        sockets = subprocess.run(["ss", "-Hltnp", "src", address], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"pid=(\d+)", sockets)
        self.assertTrue(found, sockets)
        return found


if __name__ == "__main__":
    why = bare_system.missing() or ("" if shutil.which("buildah") else "buildah is not installed: apt-get install buildah") \
        or ("" if program.can_read_slabinfo() else program.NO_SLABINFO)
    if why:
        print(why)
        sys.exit(77)
    # crun refuses a machine that has control groups of both versions; capabilities, mounts and limits are the same without it.
    ISOLATION = "oci" if shutil.which("crun") and not os.path.ismount("/sys/fs/cgroup/unified") else "chroot"
    program.main()
