#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""dashboards/runbooks.md for a person on call: every section explains the alert on FreeBSD and on Linux, what to run next, and how to
quiet it. Runs its commands on a memstatd that replays the problem, and on this kernel. None prints too much, and none waits forever for
a process that hangs."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

MEMSTATCTL = os.environ.get("MEMSTATCTL") or os.path.join(program.SOURCE_DIR, "build", "bin", "memstatctl")
DASHBOARDS = os.path.join(program.SOURCE_DIR, "dashboards")
URL = "http://127.0.0.1:8947"
MOST_BYTES = 12_000  # of one command: four screens
WHY = "memstatctl why --from " + URL
REPORT = {"limit": "memstatctl limits --from " + URL, "growth": "memstatctl leaks --from " + URL}
# Errors that a command may report on a kernel or machine that lacks something.
LACKS = re.compile(r"No such file|Permission denied|cannot stat|not permitted|Invalid argument|Cannot open netlink|unsupported", re.IGNORECASE)
RUN = {"cat", "grep", "ls", "find", "sysctl", "ss", "ps", "wc", "sort", "uptime", "date", "getent", "for", "ipcs", "ip"}


def read(name):
    with open(os.path.join(DASHBOARDS, name), encoding="utf-8") as file:
        return file.read()


def sections(text):
    """{heading: text} of the second level."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def commands(text):
    """(system or "", command) of all blocks, without comments."""
    for system, block in re.findall(r"(?:^(Linux|FreeBSD):\n\n)?^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            yield system, re.sub(r"\s+# .*$", "", line)


def causes():
    """{alert: its cause, "" for those of findings, which have the finding's}, of the rules that ship."""
    rules = re.split(r"^ +- alert: ", read("prometheus/alerts.yml"), flags=re.MULTILINE)[1:]
    return {rule.split("\n")[0]: "".join(re.findall(r"^ +cause: (\w+)$", rule, re.MULTILINE)) for rule in rules}


def leaking(directory):
    """A capture of a Linux on which kmalloc-1k grows by 2 MiB each ten seconds."""
    kernel = captures.read_fixture(captures.fixtures()["linux-7.2-2cpu"])
    own = {path: kernel["000000/" + path] for path in ("fs/proc/meminfo", "fs/proc/vmstat", "fs/proc/stat")}
    return captures.write_capture(directory, [
        {**own, "fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("kmalloc-1k", active=20000 + 2048 * poll, objects=21000 + 2048 * poll, size=1024, slabs=1100 + 103 * poll),
                                                      captures.slabinfo_line("dentry", active=5000, objects=5000, size=192, slabs=250))} for poll in range(200)])


class Sections(unittest.TestCase):
    def setUp(self):
        self.sections = sections(read("runbooks.md"))
        self.causes = causes()

    def test_each_has_both_systems_what_to_run_and_how_to_quiet(self):
        self.assertEqual(set(self.sections), set(self.causes))
        for name, text in self.sections.items():
            for words in (r"^\* FreeBSD(, Linux)?: ", r"^\* (FreeBSD, )?Linux: ", r"^\* Next:", r"^```sh$", r"^\* Quiet it: "):
                self.assertRegex(text, re.compile(words, re.MULTILINE), name)

    def test_of_a_limit_and_of_growth_the_first_commands_are_why_and_the_report_of_it(self):
        other = {"MemstatUserQuota"}  # a user's quota is not a limit of a type
        for name, text in self.sections.items():
            wanted = REPORT.get("growth" if "MemoryGone" in name else self.causes[name])
            if wanted and name not in other:
                self.assertEqual([command for _, command in commands(text)][:2], [WHY, wanted], name)

    def test_systems_are_apart_and_groups_of_both_versions_have_their_paths(self):
        for name, text in self.sections.items():
            for system, command in commands(text):
                with self.subTest(alert=name, command=command):
                    if re.search(r"/proc/|/sys/|systemctl|journalctl|ss -|dmesg", command):
                        self.assertEqual(system, "Linux")
                    if re.search(r"vmstat -[zm]|procstat|/var/log/messages|service |swapinfo|fstat", command):
                        self.assertEqual(system, "FreeBSD")
                    self.assertNotRegex(command, "--json")
                    if "curl" in command:
                        self.assertRegex(command, r"curl -g?s -m 5 ")
            if "/sys/fs/cgroup/GROUP" in text and "KernelSlowGrowth" not in name:
                self.assertIn("control groups v1", text, name)

    def test_every_limit_of_linux_has_its_sysctl(self):
        text = self.sections["MemstatLimitHit"]
        with open(os.path.join(program.SOURCE_DIR, "core", "sources", "linux_table.cpp"), encoding="utf-8") as file:
            source = file.read()
        limits = {path.replace("/", ".") for path in re.findall(r'"/proc/sys/([\w/]*(?:max|mni|all|thresh3|orphans|kernel/sem))"', source)}
        self.assertGreater(len(limits), 9)
        per_user = {"fs.epoll.max_user_watches"}
        self.assertEqual({name for name in limits - per_user if f"`{name}`" not in text and "tw_buckets" not in name}, set())
        for name in ("net.ipv4.tcp_mem", "net.ipv4.udp_mem", "kernel.sem"):
            self.assertIn(f"`{name}`", text)


