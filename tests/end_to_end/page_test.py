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
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import node_packages  # noqa: E402
import program  # noqa: E402

# Reads the document that view.js should present, and prints what it makes of it.
VIEW = """
import {readFileSync} from 'node:fs';
const view = await import(process.argv[1]);
const asked = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(asked.map(([name, ...values]) => view[name](...values) ?? null)));
"""
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


def view_of(*asked):
    """What the functions of daemon/web/view.js return: [name, argument, ...] of each call."""
    done = subprocess.run(["node", "--input-type=module", "-e", VIEW, os.path.join(program.SOURCE_DIR, "daemon", "web", "view.js")],
                          input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def parts_of(source):
    """Names of the parts of memory that a source in core/sources reports."""
    with open(os.path.join(program.SOURCE_DIR, "core", "sources", source), encoding="utf-8") as file:
        return sorted(set(re.findall(r'\{kAccountedBytes,\s*"([\w, ]+):', file.read())))


def per_cpu_of_mbufs(directory):
    return captures.write_file(os.path.join(directory, "memstatd.yaml"), 'per_cpu: {types: ["mbuf.*"]}\n')


@unittest.skipUnless(shutil.which("node"), "node is not installed (Debian package nodejs)")
class Words(unittest.TestCase):
    def test_each_part_of_memory_has_a_look_of_its_own(self):
        for source, fewest in (("linux_memory.cpp", 25), ("freebsd_vm.cpp", 9)):
            parts = [part for names in parts_of(source) for part in names.split(", ")]
            self.assertGreaterEqual(len(parts), fewest, source)
            looks = dict(zip(parts, view_of(*(["lookOf", part] for part in parts))))
            self.assertEqual(len(set(looks.values())), len(looks), looks)
            newer, = view_of(["lookOf", "a_part_of_a_later_kernel"])
            self.assertNotIn(newer, looks.values())
        memory = {"total_bytes": 100, "free_bytes": 10, "unaccounted_bytes": 0}
        both = view_of(*(["memoryParts", {**memory, "parts": [{"part": "page_cache", "bytes": size}, {"part": "sockets", "bytes": 45}]}] for size in (40, 50)))
        looks = [{part["name"]: part["color"] for part in parts} for parts in both]
        self.assertEqual(looks[0], looks[1], "the color does not depend on the order")

    def test_amounts_follow_the_table_of_examples(self):
        functions = {"byte_rate": ("rate", [True]), "rate": ("rate", [False])}
        with open(os.path.join(program.SOURCE_DIR, "tests/fixtures/amounts.txt"), encoding="utf-8") as file:
            examples = [re.fullmatch(r"(\w+) (\S+) \| (.+) \| (.+)\n", line).groups() for line in file if line[0] not in "#\n"]
        calls = [[functions.get(kind, (kind,))[0], float(amount), *functions.get(kind, ("", []))[1]] for kind, amount, *_ in examples]
        wanted = [("+" if "rate" in kind and float(amount) > 0 else "") + prose for kind, amount, prose, _ in examples]
        self.assertEqual(view_of(*calls), wanted)

    def test_one_percent_is_no_cliff(self):
        flat, steep, constant, empty, short = view_of(*(["sparkScale", values] for values in ([1000, None, 1010], [0, 100], [7, 7], [0, 0], [None, 3])))
        self.assertEqual((flat["least"], flat["most"], flat["span"]), (1000, 1010, 101))
        self.assertEqual((steep["from"], steep["span"]), (0, 100))
        self.assertEqual((constant["span"], empty["span"], short), (0.7000000000000001, 0, None))

    def test_what_growth_still_needs_is_counted_down(self):
        self.assertEqual(view_of(*(["growthToGo", {"polls": polls, "polls_needed": 8}, *interval] for polls, interval in ((3, [10]), (7, [10]), (3, [])))), [
            "3 of the 8 polls that it takes to distinguish growth from chance; the rest takes 50 s.",
            "7 of the 8 polls that it takes to distinguish growth from chance; the rest takes 10 s.",
            "3 of the 8 polls that it takes to distinguish growth from chance."])

    def test_causes_that_were_not_checked_are_listed_by_reason(self):
        unchecked = [{"cause": cause, "why": why} for cause, why in (("a", "no file"), ("b", "too few polls"), ("c", "too few polls"))]
        self.assertEqual(view_of(["uncheckedByReason", {"not_checked": unchecked}]), [[["too few polls", ["b", "c"]], ["no file", ["a"]]]])


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
            looks = self.look(daemon, "overview,table,type,phone,colours,axe,causes,plain,swatches", "limits")
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
            self.check_causes(looks["causes"], looks["plain"], daemon)
            self.assertEqual(len(looks["swatches"]["closest"]), 8)
            for vision, (apart, *pair) in looks["swatches"]["closest"].items():
                self.assertGreater(apart, 10, f"{pair} look alike to {vision}")

    def check_causes(self, page, plain, daemon):
        """The numbers of the verdict lead to a list with each cause and its reason, as the API has it; /plain is as wide as a phone."""
        self.assertFalse(page["hidden"], "it is closed at first")
        found = json.loads(daemon.request("/api/v1/findings")[2])
        causes = {one["cause"]: one["why"] for one in found["not_checked"]}
        self.assertEqual(page["summary"], f"{len(found['ruled_out'])} causes ruled out, {len(causes)} not checked: which, and why")
        listed = {name.replace(" ", "_"): why.removeprefix("Not checked: ") for why, names, _ in page["rows"][:-1] for name in names.split(", ")}
        self.assertEqual(listed, causes)
        self.assertEqual(listed, {name: why for row in plain["reasons"][:-1] for why, _, names in [row.removeprefix("Not checked: ").rpartition(": ")] for name in names.split(", ")})
        self.assertEqual(page["growth"], "3 of the 8 polls that it takes to distinguish growth from chance.")
        self.assertIn("too few polls to distinguish growth from chance: 3 of 8", causes.values())
        for text, title, path in page["ranges"]:
            self.assertRegex(text, r" %$")
            self.assertRegex(title, "^from .* to ")
            heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
            self.assertLessEqual(max(heights) - min(heights), 18 * 10 * (float(text[:-2].lstrip("< ")) + 0.1) / 100, f"{text} is drawn as a cliff: {path}")
        self.assertEqual((plain["width"], plain["opened"]), ([390, 390], [390, 390]))
        self.assertEqual(plain["weight"], "600", "this one is urgent")

    def test_on_the_plain_page_only_what_is_urgent_is_bold(self):
        with held_at_the_end("linux-6.1-2cpu-pools") as daemon:
            severities = [one["severity"] for one in json.loads(daemon.request("/api/v1/findings")[2])["findings"]]
            self.assertEqual(severities[0], "wasteful")
            plain = self.look(daemon, "plain")["plain"]
            self.assertEqual((plain["weight"], plain["width"]), ("400", [390, 390]))

    def test_a_type_on_two_memory_nodes(self):
        with held_at_the_end("linux-7.2-2cpu-2nodes-pools", "--tier", "full") as daemon:
            seen = self.look(daemon, "nodes", "nodes", TYPE_HASH="#/type/hugetlb/2MiB")["nodes"]
        self.assertEqual([table["labels"] for table in seen["tables"]], 3 * [["Node 0", "Node 1"]])
        self.assertEqual([table["values"] for table in seen["tables"]], [["2 MiB", "4 MiB"], ["1", "1"], ["0", "1"]])
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
