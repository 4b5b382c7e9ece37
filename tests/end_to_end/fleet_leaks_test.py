#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl leaks and hosts of a real Prometheus, and of a real VictoriaMetrics, with a day of forty synthetic hosts: of one host, and of all of them
by kernel release."""
import json
import math
import os
import random
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
from ctl import run  # noqa: E402

HOSTS, HOURS, STEP = 40, 30, 120
MIB = 1 << 20
# The release with odd numbers leaks 12 MiB an hour in filp; host 4 alone leaks 40 in a(b|c. On hosts 7 and 8 kmalloc-512 gains 60 MiB an hour for 3.25 hours, and
# loses them in the next 3.25: it has risen for 3.15 hours at the end.
TYPES = {"filp": 200, "a(b|c": 300, "task_struct": 20, "kmalloc-512": 300}


def history(end):
    """The metrics of all hosts, in OpenMetrics."""
    source = random.Random(1)
    families = {name: [] for name in ("memstat_kernel_info", "memstat_boot_timestamp_seconds", "memstat_memory_total_bytes",
                                      "memstat_memory_available_bytes", "memstat_unaccounted_bytes", "memstat_type_bytes")}
    for host in range(HOSTS):
        labels = f'instance="db{host}:8947",job="memstatd"'
        sizes = {name: mib * source.uniform(0.5, 2) for name, mib in TYPES.items()}
        level = dict.fromkeys(TYPES, 1.0)
        for number in range(HOURS * 3600 // STEP + 1):
            now = end - HOURS * 3600 + number * STEP
            hours = number * STEP / 3600

            def add(metric, value, more="", now=now, labels=labels):
                families[metric].append(f"{metric}{{{labels}{more}}} {value} {now}")
            add("memstat_kernel_info", 1, f',os="linux",release="6.{1 if host % 2 else 0}"')
            add("memstat_boot_timestamp_seconds", end - 90 * 3600)
            add("memstat_memory_total_bytes", 64 << 30)
            add("memstat_memory_available_bytes", 32 << 30)
            add("memstat_unaccounted_bytes", int(100 * MIB + source.uniform(0, MIB)))
            for name, mib in sizes.items():
                level[name] *= math.exp(source.gauss(0, 0.0003))
                leaked = 12 * hours if name == "filp" and host % 2 else 40 * hours if (name, host) == ("a(b|c", 4) else 0
                if name == "kmalloc-512" and host in (7, 8):
                    leaked = 60 * (3.25 - abs((hours - HOURS + 3.15) % 6.5 - 3.25))
                wave = 1 + 0.1 * math.sin(hours * 2 * math.pi / 24)
                add("memstat_type_bytes", int((mib * level[name] * wave + leaked) * MIB), f',allocator="slab",type="{name}"')
    return "".join(f"# TYPE {name} gauge\n" + "\n".join(lines) + "\n" for name, lines in families.items()) + "# EOF\n"


class FleetLeaks:
    """The tests, whichever server has the history."""

    @classmethod
    def setUpClass(cls):
        directory = cls.enterClassContext(program.temporary_directory())
        end = int(time.time()) - 60
        cls.asked = ["--from", f"prometheus:http://{cls.serve(directory, end)}", "--at", str(end)]

    def test_a_row_for_each_host(self):
        done = run("hosts", "--json", *self.asked)
        self.assertEqual(done.returncode, 0, done)
        rows = json.loads(done.stdout)["hosts"]
        self.assertEqual(sorted(row["host"] for row in rows), sorted(f"db{host}:8947" for host in range(HOSTS)))
        self.assertEqual({(row["release"], row["available_ratio"]) for row in rows}, {("6.0", 0.5), ("6.1", 0.5)})

    def test_types_of_one_host(self):
        done = run("types", "--host", "db4:8947", "--json", *self.asked)
        self.assertIn(done.returncode, (0, 3), done)  # 3: not all figures were scraped
        self.assertEqual(sorted(row["type"] for row in json.loads(done.stdout)["types"]), sorted(TYPES))

    def test_a_release_and_a_host_that_leak_are_named(self):
        for since in ("3h", "1h", "24h"):
            done = run("leaks", "--hosts", "--since", since, "--group-by", "release", "--json", "--verbose", *self.asked)
            self.assertEqual(done.returncode, 0, done)
            rows = {(row["type"], row.get("group"), row["hosts"]): row for row in json.loads(done.stdout)["growing"]}
            self.assertEqual(set(rows), {("filp", "6.1", HOSTS // 2), ("a(b|c", "6.0", 1)}, since)
            self.assertEqual(rows["a(b|c", "6.0", 1]["host_names"], "db4:8947")
            self.assertEqual([row.get("with") for row in rows.values()], [None, None])
            self.assertAlmostEqual(rows["filp", "6.1", HOSTS // 2]["bytes_per_hour"] / MIB, 12, delta=6)
            self.assertLessEqual(done.stderr.count("query"), 9, done.stderr)
        done = run("leaks", "--hosts", "--since", "3h", *self.asked)
        self.assertIn("the group as a whole", done.stdout)
        print(done.stdout)

    def test_one_host(self):
        done = run("leaks", "--since", "24h", "--host", "db4:8947", "--json", "--verbose", *self.asked)
        self.assertEqual(done.returncode, 0, done)
        rows = json.loads(done.stdout)["growing"]
        self.assertEqual([(row["allocator"], row["type"]) for row in rows], [("slab", "a(b|c")])
        self.assertAlmostEqual(rows[0]["per_second"] * 3600 / MIB, 40, delta=8)
        self.assertEqual(done.stderr.count("query"), 4, done.stderr)
        done = run("diff", "--host", "db4:8947", "--json", *self.asked[:2], "--at", str(int(self.asked[3]) - 36000), "--and", self.asked[3])
        changes = {row["type"]: row["bytes_change"] for row in json.loads(done.stdout)["changes"]}
        self.assertAlmostEqual(changes["a(b|c"] / MIB, 400, delta=150)


@prometheus_server.needs_prometheus
@prometheus_server.needs_promtool
class OfPrometheus(FleetLeaks, unittest.TestCase):
    @classmethod
    def serve(cls, directory, end):
        captures.write_file(os.path.join(directory, "history"), history(end))
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "--max-block-duration=72h", "--quiet", "openmetrics",
                        os.path.join(directory, "history"), os.path.join(directory, "data")], check=True, stdout=subprocess.DEVNULL)
        return cls.enterClassContext(prometheus_server.Prometheus(directory, None, config="global: {}\n")).address


@prometheus_server.needs_victoria
class OfVictoriaMetrics(FleetLeaks, unittest.TestCase):
    @classmethod
    def serve(cls, directory, end):
        server = cls.enterClassContext(prometheus_server.VictoriaMetrics(directory))
        server.load(history(end))
        return server.address


if __name__ == "__main__":
    program.main()
