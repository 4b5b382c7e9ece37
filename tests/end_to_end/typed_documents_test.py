#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 600
# Long: yes
"""Types every command of README.md and dashboards/README.md, and of the container recipe's first stage, in order, in a bare Debian 12.

It types them as root in a clone of the tree. `daemon/run` is typed first, because the first example reads its page. A command that serves
stops the one before it, as Ctrl-C would, and `daemon/run` is typed again after it. NOT_TYPED lists the commands that cannot run there, with
the reason. Package files that this machine has, or that an earlier run downloaded, are not downloaded again.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import bare_system  # noqa: E402
import program  # noqa: E402
import typed_commands  # noqa: E402

# The documents assume that their reader has these.
ASSUMED = ("curl", "sudo")
FIRST = "daemon/run"
NO_SYSTEMD = "systemd is not the first process of a bare root; tests/guests/systemd.py runs the package under it"
NO_GRAFANA = "Debian has no Grafana; package_install_test.py and dashboards_schema_test.py test these files"
FREEBSD = "needs FreeBSD; package_port_test.py and unit/rc.d/rc_script_test.sh test the port and the service script"
# A regular expression that matches a command, and the reason. The documents must have a command for each.
NOT_TYPED = {
    r"^tests/run\b": "takes many minutes; tests/fresh types it in the same system",
    r"^pkg install": FREEBSD,
    r"cmake -S \. -B build -DMEMSTAT_TESTS=OFF && cmake --build build && cmake --install build --component daemon": FREEBSD,
    r"^sysrc ": FREEBSD,
    r"grafana-server|/etc/grafana/": NO_GRAFANA,
    r"systemctl (reload|restart) prometheus": NO_SYSTEMD,
    r"^tests/support/draw_dashboards\.py": "needs chromium and npm packages, which only the tests install; dashboards_test.py runs the queries",
    r"^tests/support/rule_test\.py": "needs the tests' packages; the tests rules/NAME_test.yml run it",
    r"^promtool test rules": "takes many minutes; the tests rules/NAME_test.yml compute the same in parts",
    r"^tests/bench/": "a benchmark, for a quiet machine and many minutes",
}
# Seconds until a command counts as hung. The longest one builds, possibly on a busy machine.
PATIENCE = 2400
KEYBOARD = {"sudo apt-get install": "y\n", "apt-get install": "y\n"}
CACHE = os.path.join(os.environ.get("BUILD_DIR", os.path.join(program.SOURCE_DIR, "build")), "bare")


def reason_not_to_type(text):
    return next((pattern for pattern in NOT_TYPED if re.search(pattern, text)), None)


def serves(text):
    return re.match(r"daemon/run(\Z| --( |\Z))", text) is not None


class Server:
    """A command that serves: a memstatd that logs its address. Its output is kept."""

    def __init__(self, system, text):
        self.text, self.printed = text, ""
        self._process = system.start(text, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.printed += line

    def wait(self):
        def listens():
            if self._process.poll() is not None:
                self._reader.join(program.PATIENCE)
                self._process.stdout.close()
                raise AssertionError(f"{self.text}: ended with {self._process.returncode}:\n{self.printed[-4000:]}")
            return re.search(r"(?:listening on|open) http://(\S+)/", self.printed)
        return program.wait_until(listens, lambda: f"{self.text} to serve; it printed {self.printed[-4000:]}", PATIENCE).group(1)

    def stop(self):
        os.killpg(self._process.pid, signal.SIGINT)
        self._process.wait(program.PATIENCE)
        self._reader.join(program.PATIENCE)  # until memstatd itself, which has the pipe, has ended
        self._process.stdout.close()
        # The demo prints an address and warnings only.
        if "stopped" not in self.printed and "--demo" not in self.text:
            raise AssertionError(f"{self.text}: did not stop in order: {self.printed[-2000:]}")


class Documents(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.all = [command for document in typed_commands.DOCUMENTS for command in typed_commands.commands(document)]
        self.all += typed_commands.recipe()

    def test_what_is_not_typed_is_in_the_documents(self):
        used = {reason_not_to_type(command.text) for command in self.all}
        self.assertEqual(set(NOT_TYPED) - used, set(), "no document has such a command")

    def test_every_command_works_as_typed(self):
        # What this machine has compiled of the tree is not compiled again, if its compiler is the one of the bare system.
        cache = bare_system.compiler_cache()
        base = bare_system.make_base(os.path.join(CACHE, "base-ccache.tar" if cache else "base.tar"), (*ASSUMED, "ccache") if cache else ASSUMED)
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="memstat-typed-", dir=os.environ.get("TMPDIR", "/var/tmp")))
        os.chmod(directory, 0o755)
        self.system = self.enterContext(bare_system.BareSystem(base, directory, own_network=True, cache=cache))
        self.session, self.server = "", None
        self.promised = [f'memstat_type_failures_total{{allocator="uma",type="{name}"}} {count}\n' for name, count in self.failures()]
        archives = self.system.path(bare_system.ARCHIVES)
        kept = os.path.join(CACHE, "archives")
        os.makedirs(kept, exist_ok=True)
        for source in ("/" + bare_system.ARCHIVES, kept):
            bare_system.lend_packages(source, archives)
        try:
            self.serve(FIRST)
            bare_system.lend_packages(archives, kept)
            for command in self.all:
                with self.subTest(str(command)):
                    self.type(command)
        finally:
            if self.server:
                self.server.stop()
            bare_system.lend_packages(archives, kept)

    @staticmethod
    def failures():
        """(type, failures) that README promises on the page of its replay."""
        with open(os.path.join(program.SOURCE_DIR, "README.md"), encoding="utf-8") as file:
            found = re.findall(r"\*zone\s+(\w+)\s+is\s+full:\s[^*]*,\s+(\d+)\s+requests\s+failed\*", file.read())
        if len(found) != 1:
            raise AssertionError("README does not describe what its replay shows, or not in the words that this test looks for")
        return found

    def serve(self, text):
        if self.server:
            server, self.server = self.server, None
            server.stop()
        begin = time.monotonic()
        server = Server(self.system, text)
        address = server.wait()
        self.server = server
        for series in ("memstat_type_delta_bytes{", *(self.promised if "--demo" in text else ())):
            program.wait_until(lambda series=series: series in self.metrics(address), f"{series} on the page of {text}")
        print(f"{text}: serves after {time.monotonic() - begin:.0f} s", flush=True)

    def metrics(self, address):
        return self.system.run(f"curl -s http://{address}/metrics", capture_output=True, stdin=subprocess.DEVNULL).stdout

    def type(self, command):
        reason = reason_not_to_type(command.text)
        if reason:
            print(f"{command}: not typed: {NOT_TYPED[reason]}", flush=True)
        elif command.file is not None:
            with open(self.system.path(f"{self.system.clone}/{typed_commands.SAVED_AS}"), "w", encoding="utf-8") as file:
                file.write(command.file)
        elif command.text.startswith("export "):
            self.session += command.text + "\n"
        elif serves(command.text):
            if command.text != FIRST:
                self.serve(command.text)
            if self.server.text != FIRST:
                self.serve(FIRST)
        else:
            self.run_command(command)

    def run_command(self, command):
        begin = time.monotonic()
        keys = next((keys for start, keys in KEYBOARD.items() if command.text.startswith(start)), "")
        done = self.system.run(self.session + typed_commands.as_typed(command.text), capture_output=True, input=keys, timeout=PATIENCE)
        # It examines the machine outside, and a bare root may not read the kernel's log.
        statuses = (0, 3, 10, 11) if command.text.startswith("memstatctl why") else (0,)
        self.assertIn(done.returncode, statuses, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        self.assertEqual(typed_commands.difference(command, done.stdout), "")
        size = re.search(r"(?m)^After this operation, (.*) of additional disk space", done.stdout)
        print(f"{command}: {time.monotonic() - begin:.0f} s{f', {size.group(1)}' if size else ''}", flush=True)


if __name__ == "__main__":
    why = bare_system.missing() or ("" if program.can_read_slabinfo() else program.NO_SLABINFO)
    if why:
        print(why)
        sys.exit(77)
    unittest.main()
