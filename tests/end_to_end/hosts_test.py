#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl hosts: a real Prometheus over memstatds, and a VictoriaMetrics, give what the memstatds give themselves; hosts that are silent are rows;
what is given cannot change a query; and each server that is not a Prometheus gets one line."""
import contextlib
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
from ctl import run  # noqa: E402

CONFIG = """global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
  - job_name: memstatd
    static_configs:
{targets}
"""
SAME = ("severity", "release", "total_bytes", "available_bytes", "kernel_bytes")
ILL, WELL = "freebsd-15.0-amd64-2cpu-limits", "linux-6.12-4cpu"


def hosts_of(*arguments):
    done = run("hosts", "--json", *arguments)
    if done.returncode != 0:
        raise AssertionError(done)
    return json.loads(done.stdout)


def answer(status, body, headers=""):
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}".encode()


@prometheus_server.needs_prometheus
class OfAPrometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.daemons = [cls.stack.enter_context(program.Daemon("--replay", captures.fixtures()[name], "--tier", "full"))
                       for name in (ILL, WELL)]
        leaving = program.Daemon("--replay", captures.fixtures()[WELL])
        addresses = [f"{daemon.host}:{daemon.port}" for daemon in (*cls.daemons, leaving)]
        for daemon in (*cls.daemons, leaving):
            daemon.wait_page(lambda now: now.series("memstat_memory_total_bytes"), "a first poll")
        for daemon in cls.daemons:
            daemon.wait_log("the replay has ended")
        targets = "\n".join(f"      - {{targets: ['{address}'], labels: {{cluster: {cluster}}}}}"
                            for address, cluster in zip(addresses, "aba"))
        directory = cls.stack.enter_context(program.temporary_directory())
        try:
            server = cls.stack.enter_context(prometheus_server.Prometheus(directory, None, config=CONFIG.format(targets=targets)))
            cls.servers = {"Prometheus": f"prometheus:http://{server.address}"}
            if shutil.which("victoria-metrics"):
                victoria = cls.stack.enter_context(prometheus_server.VictoriaMetrics(directory, CONFIG.format(targets=targets)))
                cls.servers["VictoriaMetrics"] = f"prometheus:http://{victoria.address}"
            program.wait_until(lambda: len(server.query("memstat_kernel_info")) == 3, server.log)
        finally:
            leaving.kill()
        program.wait_until(lambda: len(server.query("memstat_kernel_info")) == 2, server.log)
        cls.addresses, cls.server = addresses, cls.servers["Prometheus"]
        # The last scrape of a replay that has ended repeats, so that both ways see the same poll.
        program.wait_until(lambda: server.query('memstat_finding{cause="mbuf_limit"} > 0'), server.log)

    def test_rows_are_those_that_the_hosts_give_themselves_and_silent_ones_are_rows(self):
        rows = {row["host"]: row for row in hosts_of("--from", self.server)["hosts"]}
        self.assertEqual(set(rows), set(self.addresses))
        asked = hosts_of(*(word for address in self.addresses for word in ("--from", address)))["hosts"]
        self.assertEqual([row["severity"] for row in asked][:2], ["now", "silent"], "the worst first")
        for row in asked:
            other = rows[row["host"]]
            if row["host"] == self.addresses[2]:
                self.assertEqual((row["severity"], other["severity"], other["release"]), ("silent", "silent", rows[self.addresses[1]]["release"]))
                self.assertIn("refused", row["problem"])
                self.assertIn("within the last hour", other["problem"])
                continue
            self.assertEqual({key: row.get(key) for key in SAME}, {key: other.get(key) for key in SAME})
        ill = rows[self.addresses[0]]
        said = json.loads(run("why", "--json", "--from", f"http://{self.addresses[0]}").stdout)["findings"]
        first = [(one["severity"], one["cause"], one["headline"]) for one in said if one["severity"] == said[0]["severity"]]
        self.assertIn((ill["severity"], ill["cause"], ill["finding"]), first)
        self.assertEqual((asked[0]["cause"], asked[0]["finding"]), first[0][1:])

    def test_types_and_limits_of_several_hosts_are_those_of_each(self):
        for report, listed in (("types", "types"), ("limits", "limits")):
            together = run(report, "--json", *(word for address in self.addresses for word in ("--from", address)))
            self.assertEqual(together.returncode, 3, "one host does not answer")
            self.assertIn(self.addresses[2] + ": Connection refused", together.stderr)
            rows = json.loads(together.stdout)[listed]
            for address in self.addresses[:2]:
                alone = json.loads(run(report, "--json", "--from", address).stdout)[listed]
                of_host = [{key: value for key, value in row.items() if key != "host"} for row in rows if row["host"] == address]
                self.assertCountEqual(of_host, alone)
            self.assertEqual({row["host"] for row in rows}, set(self.addresses[:2]))

    def both(self, asked, address, *arguments):
        """The documents of a command from a server and from the host itself."""
        server = run(*arguments, "--json", "--from", asked, "--host", address)
        alone = run(*arguments, "--json", "--from", address)
        self.assertEqual(server.returncode, alone.returncode, (server.stderr, alone.stderr))
        return json.loads(server.stdout), json.loads(alone.stdout)

    def test_one_host_is_shown_as_by_itself(self):
        for name, asked in self.servers.items():
            with self.subTest(name):
                print(f"{name}: {self.compared(asked)} values of types and limits, 0 different")

    def compared(self, asked):
        """Compares what a server and two hosts say. Returns the number of values of types and limits."""
        compared = 0
        for address in self.addresses[:2]:
            for report in ("types", "limits"):
                server, alone = self.both(asked, address, report)
                for row in alone[report]:
                    row.pop("also", None)  # no label has the other names of a cache
                self.assertEqual(server[report], alone[report])
                compared += sum(len(row) for row in server[report])
            largest = alone["limits"][0]
            server, alone = self.both(asked, address, "show", f"{largest['allocator']}/{largest['type']}")
            for name in ("history", "also"):
                server.pop(name, None), alone.pop(name, None)
            self.assertEqual(server, alone)
            server, alone = self.both(asked, address, "why")
            words = [sorted((one["severity"], one["cause"], one["certainty"], one["headline"].split(":")[0], one["next"][0].split(";")[0])
                            for one in document["findings"]) for document in (server, alone)]
            # The daemon damps its series: what is possible waits for another poll, and figures of a headline stay for ten minutes.
            self.assertEqual(*([one for one in found if one[2] == "confirmed"] for found in words))
            tables = [run("top", "--count", "1", "--from", *source).stdout.partition("ALLOC ")[2]
                      for source in ((asked, "--host", address), (address,))]
            self.assertEqual(*([line.split()[:5] for line in table.splitlines()] for table in tables))
            self.assertGreater(tables[0].count("\n"), 20)
            done = run("watch", f"{largest['allocator']}/{largest['type']}", "--count", "1", "--from", asked, "--host", address)
            self.assertEqual(done.returncode, 0, done)
        return compared

    def test_a_command_of_one_host_asks_few_queries_and_needs_one_host(self):
        done = run("types", "--from", self.server, "--host", self.addresses[1], "--verbose")
        self.assertEqual((done.returncode, done.stderr.count("query: ")), (0, 2), done.stderr)
        done = run("why", "--from", self.server, "--match", 'cluster="b"')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Nothing is wrong: 0 active findings when the host was last scraped", done.stdout)
        done = run("types", "--from", self.server)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "2 hosts; name one of them with --host or --match: [0-9.:]+, [0-9.:]+\n")
        done = run("types", "--from", self.server, "--host", self.addresses[1], "--at", "2h")
        self.assertIn("no host has the metric", done.stderr)
        # A second ago the server may not have scraped the host yet.
        text = program.wait_until(lambda: run("diff", "--from", self.server, "--host", self.addresses[1], "--at", "1s", "--json").stdout, "a diff")
        self.assertEqual(json.loads(text)["changes"], [])
        for wrong in (("types", "--host", "a"), ("leaks", "--hosts"), ("diff", "--from", self.server), ("events", "--from", self.server)):
            self.assertEqual(run(*wrong).returncode, 2, wrong)

    def test_hosts_are_selected_and_grouped_by_labels(self):
        def names(*arguments):
            return {row["host"] for row in hosts_of("--from", self.server, *arguments)["hosts"]}
        self.assertEqual(names("--match", 'cluster="b"'), {self.addresses[1]})
        self.assertEqual(names("--match", "cluster=~'a|c', job!=\"x\""), {self.addresses[0], self.addresses[2]})
        self.assertEqual(names("--host", self.addresses[0]), {self.addresses[0]})
        groups = {row["group"]: row for row in hosts_of("--from", self.server, "--group-by", "cluster")["groups"]}
        self.assertEqual({group: (row["hosts"], row["now"], row["silent"]) for group, row in groups.items()}, {"a": (2, 1, 1), "b": (1, 0, 0)})
        releases = [row["group"] for row in hosts_of("--from", self.server, "--group-by", "release")["groups"]]
        self.assertEqual(releases[0], "15.0-RELEASE", "the release in trouble first")
        self.assertEqual(len(releases), 2)

    def test_nothing_that_is_given_can_change_a_query(self):
        for pattern in ('x"} or vector(1) #', "x\\", 'x"', "}"):
            done = run("hosts", "--from", self.server, "--host", pattern)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, "")
        for match in ('a="b"} or up{c="d"', 'a="b', "a=b", '{a="b"}', 'a="b",,', '1a="b"', "up"):
            done = run("hosts", "--from", self.server, "--match", match)
            self.assertEqual(done.returncode, 2, match)
            self.assertIn("without braces", done.stderr)

    def test_the_past_is_asked_for_by_time(self):
        done = run("hosts", "--from", self.server, "--at", "2h ago", "--verbose")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no host has the metric memstat_kernel_info{}", done.stderr)
        queries = [line for line in done.stderr.splitlines() if line.startswith("query: ")]
        self.assertEqual(len(queries), 2, done.stderr)
        self.assertEqual(run("hosts", "--from", self.server, "--at", "yesterday").returncode, 2)


@prometheus_server.needs_prometheus
class OfGrowth(unittest.TestCase):
    """A memstatd that replays two growing types while it is scraped."""

    POLLS, SECOND = 24, 1_000_000_000

    def test_leaks_are_those_of_the_host_itself(self):
        directory = self.enterContext(program.temporary_directory())
        polls = [{"fs/proc/slabinfo": captures.slabinfo(captures.slabinfo_line("filp", active=1000 + 50 * i, objects=4000, size=256),
                                                        captures.slabinfo_line("task_struct", active=100 + 7 * i, objects=400, size=4096),
                                                        captures.slabinfo_line("kmalloc-64", active=3000, objects=4000))}
                 for i in range(self.POLLS)]
        capture = captures.write_capture(os.path.join(directory, "capture"), polls, apart_ns=self.SECOND)
        config = CONFIG.replace("2s", "1s")
        with program.Daemon("--replay", capture, "--tier", "full", "--interval", "1s") as daemon:
            address = f"{daemon.host}:{daemon.port}"
            targets = f"      - {{targets: ['{address}']}}"
            with prometheus_server.Prometheus(directory, None, config=config.format(targets=targets)) as server:
                daemon.wait_log("the replay has ended")
                last = f'memstat_type_objects{{type="filp"}} == {1000 + 50 * (self.POLLS - 1)}'
                program.wait_until(lambda: server.query(last), server.log)
                alone = self.rows("--from", address)
                asked = self.rows("--from", f"prometheus:http://{server.address}", "--since", f"{self.POLLS}s")
        self.assertEqual(sorted(alone), ["slab/filp", "slab/task_struct"])
        self.assertEqual({name: row["now"] for name, row in asked.items()}, {name: row["now"] for name, row in alone.items()})
        for name, row in asked.items():
            # Scrapes begin after the first poll, and end a little after the last.
            self.assertAlmostEqual(row["per_second"] / alone[name]["per_second"], 1, delta=0.25, msg=name)

    def rows(self, *arguments):
        done = run("leaks", "--json", *arguments)
        self.assertEqual(done.returncode, 0, done)
        return {f"{row['allocator']}/{row['type']}": row for row in json.loads(done.stdout)["growing"]}


class OfOthers(unittest.TestCase):
    def test_a_password_is_sent_from_a_file_and_never_printed(self):
        requests = []

        def refuse(request):
            requests.append(dict(request.headers))
            request.send_error(401)
        with prometheus_server.Served(refuse) as server, program.temporary_directory() as directory:
            path = captures.write_file(os.path.join(directory, "headers"), "# of the test\nbearer: s3cret\nX-Scope-OrgID: a\n")
            for arguments, environment in ((["--headers", path], {}), ([], {"MEMSTAT_HEADERS": path})):
                done = run("hosts", "--from", f"prometheus:http://{server.address}", *arguments, environment=environment)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
                self.assertIn("needs a password or a token", done.stderr)
                self.assertNotIn("s3cret", done.stderr)
                self.assertEqual((requests[-1]["Authorization"], requests[-1]["X-Scope-OrgID"]), ("Bearer s3cret", "a"))
            wrong = captures.write_file(os.path.join(directory, "wrong"), "s3cret\n")
            done = run("hosts", "--from", f"prometheus:http://{server.address}", "--headers", wrong)
            self.assertEqual((done.returncode, "s3cret" in done.stderr), (1, False))
            self.assertIn("wrong:1: give a header as Name: value", done.stderr)
            done = run("hosts", "--from", f"prometheus:http://me:s3cret@{server.address}")
            self.assertEqual((done.returncode, "--headers FILE" in done.stderr), (2, True))

    def test_each_server_that_is_no_prometheus_gets_one_line(self):
        good = '{"status":"success","data":{"resultType":"vector","result":[]}}'
        table = ((200, "<html>", "", "not from a Prometheus"), (404, "", "", "is this a Prometheus?"), (200, good, "", "no host has the metric"),
                 (200, '{"status":"success","data":{"resultType":"matrix","result":[]}}', "", "not from a Prometheus"),
                 (422, json.dumps({"status": "error", "error": "too many samples \x1b[2J"}), "", "too many samples \\x1b[2J"),
                 (302, "", "Location: https://example.org/login\r\n", "redirects to https://example.org/login"))
        for status, body, headers, words in table:
            def reply(request, whole=answer(status, body, headers)):
                request.wfile.write(whole)
                request.close_connection = True
            with self.subTest(words), prometheus_server.Served(reply) as server:
                done = run("hosts", "--from", f"prometheus:http://{server.address}")
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                self.assertIn(words, done.stderr)

    def test_a_warning_of_the_server_makes_the_answer_partial(self):
        body = json.dumps({"status": "success", "warnings": ["a store is down"], "data": {"resultType": "vector", "result": [
            {"metric": {"instance": "db1:9", "release": "6.1"}, "value": [1, "1"]}]}})
        with prometheus_server.Served(lambda request: prometheus_server.send(request, body.encode())) as server:
            done = run("hosts", "--from", f"prometheus:http://{server.address}")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr.count("a store is down"), 1)

    def test_two_hundred_hosts_of_a_file(self):
        with program.Daemon("--replay", captures.fixtures()[WELL], "--polls", "1") as daemon, program.temporary_directory() as directory:
            daemon.wait_page(lambda now: now.series("memstat_memory_total_bytes"), "a first poll")
            path = captures.write_file(os.path.join(directory, "hosts.txt"), "# all\n" + f"{daemon.host}:{daemon.port}\n" * 200)
            rows = hosts_of("--from", "@" + path)["hosts"]
            self.assertEqual((len(rows), {row["severity"] == "silent" for row in rows}), (200, {False}))
            done = run("hosts", "--from", "@" + path + "x")
            self.assertEqual((done.returncode, done.stderr), (1, f"memstatctl: {path}x: cannot be read\n"))
            bad = captures.write_file(os.path.join(directory, "bad.txt"), "db1:8947\nftp://db2\n")
            self.assertIn("bad.txt:2: give the URL of a memstatd", run("hosts", "--from", "@" + bad).stderr)

    def test_usage(self):
        for arguments in ([], ["--from", "prometheus:http://a:9090", "--from", "b:8947"], ["--from", "b:8947", "--at", "2h"], ["--from", "x.tar"]):
            done = run("hosts", *arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n") >= 1), (2, "", True), arguments)


if __name__ == "__main__":
    program.main()
