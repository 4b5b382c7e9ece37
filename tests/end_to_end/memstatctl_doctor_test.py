#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl doctor and memstatd --selftest on this machine's kernel: the same table, for root, for another user and for a service."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import MEMSTATCTL, run  # noqa: E402


def states(text):
    """{source: state} of the table."""
    table = text.split("\n\n")[1].splitlines()
    return dict(re.match(r"(\S+) +(works|absent|no permission|not permitted|fails|stuck|off|replaced) ", line).groups() for line in table[1:])


class Doctor(unittest.TestCase):
    def test_table_json_and_selftest_agree(self):
        done = run("doctor", "--from", "live")
        listed = [line.split("\t") for line in program.run("--list-sources").stdout.decode().splitlines()[1:]]
        system = "linux" if sys.platform == "linux" else "freebsd"
        self.assertEqual(set(states(done.stdout)), {row[0] for row in listed if row[1] == system}, "every source of this system")
        answer = run("doctor", "--from", "live", "--json")
        document = json.loads(answer.stdout)
        self.assertEqual({row["source"]: row["state"] for row in document["sources"]}, states(done.stdout))
        self.assertEqual(done.returncode, 0 if document["healthy"] else 1, "the status is the finding")
        self.assertEqual(bool(done.stderr), done.returncode == 1)
        for row in document["sources"]:
            self.assertEqual("reason" in row, row["state"] != "works", row)
        rows = list(csv.DictReader(io.StringIO(run("doctor", "--from", "live", "--csv").stdout)))
        self.assertEqual({row["source"]: row["state"] for row in rows}, states(done.stdout))
        selftest = program.run("--selftest")
        self.assertEqual(selftest.returncode, done.returncode)
        self.assertEqual(states(selftest.stdout.decode()), states(done.stdout))

    @program.needs_slabinfo
    @program.needs_root
    def test_another_user_hears_which_permission_is_missing(self):
        self.assertEqual(states(run("doctor", "--from", "live").stdout)["linux_slabinfo"], "works")
        with program.copy_for_others(MEMSTATCTL) as copy:
            done = subprocess.run([copy, "doctor", "--from", "live"], user=65534, group=65534, extra_groups=[], cwd="/", capture_output=True, text=True,
                                  timeout=program.PATIENCE, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(states(done.stdout)["linux_slabinfo"], "no permission")
        self.assertIn("account: user 65534, not root", done.stdout)
        self.assertRegex(done.stdout, r"linux_slabinfo: run it as root \(/proc/slabinfo: mode 04\d\d, owner root\)")
        self.assertIn("do not work", done.stderr)

    @program.needs_root
    @unittest.skipUnless(sys.platform == "linux", "mount namespaces are Linux")
    def test_without_proc_nothing_is_said_to_work(self):
        def inside(*command):
            return subprocess.run(["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh", *command], capture_output=True,
                                  text=True, timeout=program.PATIENCE, check=False)
        probe = inside("true")
        if probe.returncode != 0:
            self.skipTest(f"no mount namespace here: {probe.stderr.strip()}")
        remedy = "proc is not mounted at /proc, where most figures are; to get them, type as root `mount -t proc proc /proc`"
        done = inside(MEMSTATCTL, "doctor", "--from", "live")
        self.assertEqual((done.returncode, done.stderr), (1, f"memstatctl: {remedy}\n"))
        self.assertIn(f"  {remedy}\n", done.stdout)
        self.assertTrue(done.stdout.endswith("\nWithout /proc, most sources of this kernel cannot be read.\n"), done.stdout)
        document = json.loads(inside(MEMSTATCTL, "doctor", "--from", "live", "--json").stdout)
        self.assertIs(document["healthy"], False)
        selftest = inside(program.MEMSTATD, "--selftest")
        self.assertEqual((selftest.returncode, states(selftest.stdout)), (1, states(done.stdout)))
        for arguments in (["types"], ["leaks", "--for", "100ms"]):
            report = inside(MEMSTATCTL, *arguments)
            self.assertIn(report.returncode, (1, 3), "none or some of the types")
            self.assertIn(remedy, report.stderr, arguments)

    @program.needs_root
    def test_a_running_service_is_examined_as_it_runs(self):
        with program.Daemon() as daemon:
            daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "the first poll")
            url = f"http://127.0.0.1:{daemon.port}"
            api = {source["name"]: source["state"] for source in json.loads(daemon.request("/api/v1/sources")[2])["sources"]}
            done = run("doctor", "--from", url)
            document = json.loads(run("doctor", "--from", url, "--json").stdout)
        self.assertTrue(done.stdout.startswith(f"The memstatd at {url}, version "), done.stdout)
        self.assertRegex(done.stdout, r"\naccount: root with .* when it opened the kernel's files, now user \d+ \(\w+\) without capabilities\n")
        words = {"up": "works", "not present": "absent", "down": "fails"}
        self.assertEqual(states(done.stdout), {source: words.get(state, state) for source, state in api.items()})
        self.assertEqual({row["source"]: row["state"] for row in document["sources"]}, states(done.stdout))
        self.assertEqual(document["url"], url)


if __name__ == "__main__":
    program.main()
