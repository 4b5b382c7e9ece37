# SPDX-License-Identifier: BSD-2-Clause
"""A Debian with only its base packages, in a directory, in which commands are typed. Needs root, mmdebstrap and git.

It has this machine's kernel, and process and mount namespaces of its own. With a network of its own, ports are free there, and the
package mirror is the only host that can be reached.
"""
import concurrent.futures
import contextlib
import ctypes
import fcntl
import glob
import os
import shlex
import shutil
import socket
import struct
import subprocess
import threading
import time
import urllib.parse

import releases

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
MIRROR = os.environ.get("MIRROR") or "http://deb.debian.org/debian"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ARCHIVES = "var/cache/apt/archives"
CLONE_NEWNET = 0x40000000  # <linux/sched.h>
SIOCSIFFLAGS = 0x8914      # <linux/sockios.h>
IFF_UP = 1                 # <linux/if.h>


def missing():
    """The reason why such a system cannot be made here, or an empty string."""
    if os.geteuid() != 0:
        return "needs root, to make a bare system and its namespaces"
    for tool, package in (("mmdebstrap", "mmdebstrap"), ("git", "git"), ("unshare", "util-linux"), ("nsenter", "util-linux")):
        if not shutil.which(tool):
            return f"{tool} is not installed: apt-get install {package}"
    if subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "true"], capture_output=True, check=False).returncode != 0:
        return "namespaces are not permitted here"
    return ""


def make_base(tar, packages=(), suite=None):
    """Writes the base system of this suite (default: this machine's) with these packages to `tar`, unless that exists."""
    suite = suite or releases.RELEASES[releases.here()].suite
    if not os.path.exists(tar):
        os.makedirs(os.path.dirname(tar), exist_ok=True)
        new = f"{tar}.{os.getpid()}.tar"  # mmdebstrap decides by the suffix; two tests may make one at a time
        include = [f"--include={','.join(packages)}"] if packages else []
        done = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", *include, suite, new, MIRROR], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"mmdebstrap: exit status {done.returncode}: {done.stderr.strip()[-600:]}")
        os.replace(new, tar)
    return tar