class Commands(unittest.TestCase):
    def setUp(self):
        self.sections = sections(read("runbooks.md"))
        self.typed = {}
        self.directory = self.enterContext(program.temporary_directory())
        os.symlink(MEMSTATCTL, os.path.join(self.directory, "memstatctl"))
        os.symlink(program.MEMSTATD, os.path.join(self.directory, "memstatd"))

    def type(self, command, url):
        """Runs a command in a shell, with memstatd at this address. A repeated command returns the same result."""
        if (command, url) not in self.typed:
            self.typed[command, url] = self.run_shell(command.replace(URL, url))
        return self.typed[command, url]

    def run_shell(self, command):
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, errors="replace", timeout=program.PATIENCE, check=False,
                              env={**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "COLUMNS": "120"})

    def test_those_that_ask_memstatd_show_the_trouble(self):
        """Each section's commands: on hosts where limits are reached, where memory leaks, and otherwise on a Linux with all tables."""
        troubles = {"limit": (captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"], "100"), "growth": (leaking(os.path.join(self.directory, "leaking")), "20"),
                    "": (captures.fixtures()["linux-7.2-2cpu-tables"], "1")}
        shown = {"limit": "(?m)^uma +mbuf_cluster +(100|9[5-9])", "growth": "(?m)^slab +kmalloc-1k "}
        known = {line.split("\t")[0] for line in program.run("--list-metrics").stdout.decode().splitlines()[1:]} | {"memstat_source_not_permitted"}
        tried = 0
        for cause, (capture, speed) in troubles.items():
            with program.Daemon("--replay", capture, "--replay-speed", speed) as daemon:
                url = f"http://{daemon.host}:{daemon.port}"
                daemon.wait_page(lambda page: True, "a first page")
                if cause in shown:
                    program.wait_until(lambda url=url, cause=cause: re.search(shown[cause], self.run_shell(REPORT[cause].replace(URL, url)).stdout), "trouble that shows")
                known |= set(re.findall(r"^# HELP (\S+)", daemon.scrape().decode(), re.MULTILINE)) | {"memstat_source_errors_total"}
                for name, text in self.sections.items():
                    own = "growth" if "MemoryGone" in name else causes()[name]
                    if cause != (own if own in troubles else ""):
                        continue
                    for _, command in commands(text):
                        if URL in command and "origins" not in command:
                            tried += 1
                            if command == REPORT["growth"] and cause != "growth":  # one poll shows no growth
                                self.assertIn("too short to distinguish growth", self.type(command, url).stderr)
                                continue
                            self.check(name, command, self.type(command, url), known)
                            if command == REPORT.get(cause):
                                self.assertRegex(self.type(command, url).stdout, shown[cause], name)
        self.assertGreater(tried, 60)

    def check(self, name, command, done, known):
        with self.subTest(alert=name, command=command):
            self.assertEqual(done.stderr, "")
            self.assertIn(done.returncode, (0, 10, 11) if command == WHY else (0, 1) if "grep" in command else (0,))
            self.assertLess(len(done.stdout), MOST_BYTES)
            self.assertNotRegex(done.stdout, r"(?i)not found|nothing here|no such")
            for metric in re.findall(r"name\[\]=(\w+)", command):
                self.assertIn(metric, known)

    def test_those_of_linux_run_on_this_kernel(self):
        group = next((os.path.join(where, "").removeprefix("/sys/fs/cgroup/").rstrip("/") for where, _, files in os.walk("/sys/fs/cgroup")
                      if "memory.stat" in files and where != "/sys/fs/cgroup"), "GROUP")
        tried = 0
        for name, text in self.sections.items():
            for system, command in commands(text):
                word = command.split()[0]
                with self.subTest(alert=name, command=command):
                    self.assertEqual(subprocess.run(["sh", "-n", "-c", command], capture_output=True, text=True, check=False).stderr, "")
                    if system == "FreeBSD" or URL in command or ":909" in command or word not in RUN or not (word == "for" or shutil.which(word)) or "$pid" in command:
                        continue
                    done = self.type(command.replace("GROUP", group), URL)
                    complaints = [line for line in done.stderr.splitlines() if not LACKS.search(line)]
                    self.assertEqual(complaints, [])
                    self.assertLess(len(done.stdout), MOST_BYTES)
                    tried += 1
        self.assertGreater(tried, 40)

    def test_a_hanging_memstatd_is_given_up_after_a_timeout(self):
        """memstatd is stopped, as in a hanging read: each command of the section ends and reports it."""
        with program.Daemon("--replay", captures.fixtures()["linux-7.2-2cpu"]) as daemon:
            daemon.wait_page(lambda page: True, "a first page")
            daemon.process.send_signal(19)  # SIGSTOP
            try:
                for _, command in commands(self.sections["MemstatPollStuck"]):
                    if URL in command:
                        done = self.type(command.replace("-m 5", "-m 1"), f"http://{daemon.host}:{daemon.port}")
                        self.assertEqual((done.returncode, done.stdout), (28, ""), command)
                    elif "$pid" in command and "stack" not in command:
                        pid = f"pid={daemon.process.pid}; " + command.split("; ", 1)[-1] if command.startswith("pid=") else f"pid={daemon.process.pid}; {command}"
                        if "-H" not in command and "procstat" not in command:
                            self.assertRegex(self.type(pid, URL).stdout, r"\bT|State", command)
            finally:
                daemon.process.send_signal(18)  # SIGCONT


if __name__ == "__main__":
    program.main()
