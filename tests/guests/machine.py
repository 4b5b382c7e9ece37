#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One boot of a kernel in QEMU without KVM: the initramfs, the command line, and what came out.

The first serial port is the console; lines that begin with RESULT are the guest's answers. The second one carries what the guest
recorded, a gzipped tar of its directory /out. A line "RESULT monitor COMMAND; COMMAND" is for QEMU's monitor, and after "RESULT wake N" the guest,
which is going to sleep, is woken N seconds later.
"""
import dataclasses
import io
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import time

import kernels

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QEMU = "qemu-system-x86_64"
BUSYBOX = "/bin/busybox"
ARM64_QEMU = "qemu-system-aarch64"
ARM64_ROOT = ROOT / "build/guests/arm64/root"  # where tests/guests/arm64.py unpacks Debian's packages


@dataclasses.dataclass
class Shape:
    cpus: int = 1
    nodes: int = 1
    memory: int = 1024     # MiB
    max_cpus: int = 0      # including those that can be plugged in later; 0: as many as present
    append: str = ""       # to the kernel's command line
    patience: int = 900    # seconds
    devices: tuple = ()    # more of QEMU's arguments


@dataclasses.dataclass
class Outcome:
    lines: list            # the answers, without the word RESULT
    console: str
    files: dict            # path below /out: bytes, or a str for a symbolic link
    seconds: float
    boot_seconds: float    # until the test began
    ended: bool            # the guest ended by itself
    program: str = ""      # a memstatd that runs here
    watch: object = None   # the object that watched the guest from outside


def provoke_program(directory, compiler="gcc"):
    """The program of tests/situations/provoked, which takes things of a kind and keeps them, without libraries."""
    target = pathlib.Path(directory) / "provoke"
    sources = (ROOT / "tests/situations/provoked").glob("*.c")
    subprocess.run([compiler, "-static", "-O1", f"-I{ROOT}", "-o", target, *sources, "-lpthread"], check=True)
    return target


def missing(kernel="6.1"):
    """What this machine lacks for a guest of that kernel, or an empty string."""
    if kernels.is_arm64(kernel):
        for program, package in ((ARM64_QEMU, "qemu-system-arm"), ("readelf", "binutils")):
            if not shutil.which(program):
                return f"{program} is not installed (Debian's {package})"
        return "" if ARM64_ROOT.exists() else "nothing is built for arm64: tests/guests/arm64.py does"
    if not shutil.which(QEMU):
        return f"{QEMU} is not installed (Debian's qemu-system-x86)"
    if not os.path.exists(BUSYBOX):
        return f"{BUSYBOX} is not installed (Debian's busybox-static)"
    if b"ld-linux" in pathlib.Path(BUSYBOX).read_bytes()[:4096]:
        return f"{BUSYBOX} is not the static one (Debian's busybox-static)"
    return ""


def cpio(files):
    """A cpio archive (newc) of {path: (mode, content)}; a device has its numbers as a third."""
    archive = bytearray()

    def add(name, mode, content, device=(0, 0)):
        numbers = [len(archive) + 1, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0]
        archive.extend(b"070701" + b"".join(b"%08x" % number for number in numbers) + name.encode() + b"\0")
        archive.extend(b"\0" * (-len(archive) % 4))
        archive.extend(content)
        archive.extend(b"\0" * (-len(archive) % 4))

    parents = sorted({str(parent) for name in files for parent in pathlib.PurePosixPath(name).parents if str(parent) != "."})
    for name in parents:
        if name not in files:
            add(name, 0o40755, b"")
    for name, (mode, content, *device) in files.items():
        add(name, mode, content, *device)
    add("TRAILER!!!", 0, b"")
    return bytes(archive)


def _libraries(programs):
    found = {}
    for program in programs:
        text = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"(/\S+) \(0x", text):
            found[path.lstrip("/")] = (0o100755, pathlib.Path(path).read_bytes())
    return found


def _libraries_of_arm64(programs):
    """The same without running anything: what the programs name, and what that names."""
    loader = "lib/ld-linux-aarch64.so.1"
    found = {loader: (0o100755, (ARM64_ROOT / loader).read_bytes())}
    wanted, seen = list(programs), set()
    while wanted:
        text = subprocess.run(["readelf", "-d", str(wanted.pop())], capture_output=True, text=True, check=True).stdout
        for name in set(re.findall(r"\(NEEDED\).*\[(.+)\]", text)) - seen:
            seen.add(name)
            for directory in ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"):
                path = ARM64_ROOT / directory / name
                if path.exists():
                    found[f"{directory}/{name}"] = (0o100755, path.read_bytes())
                    wanted.append(path)
                    break
    return found


def programs_archive(programs, kernel="6.1"):
    """The part of the initramfs that all tests share: busybox, memstatd, memstatctl, their libraries."""
    busybox = ARM64_ROOT / "bin/busybox" if kernels.is_arm64(kernel) else pathlib.Path(BUSYBOX)
    files = {"dev/console": (0o20600, b"", (5, 1)), "proc": (0o40755, b""), "sys": (0o40755, b""), "tmp": (0o41777, b""),
             "out": (0o41777, b""), "bin/busybox": (0o100755, busybox.read_bytes()),
             "etc/passwd": (0o100644, b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"),
             "etc/group": (0o100644, b"root:x:0:\nnogroup:x:65534:\n")}
    for program in programs:
        files[f"bin/{pathlib.Path(program).name}"] = (0o100755, pathlib.Path(program).read_bytes())
    files |= _libraries_of_arm64(programs) if kernels.is_arm64(kernel) else _libraries(programs)
    return cpio(files)


def test_archive(script, environment, extra, modules):
    """The part of one test. `extra` is {path: bytes}; modules are paths."""
    words = "".join(f"{name}='{value}'\n" for name, value in environment.items())
    files = {"init": (0o100755, (HERE / "guest.sh").read_bytes()), "test.sh": (0o100644, script), "environment": (0o100644, words.encode())}
    files |= {path: (0o100755, content) for path, content in extra.items()}
    files |= {f"modules/{path.name}": (0o100644, path.read_bytes()) for path in modules}
    return cpio(files)


def command_line(kernel, initrd, shape, record):
    cpus = max(shape.max_cpus, shape.cpus)
    if kernels.is_arm64(kernel.name):  # whose board has one serial port; the second is a card's, /dev/ttyS0
        return [ARM64_QEMU, "-machine", "virt", "-accel", "tcg,thread=multi", "-cpu", "max,pauth-impdef=on", "-m", str(shape.memory), "-nodefaults",
                "-display", "none", "-no-reboot", "-smp", str(shape.cpus), "-kernel", str(kernel.image), "-initrd", str(initrd), "-serial", "stdio",
                "-chardev", f"file,id=record,path={record}", "-device", "pci-serial,chardev=record", "-append",
                f"console=ttyAMA0 quiet panic=-1 rdinit=/init {shape.append}".strip()]
    command = [QEMU, "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(shape.memory), "-nodefaults", "-display",
               "none", "-no-reboot", "-smp", f"{shape.cpus},maxcpus={cpus}"]
    for node in range(shape.nodes if shape.nodes > 1 else 0):
        mine = [cpu for cpu in range(cpus) if cpu * shape.nodes // cpus == node]
        words = "".join(f",cpus={cpu}" for cpu in mine)
        command += ["-object", f"memory-backend-ram,id=m{node},size={shape.memory // shape.nodes}M",
                    "-numa", f"node,nodeid={node},memdev=m{node}{words}"]
    return command + ["-kernel", str(kernel.image), "-initrd", str(initrd), "-serial", "stdio", "-serial", f"file:{record}", "-append",
                      f"console=ttyS0 quiet panic=-1 no_timer_check rdinit=/init {shape.append}".strip()]


def monitor(path, *commands):
    """Sends commands to QEMU's monitor, each after the one before has ended."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(300)
        connection.connect(str(path))
        answer = b""
        for command in (None, *commands):
            if command is not None:
                connection.sendall(command.encode() + b"\n")
                answer = b""
            while not answer.rstrip().endswith(b"(qemu)"):
                got = connection.recv(65536)
                if not got:
                    return
                answer += got
            if command and b"Error" in answer:
                raise RuntimeError(f"QEMU refused {command}: {answer.decode(errors='replace')}")