def copy_tree(destination):
    """A clone of this repository, including uncommitted changes."""
    git = ["git", "-c", "safe.directory=*"]
    subprocess.run([*git, "clone", "--quiet", "--no-local", TREE, destination], check=True)
    listed = subprocess.run([*git, "-C", TREE, "ls-files", "-z", "--modified", "--others", "--exclude-standard"], check=True,
                            capture_output=True).stdout.decode()
    for path in filter(None, listed.split("\0")):
        source, target = os.path.join(TREE, path), os.path.join(destination, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.lexists(source):
            shutil.copy2(source, target, follow_symlinks=False)
        elif os.path.lexists(target):
            os.remove(target)


def lend_packages(source, destination):
    """Package files that apt need not download again. It verifies their checksums."""
    for path in glob.glob(os.path.join(glob.escape(source), "*.deb")):
        target = os.path.join(destination, os.path.basename(path))
        if not os.path.exists(target):
            shutil.copy2(path, target)


def compiler_cache():
    """The ~/.cache of this machine, as the `cache` of a BareSystem of its release and account, if that is where ccache keeps objects."""
    if not shutil.which("ccache"):
        return None
    found = subprocess.run(["ccache", "-k", "cache_dir"], capture_output=True, text=True, check=False).stdout.strip()
    return os.path.dirname(found) if found.endswith("/.cache/ccache") and os.path.isdir(found) else None


class Mirror:
    """Connects 127.0.0.1:80 of the network of a process to the package mirror, from this process's network."""

    def __init__(self, process):
        parts = urllib.parse.urlsplit(MIRROR)
        if parts.scheme != "http":
            raise RuntimeError(f"MIRROR is {MIRROR}: a bare system reaches http:// only")
        self._address = (parts.hostname, parts.port or 80)
        with concurrent.futures.ThreadPoolExecutor(1) as thread:  # setns() affects one thread, which then ends
            self._listener = thread.submit(self._listen, process).result()
        threading.Thread(target=self._accept, daemon=True).start()

    def _listen(self, process):
        with open(f"/proc/{process}/ns/net", "rb") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
        return socket.create_server(("127.0.0.1", self._address[1]))

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError), socket.create_connection(self._address, 60) as server:
            server.settimeout(None)
            back = threading.Thread(target=self._copy, args=(server, client), daemon=True)
            back.start()
            self._copy(client, server)
            back.join()

    @staticmethod
    def _copy(source, destination):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                destination.sendall(data)
        with contextlib.suppress(OSError):
            destination.shutdown(socket.SHUT_WR)

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class BareSystem:
    """A context manager. `account` is "root", or "user", who may use sudo. Commands run in the home directory's clone of this tree. `cache`
    is a directory that is the account's ~/.cache there, and stays."""

    def __init__(self, base, directory, account="root", own_network=False, cache=None):
        self.root = os.path.join(directory, account)
        self.account = account
        self.home = "/root" if account == "root" else f"/home/{account}"
        self.clone = self.home + "/memstat"
        self._base, self._own_network, self._cache = base, own_network, cache
        self._first, self._mirror = None, None
        self._unshare = None

    def path(self, name):
        return os.path.join(self.root, name.lstrip("/"))

    def __enter__(self):
        os.mkdir(self.root)
        subprocess.run(["tar", "-C", self.root, "--exclude=./dev/*", "-xf", self._base], check=True)
        with open(self.path("/etc/dpkg/dpkg.cfg.d/unsafe-io"), "w", encoding="ascii") as file:
            file.write("force-unsafe-io\n")  # a crash of this machine may lose the system
        self._write_hosts()
        if self.account != "root":
            subprocess.run(["chroot", self.root, "useradd", "--create-home", "--shell", "/bin/bash", self.account], check=True)
            with open(self.path("/etc/sudoers.d/" + self.account), "w", encoding="ascii") as file:
                file.write(f"{self.account} ALL=(ALL) NOPASSWD: ALL\n")
        os.chmod(self.path(self.home), 0o700)
        copy_tree(self.path(self.clone))
        if self._cache:
            os.makedirs(self._cache, exist_ok=True)
            os.mkdir(self.path(self.home + "/.cache"))
        if self.account != "root":
            subprocess.run(["chroot", self.root, "chown", "-R", f"{self.account}:", self.home], check=True)
            if self._cache:
                home = os.stat(self.path(self.home))
                os.chown(self._cache, home.st_uid, home.st_gid)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _write_hosts(self):
        if not self._own_network:
            for name in ("resolv.conf", "hosts"):
                shutil.copy(f"/etc/{name}", self.path(f"/etc/{name}"))
            return
        with open(self.path("/etc/hosts"), "w", encoding="ascii") as file:
            file.write(f"127.0.0.1 localhost {socket.gethostname()} {urllib.parse.urlsplit(MIRROR).hostname}\n")
        with open(self.path("/etc/resolv.conf"), "w", encoding="ascii"):
            pass

    def _start(self):
        network = ["--net"] if self._own_network else []
        cache = [self._cache, self.path(self.home + "/.cache")] if self._cache else []
        self._unshare = subprocess.Popen(["unshare", "--mount", "--pid", *network, "--fork", "--kill-child", "bash",
                                          os.path.join(HERE, "bare_system.sh"), self.root, *cache], stdin=subprocess.DEVNULL)
        children = f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children"
        while True:
            if self._unshare.poll() is not None:
                raise RuntimeError(f"the bare system ended with {self._unshare.returncode}")
            with contextlib.suppress(OSError, IndexError):
                with open(children, encoding="ascii") as file:
                    first = int(file.read().split()[0])
                if os.readlink(f"/proc/{first}/exe").endswith("/sleep") and os.path.samefile(f"/proc/{first}/root", self.root):
                    break
            time.sleep(0.05)
        self._first = first
        if self._own_network:
            self._mirror = Mirror(first)

    def __exit__(self, *_):
        if self._mirror:
            self._mirror.close()
        if self._unshare:
            self._unshare.kill()
            self._unshare.wait()
        # All mounts were in the namespace, which is gone.
        shutil.rmtree(self.root, ignore_errors=True)

    def arguments(self, command):
        """A command line that runs `command` in a shell of the account, in the clone."""
        enter = ["nsenter", "--target", str(self._first), "--mount", "--pid", "--root", "--wd", *(["--net"] if self._own_network else [])]
        command = f"cd {self.clone} && {{ {command}\n}}"
        if self.account != "root":
            return [*enter, "su", "-", self.account, "-c", f"bash -c {shlex.quote(command)}"]
        return [*enter, "/usr/bin/env", "-i", f"PATH={SEARCH_PATH}", "HOME=/root", "TERM=dumb", "bash", "-c", command]

    def run(self, command, **options):
        return subprocess.run(self.arguments(command), check=False, text=True, **options)

    def start(self, command, **options):
        return subprocess.Popen(self.arguments(command), text=True, **options)
