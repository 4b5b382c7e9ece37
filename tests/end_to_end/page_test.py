#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: opens the page in Chromium
"""The status page in a real headless Chromium, for a FreeBSD out of network buffers and for this machine: its table, its views, phones, dark
mode, keyboard, screen readers (axe), hostile names, twenty thousand types; and it sends no requests elsewhere. Screenshots are kept in
build/pictures."""
import datetime
import html
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import node_packages  # noqa: E402
import program  # noqa: E402

CHROMIUM = shutil.which("chromium")
PICTURES = os.path.join(os.environ.get("BUILD_DIR") or os.path.join(program.SOURCE_DIR, "build"), "pictures")
LIMITS = "freebsd-15.0-amd64-2cpu-limits"
TYPE_HASH = "#/type/uma/mbuf_jumbo_page"
MANY = 20000


def held_at_the_end(name, *options):
    """memstatd with the last poll of the capture."""
    daemon = program.Daemon(*options, "--replay", captures.fixtures()[name], "--replay-speed", "1000000")
    try:
        daemon.wait_log("the replay has ended")
    except BaseException:
        daemon.kill()
        raise
    return daemon


def per_cpu_of_mbufs(directory):
    return captures.write_file(os.path.join(directory, "memstatd.yaml"), 'per_cpu: {types: ["mbuf.*"]}\n')