def _unpack(path):
    if not path.exists() or not path.stat().st_size:
        return {}
    try:
        with tarfile.open(fileobj=io.BytesIO(path.read_bytes()), mode="r:gz") as archive:
            return {member.name.removeprefix("./"): archive.extractfile(member).read() if member.isfile() else member.linkname
                    for member in archive if member.isfile() or member.issym()}
    except (tarfile.TarError, OSError, EOFError):
        return {}


def keep(files, directory):
    """Writes what a guest recorded."""
    for path, content in files.items():
        place = pathlib.Path(directory) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        elif not place.is_symlink():
            place.symlink_to(content)


def boot(kernel, archives, shape, watch=None):
    """Boots, waits for the end, and returns the Outcome. A `watch` has `devices`, more of QEMU's arguments, and `hear`, which
    receives each line of the console and may return an answer to type."""
    with tempfile.TemporaryDirectory(prefix="memstat-guest-") as directory:
        work = pathlib.Path(directory)
        (work / "initrd").write_bytes(b"".join(archives))
        record = work / "record"
        start = time.monotonic()
        begun, console = None, []
        command = [*command_line(kernel, work / "initrd", shape, record), *shape.devices, *(watch.devices if watch else ()), "-monitor", f"unix:{work}/monitor,server,nowait"]
        with subprocess.Popen(command, stdin=subprocess.PIPE if watch else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            timer = threading.Timer(shape.patience, process.kill)
            timer.start()
            for line in process.stdout:
                if begun is None and line.startswith("RESULT begin"):
                    begun = time.monotonic() - start
                if line.startswith("RESULT monitor "):
                    monitor(work / "monitor", *line.removeprefix("RESULT monitor ").strip().split("; "))
                if line.startswith("RESULT wake "):
                    threading.Timer(float(line.split()[2]), monitor, (work / "monitor", "system_wakeup")).start()
                console.append(line)
                answer = watch.hear(line) if watch else None
                if answer:
                    process.stdin.write(answer)
                    process.stdin.flush()
            process.wait()
            timer.cancel()
        text = "".join(console)
        lines = re.findall(r"^RESULT (.*?)\r?$", text, re.M)
        return Outcome(lines, text, _unpack(record), time.monotonic() - start, begun or 0.0, "end" in lines, watch=watch)
