# SPDX-License-Identifier: BSD-2-Clause
"""Two network namespaces joined by a pair of interfaces, and control group filters like those of systemd's IPAddressDeny=."""
import ctypes
import ctypes.util
import ipaddress
import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE, THERE = "192.0.2.1", "192.0.2.2"
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _enter(descriptor):
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Namespaces:
    """The machine, HERE, and another host, THERE, each a separate network namespace. Skips the test if they cannot be made."""

    def __init__(self):
        self._holders, self.descriptors = [], []

    def __enter__(self):
        try:
            for _ in range(2):
                holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self._holders.append(holder)
                holder.stdin.write(b"\n")
                holder.stdin.flush()
                if holder.stdout.read(1) != b"\n":  # it is in its namespace
                    raise unittest.SkipTest("no network namespace can be made here: " + holder.stderr.read().decode().strip())
                self.descriptors.append(os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
            commands = [(0, f"link add here type veth peer name there netns {self._holders[1].pid}")]
            for place, (interface, address) in enumerate((("here", HERE), ("there", THERE))):
                commands += [(place, "link set lo up"), (place, f"address add {address}/24 dev {interface}"), (place, f"link set {interface} up")]
            for place, words in commands:
                done = self.run(place, "ip", *words.split())
                if done.returncode:
                    raise unittest.SkipTest(f"ip {words}: {done.stderr.strip()}")
        except FileNotFoundError as error:
            self.__exit__()
            raise unittest.SkipTest(str(error)) from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for descriptor in self.descriptors:
            os.close(descriptor)
        for holder in self._holders:
            holder.kill()
            holder.communicate()

    def enter(self, place):
        """Moves the calling process to 0, HERE, or 1, THERE: for `preexec_fn`."""
        _enter(self.descriptors[place])

    def run(self, place, *command, **options):
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, preexec_fn=lambda: self.enter(place), **options)

    def fetch(self, place, url, seconds):
        """What a client THERE receives, or None if it receives nothing within that time."""
        script = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1], timeout=float(sys.argv[2])).read().decode())"
        done = self.run(place, sys.executable, "-c", script, url, str(seconds))
        return done.stdout if done.returncode == 0 else None


# ---- the filter of a control group ---------------------------------------------------------------------------------------------
_BPF, _LOAD, _ATTACH, _CGROUP_SKB = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine, 0), 5, 8, 8
_ADDRESS_AT = {0: 12, 1: 16}  # in the IPv4 header: BPF_CGROUP_INET_INGRESS the source, BPF_CGROUP_INET_EGRESS the destination


def _bpf(command, attributes):
    attributes = ctypes.create_string_buffer(attributes.ljust(120, b"\0"), 120)
    result = _libc.syscall(_BPF, command, attributes, 120)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _program(direction, networks):
    """The descriptor of a program that lets packets of these networks through and drops all others."""
    instruction = struct.Struct("<BBhi").pack
    code = [instruction(0xb7, 2, 0, _ADDRESS_AT[direction]), instruction(0xbf, 0xa3, 0, 0), instruction(0x07, 3, 0, -8), instruction(0xb7, 4, 0, 4),
            instruction(0x85, 0, 0, 26), instruction(0x61, 0xa0, -8, 0)]  # bpf_skb_load_bytes(context, place, stack, 4); r0 = the address
    for index, network in enumerate(networks):
        mask, value = (int.from_bytes(part.packed, sys.byteorder, signed=True) for part in (network.netmask, network.network_address))
        code += [instruction(0xbc, 0x02, 0, 0), instruction(0x54, 2, 0, mask),
                 instruction(0x16, 2, 3 * (len(networks) - index - 1) + 2, value)]  # to the end: let through
    code += [instruction(0xb7, 0, 0, 0), instruction(0x95, 0, 0, 0), instruction(0xb7, 0, 0, 1), instruction(0x95, 0, 0, 0)]
    text, license_name = ctypes.create_string_buffer(b"".join(code)), ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("<IIQQ", _CGROUP_SKB, len(code), ctypes.addressof(text), ctypes.addressof(license_name))
    return _bpf(_LOAD, attributes.ljust(68, b"\0") + struct.pack("<I", direction))


class AddressFilter:
    """A control group of version 2 whose processes exchange packets with these networks only. Skips the test where none can be made."""

    def __init__(self, *allowed):
        with open("/proc/mounts", encoding="utf-8") as mounts:
            root = next((line.split()[1] for line in mounts if line.split()[2] == "cgroup2"), None)
        if root is None or not _BPF:
            raise unittest.SkipTest("no control groups of version 2 are mounted here")
        try:
            self.directory = tempfile.mkdtemp(prefix="memstat-filter-", dir=root)
        except OSError as error:
            raise unittest.SkipTest(f"no control group can be made here: {error}") from None
        networks = [ipaddress.ip_network(network) for network in allowed]
        try:
            group = os.open(self.directory, os.O_RDONLY | os.O_CLOEXEC)
            for direction in _ADDRESS_AT:
                program = _program(direction, networks)
                _bpf(_ATTACH, struct.pack("<IIII", group, program, direction, 0))
                os.close(program)
            os.close(group)
        except OSError as error:
            os.rmdir(self.directory)
            raise unittest.SkipTest(f"no program can be attached to a control group here: {error}") from None

    def enter(self):
        """Moves the calling process into the group: for `preexec_fn`."""
        with open(os.path.join(self.directory, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write("0")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.directory)  # its processes have ended