@unittest.skipUnless(CHROMIUM, "chromium is not installed (Debian package chromium)")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = node_packages.installed("browser")

    def look(self, daemon, scenarios, directory="", **environment):
        """The results of check.mjs by scenario; it must not have failed."""
        if directory:
            directory = os.path.join(PICTURES, directory)
            os.makedirs(directory, exist_ok=True)
        done = subprocess.run(["node", "check.mjs", CHROMIUM, f"http://{daemon.host}:{daemon.port}/", scenarios, directory], cwd=self.packages,
                              capture_output=True, text=True, timeout=4 * program.PATIENCE, check=False,
                              env={**os.environ, "TYPE_HASH": TYPE_HASH, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads(done.stdout)
        for scenario, result in results.items():
            with self.subTest(scenario):
                self.assertNotIn("failed", result)
                self.assertEqual(result["errors"], [], "the console has errors")
                self.assertEqual(result["foreign"], [], "it contacted another server")
                self.assertEqual(result["dialogs"], [])
        return results

    def test_a_freebsd_out_of_network_buffers(self):
        with program.temporary_directory() as directory, held_at_the_end(LIMITS, "--config", per_cpu_of_mbufs(directory)) as daemon:
            looks = self.look(daemon, "overview,table,type,phone,colours,axe", "limits")
            seen = looks["overview"]
            self.assertTrue(seen["host"].startswith(f"Replay of {LIMITS}"), seen["host"])
            self.assertIn("FreeBSD 15.0", seen["kernel"])
            self.assertTrue(seen["age"].startswith("recorded 20"), seen["age"])
            self.assertIn("zone mbuf_jumbo_page is full: 400 of 400 (100 %), 1532 requests failed", seen["verdict"])
            self.assertIn(seen["verdict"].split("Trouble: ")[-1].strip(), html.unescape(daemon.request("/plain")[2].decode()))
            self.assertIn("3 more findings", seen["verdict"])
            self.assertEqual(len(seen["findings"]), 4)
            for words in ("zone mbuf_jumbo_page is full", "1532 failures in 20 s", "Packets are dropped", "memstatctl explain mbuf_limit", "now", "confirmed"):
                self.assertIn(words, seen["findings"][0])
            self.assertIn("bad", seen["state"])
            self.assertTrue(seen["problems"][0].startswith("mbuf_jumbo_page"), seen["problems"])
            self.assertIn("cached of 32\u202f110 objects", seen["problems"][1], "what uma keeps for reuse counts against the limit")
            self.assertFalse([row for row in seen["problems"] if "Bucket" in row], "bucket zones fail routinely")
            self.assertEqual(seen["order"][:5], ["Verdict", "Findings", "Failures and limits", seen["order"][3], "Where all memory is"])
            self.assertTrue(seen["order"][3].startswith("Grew most"), seen["order"])
            self.assertAlmostEqual(sum(seen["shares"]), 100, delta=0.01)
            self.assertEqual(seen["legend"][-1], "free")
            self.assertIn("which is all memory of the machine", seen["sum"])
            self.assertIn("kmem", seen["containers"])
            self.assertFalse({"kmem", "kernel_address_space"} & set(seen["types"]), "they contain the others")
            self.assertLessEqual({"/metrics", "/metrics/percpu", "/plain", "/-/healthy", "/-/ready"}, set(seen["links"]))

            table = looks["table"]
            self.assertEqual(set(table["by_limit"]), {"mbuf_cluster", "mbuf_jumbo_page", "socket"})
            self.assertEqual(table["by_name"], sorted(table["by_name"]))
            self.assertEqual(table["sorted"][1], "ascending")
            self.assertTrue(table["filtered"] and all("mbuf" in name for name in table["filtered"]), table["filtered"])
            self.assertRegex(table["count"], r"^\d+ of \d+ types$")
            self.assertEqual(set(table["of_chip"]), {table["chip"]})

            one = looks["type"]
            self.assertEqual((one["name"], one["focused"]), ("mbuf_jumbo_page", "type-title"))
            self.assertIn("Failures1532", one["facts"])
            self.assertIn("last 1.6 MiB", one["chart"])
            self.assertEqual(one["keys"], ["in use", "limit 1.6 MiB", "1532 failures", "1532 limit hits"])
            self.assertEqual(set(one["cpus"]), {2}, "a bar for each of two CPUs")
            origins = {row[0]: row[3] for row in one["figures"]}
            self.assertIn("(freebsd_uma)", origins["memstat_type_failures_total"])

            for window, page in looks["phone"]["widths"]:
                self.assertLessEqual(page, window)
                self.assertEqual(window, 390)
            self.assertEqual(looks["phone"]["cut"], [0, 0], "a table's text is cut off")
            self.assertNotEqual(looks["colours"]["light"], looks["colours"]["dark"])
            self.assertEqual(looks["axe"]["violations"], [])

    def test_a_type_on_two_memory_nodes(self):
        with held_at_the_end("linux-7.2-2cpu-2nodes-pools", "--tier", "full") as daemon:
            seen = self.look(daemon, "nodes", "nodes", TYPE_HASH="#/type/hugetlb/2MiB")["nodes"]
        self.assertEqual([table["labels"] for table in seen["tables"]], 3 * [["Node 0", "Node 1"]])
        self.assertEqual([table["values"] for table in seen["tables"]], [["2.0 MiB", "4.0 MiB"], ["1", "1"], ["0", "1"]])
        self.assertEqual([table["widths"] for table in seen["tables"]], [[50, 100], [100, 100], [0, 100]])
        self.assertIn("on this node", seen["tables"][1]["help"])
        self.assertIn("No figures by CPU", seen["without"])

    def test_this_machine(self):
        with program.Daemon("--interval", "1s") as daemon:
            daemon.wait_page(lambda page: True, "a first poll")
            looks = self.look(daemon, "overview,phone,live", "live", TYPE_HASH="")
            seen = looks["overview"]
            self.assertEqual(seen["host"], os.uname().nodename)
            self.assertIn(os.uname().release, seen["kernel"])
            self.assertIn(" ago", seen["age"])
            live = looks["live"]
            self.assertEqual(len(set(live["generations"])), 3, live)
            self.assertLess(abs(live["scrolled"]), 1)
            self.assertLess(live["moved"], 0.1)  # good, by web vitals
            self.assertEqual(live["asked_while_hidden"], 0)

    def test_events_of_the_kernels_log_are_on_the_time_line(self):
        polled = int(datetime.datetime(2026, 11, 20, 15, tzinfo=datetime.timezone.utc).timestamp())
        kill = "Out of memory: Killed process 12 (<b>stress) total-vm:4kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0"
        log = f"kernel_log 1\nlost 0\ncount oom_kill 2\nevent oom_kill 1000000\ntext {kill}\nevent oom_kill 95000000\ntext {kill}\nend\n"
        poll = {"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("dentry")), "fs/proc/stat": f"btime {polled - 100}\n",
                "source/linux_kernel_log": log}
        with program.temporary_directory() as directory:
            captures.write_capture(directory, [poll] * 3)
            with program.Daemon("--replay", directory, "--replay-speed", "1000000") as daemon:
                daemon.wait_log("the replay has ended")
                seen = self.look(daemon, "logged", "logged", TYPE_HASH="#/type/slab/dentry")["logged"]
                self.assertEqual(seen["key"], "kernel log: 1", "the other one was before the history")

    def test_names_never_become_markup(self):
        names = ["<img/src=x/onerror=alert(1)>", "</script><b>", "\"'><iframe/src=//example.org>", "javascript:alert(2)", "..", "%2e%2e/a"]
        with program.temporary_directory() as directory:
            lines = [captures.slabinfo_line(name, active=1000 * (len(names) - index)) for index, name in enumerate(names)]
            captures.write_capture(directory, [{"fs/proc/slabinfo": captures.slabinfo(*lines)}])
            with program.Daemon("--replay", directory) as daemon:
                program.wait_until(lambda: daemon.request("/api/v1/memory")[0] == 200, "a first poll")
                seen = self.look(daemon, "hostile")["hostile"]
                self.assertEqual(seen["types"], names)
                self.assertEqual(seen["foreign_elements"], 0)
                self.assertTrue(seen["title"].startswith(names[0]), seen["title"])

    def test_twenty_thousand_types(self):
        with program.temporary_directory() as directory:
            lines = [captures.slabinfo_line(f"cache-{index}", active=1 + index % 5000) for index in range(MANY)]
            captures.write_capture(os.path.join(directory, "capture"), [{"fs/proc/slabinfo": captures.slabinfo(*lines)}])
            path = captures.write_file(os.path.join(directory, "memstatd.yaml"), "series_limit: 10000000\n")
            with program.Daemon("--config", path, "--replay", os.path.join(directory, "capture")) as daemon:
                program.wait_until(lambda: daemon.request("/api/v1/memory")[0] == 200, "a first poll")
                seen = self.look(daemon, "many")["many"]
                self.assertEqual(seen["rows"], str(MANY + 1))
                self.assertLess(seen["elements"], 80, "only what is in view is drawn")
                self.assertEqual(seen["last"], str(MANY + 1), "the end can be reached")
                print(f"first render {seen['first_render_ms']:.0f} ms; frames while scrolling: median {seen['frames']['median_ms']:.1f} ms, "
                      f"95th percentile {seen['frames']['p95_ms']:.1f} ms, work of the page's thread for each "
                      f"{seen['frames']['work_ms'][0]:.1f} ms (of it scripts, layout, style: {seen['frames']['work_ms'][1:]})")


if __name__ == "__main__":
    program.main()
