# SPDX-License-Identifier: BSD-2-Clause
"""Kernel modules in this directory, built against Debian's linux-headers for a guest's kernel, which are downloaded once."""
import pathlib
import re
import shutil
import tempfile

import kernels

HERE = pathlib.Path(__file__).resolve().parent


def _headers(kernel):
    target = kernels.CACHE / kernel.name / "headers"
    if not target.exists():
        with tempfile.TemporaryDirectory(prefix="memstat-headers-") as directory:
            work = pathlib.Path(directory)
            apt = kernels.apt_for(work, (kernels.SUITES | kernels.ARM64_SUITES)[kernel.name])
            kernels.run("apt-get", *apt, "update")
            first = f"linux-headers-{kernel.release}"
            names = re.findall(r"Depends: (linux-(?:headers|kbuild)-\S+)", kernels.run("apt-cache", *apt, "depends", first))
            kernels.run("apt-get", *apt, "download", first, *names, cwd=work)
            for package in work.glob("*.deb"):
                kernels.run("dpkg-deb", "-x", str(package), str(work / "tree"))
            shutil.move(work / "tree", target)
        makefile = target / "usr/src" / first / "Makefile"
        makefile.write_text(makefile.read_text(encoding="ascii").replace("/usr/src", str(target / "usr/src")), encoding="ascii")
    return target / "usr/src" / f"linux-headers-{kernel.release}"


def build(kernel, source):
    """The module of a C file of this directory. Raises kernels.Missing."""
    place = kernels.CACHE / kernel.name / "made"
    place.mkdir(exist_ok=True)
    shutil.copy(HERE / source, place)
    (place / "Kbuild").write_text(f"obj-m := {source.removesuffix('.c')}.o\n", encoding="ascii")
    kernels.run("make", "-s", "-C", str(_headers(kernel)), f"M={place}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
    return place / f"{source.removesuffix('.c')}.ko"
