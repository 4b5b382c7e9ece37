#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's kernels, downloaded with apt and kept below build/guests/kernels: this machine's package state is not touched.

    tests/guests/kernels.py [KERNEL]...     downloads them (all without names) and prints what each is
"""
import dataclasses
import gzip
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / "build/guests/kernels"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "bookworm-backports", "newest": "trixie-backports"}
ARM64 = "arm64"
ARM64_SUITES = {ARM64: "bookworm", "arm64-16k": "bookworm-backports"}  # with pages of 4 and of 16 KiB; no suite has one with 64 KiB
MODULES = ("nf_defrag_ipv4", "nf_defrag_ipv6", "nf_conntrack", "zram", "zsmalloc", "lz4_compress", "lz4hc_compress", "zstd_compress",
           "dummy", "veth", "e1000", "brd", "netconsole", "libcrc32c", "lzo", "lzo-rle", "crc32c_generic", "842_compress", "842_decompress", "nfnetlink",
           "qemu_fw_cfg", "virtio_blk", "virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_balloon",
           "crc16", "mbcache", "jbd2", "ext4", "af_packet")


class Missing(Exception):
    """A kernel is not available; the text says why."""


@dataclasses.dataclass
class Kernel:
    name: str              # as in SUITES
    release: str           # as uname -r has it
    image: pathlib.Path
    modules: pathlib.Path  # the directory of its modules that tests load, each a plain .ko

    def module(self, name):
        path = self.modules / f"{name}.ko"
        return path if path.exists() else None


def apt_for(work, suite, architecture="amd64"):
    """Options that let apt work for an architecture with lists, packages and state of its own below `work`."""
    for directory in ("lists/partial", "cache/archives/partial"):
        (work / directory).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {suite} main\n", encoding="ascii")
    return ["-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}/cache", "-o", f"Dir::State::status={work}/status",
            "-o", f"Dir::Etc::SourceList={work}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null", "-o",
            f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}", "-o", "Acquire::Languages=none"]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise Missing(f"{' '.join(command[:1] + command[-2:])}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def _dependencies(apt, package):
    return re.findall(r"Depends: (linux-(?:image|modules|binary)-\S+)", run("apt-cache", *apt, "depends", package))


def _plain_module(path):
    content = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(content)
    return gzip.decompress(content) if path.suffix == ".gz" else content


def is_arm64(name):
    return name in ARM64_SUITES


def _download(name, suite, flavour, target):
    architecture = ARM64 if is_arm64(name) else "amd64"
    with tempfile.TemporaryDirectory(prefix="memstat-kernel-") as directory:
        work = pathlib.Path(directory)
        apt = apt_for(work, suite, architecture)
        run("apt-get", *apt, "update")
        wanted, packages = [f"linux-image-{flavour}"], []
        while wanted:  # the image, and its modules if they have their own package
            package = wanted.pop()
            new = [other for other in _dependencies(apt, package) if other not in packages]
            packages += new
            wanted += new
        real = [package for package in packages if re.search(r"\d", package.replace(flavour, ""))]
        run("apt-get", *apt, "download", *real, cwd=work)
        for package in work.glob("*.deb"):
            run("dpkg-deb", "-x", str(package), str(work / "tree"))
        # Since 6.19 or so the image is next to the modules, and a script copies it to /boot.
        images = [*(work / "tree/boot").glob("vmlinuz-*"), *(work / "tree/usr/lib/modules").glob("*/vmlinuz")]
        if not images:
            raise Missing(f"{', '.join(real)} of {suite} have no kernel image")
        new = target.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        (new / "modules").mkdir(parents=True)
        shutil.copy(images[0], new / "vmlinuz")
        release = images[0].name.removeprefix("vmlinuz-") if images[0].name != "vmlinuz" else images[0].parent.name
        (new / "release").write_text(release + "\n", encoding="ascii")
        (new / "wanted").write_text(" ".join(MODULES), encoding="ascii")
        for path in (work / "tree").rglob("*.ko*"):
            if path.name.split(".ko")[0].replace("_", "-") in {module.replace("_", "-") for module in MODULES}:
                (new / "modules" / f"{path.name.split('.ko')[0].replace('-', '_')}.ko").write_bytes(_plain_module(path))
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    return name


def find(name, download=True):
    """The kernel of that name, downloaded if it is missing and `download` allows it. Raises Missing."""
    if name not in SUITES | ARM64_SUITES:
        raise Missing(f"{name}: not one of {', '.join(SUITES | ARM64_SUITES)}")
    target = CACHE / name
    if not (target / "wanted").exists() or (target / "wanted").read_text(encoding="ascii") != " ".join(MODULES):
        if not download:
            raise Missing(f"kernel {name} has not been downloaded: tests/guests/kernels.py {name}")
        for program in ("apt-get", "dpkg-deb"):
            if not shutil.which(program):
                raise Missing(f"{program} is not there: kernels are Debian's packages")
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(name, (SUITES | ARM64_SUITES)[name], name if is_arm64(name) else "amd64", target)
    return Kernel(name, (target / "release").read_text(encoding="ascii").strip(), target / "vmlinuz", target / "modules")


def main():
    wrong = 0
    for name in sys.argv[1:] or SUITES:
        try:
            kernel = find(name)
            print(f"{name}: {kernel.release}, {len(list(kernel.modules.iterdir()))} modules")
        except Missing as reason:
            print(f"{name}: {reason}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
