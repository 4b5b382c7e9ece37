#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPU that the shipped rules take of a real Prometheus, by group: rules_bench.py [--ill] [--only GROUP,...] MEMSTATD [HOSTS [DIRECTORY]]. Needs the
package prometheus, and about eighteen minutes for 200 hosts. DIRECTORY: of other rules, such as those of an earlier commit; its groups that differ from
the shipped ones are measured, too, in the same server. Prints a table, and as the last line a JSON object.

Each host shows the page of a captured Linux 7.2 at tier `default`, with the tables of another machine of that kernel, which are full, and every
figure changes a little at every scrape. With --ill each host has the findings of that page, three of which fail now, and a table of files that is
nearly full; otherwise none. What rules look back at is made beforehand: 40 minutes of what they take over ten minutes and more, seven
hours of limits, three days of recorded medians. Then the server scrapes all hosts once a minute and computes one group again and again: the CPU time of the
process (/proc/PID/stat) above what it takes without that group, by evaluation and host. CPU time and not the clock's, so that what else
the machine does counts little; its load is printed.

What was made beforehand lies in blocks, and a server asks a block and its memory whenever a rule looks at a moment less than five
minutes behind the block's end, and puts both in order, series by series. A server that runs for an hour or longer has the last hour and
more in its memory alone. So groups that look back over hours, which lie in blocks there, too, come first, and the others when five
minutes have passed. Measured with one server (EPYC, 2026-11-23, rules of 1c466bc): `memstat-slow` 5.69 ms 2 minutes after its start and
4.00 ms after 11, `memstat-limits` 1.02 ms after 2.5 and 0.61 ms after 5.
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import prometheus_server  # noqa: E402

PARSER = argparse.ArgumentParser(usage=__doc__)
PARSER.add_argument("--ill", action="store_true")
PARSER.add_argument("--only", type=lambda text: text.split(","))
PARSER.add_argument("memstatd")
PARSER.add_argument("hosts", type=int, nargs="?", default=200)
PARSER.add_argument("others", type=pathlib.Path, nargs="?")
ARGUMENTS = PARSER.parse_args()
RULES = ROOT / "dashboards" / "prometheus"
PAGES = [ROOT / "tests" / "fixtures" / "captures" / f"linux-7.2-2cpu{name}.tar.zst" for name in ("", "-tables")]
MINUTE, HOUR, DAY = 60, 3600, 86400
MOST_MS = 2.0  # of CPU a host and minute
SHARE_KEPT = 0.002  # leakSmallest of the mixin
LIMIT_FOLLOWED = 0.25  # limitFollowed
EVALUATIONS = 5
IDLE_SECONDS = 60
BASE = ("memstat-host", "memstat-kernel", "memstat-limits", "memstat-findings")  # other groups always need the series of these, so they are always computed
BACK = ("memstat-growth", "memstat-weeks", "memstat-groups")  # these look back over hours
LOOKBACK = 5 * MINUTE
BEFORE = "-other"  # ends the names of the other rules' groups
SECONDS = {"s": 1, "m": MINUTE, "h": HOUR}


def series_of(memstatd):
    """[(name and labels without the end brace, value, is a counter)] of the page of one host."""
    found = {}
    for capture in PAGES:
        page = subprocess.run([memstatd, "--replay", str(capture), "--once", "--tier", "default"], check=True, capture_output=True, text=True).stdout
        counters = set(re.findall(r"^# TYPE (\S+) counter", page, re.MULTILINE))
        for line in page.splitlines():
            match = re.match(r"([\w:]+)(?:\{(.*)\})? (\S+)$", line)
            if match and (ARGUMENTS.ill or not line.startswith("memstat_finding")):
                labels = match.group(2) + "," if match.group(2) else ""
                name, value = match.group(1), float(match.group(3))
                if STILL.match(name):
                    value = 0
                elif name == "memstat_type_limit_used_ratio":
                    value = 0.97 if ARGUMENTS.ill and 'allocator="table",type="files"' in labels else min(value, 0.4)
                is_moving = (name in counters or name.endswith(("_bucket", "_count", "_sum"))) and not STILL.match(name)
                found.setdefault(name + "{" + labels, (value, is_moving))
    return [(name, value, is_counter) for name, (value, is_counter) in found.items()]


# Counters of problems do not increase, and nothing is near its limit: the alerts of a healthy fleet are computed and do not fire.
STILL = re.compile(r"memstat_\w*(failures|hits|bugs|reports|kills|stalls|errors|sleeps|missed|skipped|shortfall|stall_seconds)|memstat_page_events")


def figure(value, is_counter, minute):
    """The value of a series then: all change, except times of boot and of start."""
    if is_counter:
        return value + minute * 3
    return value if value <= 4 or value > 1e9 and value < 2e9 else value * (1 + 0.01 * random.random())


def lines(series, hosts, start, end, step, shift=0):
    """OpenMetrics lines of these series of all hosts."""
    for name, value, is_counter in series:
        for host in range(hosts):
            head = f'{name}job="memstatd",instance="host{host}"}}'
            for now in range(start + host % step, end, step):
                moved = int(now) if "poll_timestamp" in name else figure(value + shift * (now - end) / DAY, is_counter, now // MINUTE % 100000)
                yield f"{head} {moved:.10g} {now}\n"


def history(directory, series, hosts, end):
    """Blocks of the history."""
    total = next(value for name, value, _ in series if name.startswith("memstat_memory_total_bytes"))
    kept = [(name.replace("memstat_type_bytes", "instance_allocator_type:memstat_type_bytes:median30m"), value, False)
            for name, value, _ in series if name.startswith("memstat_type_bytes{") and value > SHARE_KEPT * total
            and not re.search('allocator="(memcg|process|page|table|zswap|call_site|hugetlb|cma)"', name)]
    recorded = [("instance:memstat_kernel_held_bytes:median30m{", total / 10, False), ("instance:memstat_unaccounted_bytes:median30m{", total / 50, False),
                ("instance:memstat_type_bytes:count{", len(kept), False), ("instance:memstat_series:sum{", len(series), False)]
    recorded += [(name.replace(":median30m", f":growth{span}"), value / 1000, False)
                 for name, value, _ in kept + recorded[1:2] for span in ("30m", "6h", "1d")]
    ratios = [(name.replace("memstat_type_limit_used_ratio", "instance_allocator_type:memstat_type_limit_used:followed"), value, False)
              for name, value, _ in series if name.startswith("memstat_type_limit_used_ratio") and value > LIMIT_FOLLOWED and "tcp_time_wait" not in name]
    ratios += [entry for entry in series if entry[0].startswith("memstat_poll_timestamp")]
    rules = "".join((RULES / name).read_text() for name in ("recording_rules.yml", "alerts.yml"))
    # Series that rules use over ten minutes and more; for the rest two scrapes suffice.
    far = set(re.findall(r"(memstat_\w+)(?:\{[^}]*\})?(?:\[\d\d+m\]|\[\d+[hd]\]| offset)", rules))
    named = [entry for entry in series if entry[0].partition("{")[0] in far]
    held = [("instance:memstat_kernel_held_bytes:sum{", total / 10, False)]
    parts = {"week": lines(kept, hosts, end - 7 * DAY - 40 * MINUTE, end - 3 * DAY - 40 * MINUTE, 10 * MINUTE, total / 100),
             "days": lines(kept + recorded, hosts, end - 3 * DAY - 40 * MINUTE, end, 10 * MINUTE, total / 100),
             "hours": lines(ratios, hosts, end - 7 * HOUR, end, MINUTE),
             "minutes": lines([entry for entry in named if entry not in ratios] + held, hosts, end - 40 * MINUTE, end, MINUTE)}
    for name, made in parts.items():
        path = directory / f"{name}.om"
        with open(path, "w", encoding="ascii", buffering=1 << 20) as file:
            file.writelines(made)
            file.write("# EOF\n")
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "--max-block-duration=168h", "openmetrics", "--quiet", str(path), str(directory / "data")],
                       check=True, stdout=subprocess.DEVNULL)
        path.unlink()
    return len(kept)


def page(series):
    """The page of all hosts; any of them will do, because each has its own figures."""
    minute = int(time.time()) // MINUTE % 100000
    return "".join(f"{name.rstrip(',{')}{'}' if name[-1] != '{' else ''} {time.time() if 'poll_timestamp' in name else figure(value, is_counter, minute):.10g}\n"
                   for name, value, is_counter in series).encode()


class Prometheus(prometheus_server.Prometheus):
    """Scrapes all hosts at the address of their page."""

    def __init__(self, directory, hosts, page_address):
        self.directory, self.hosts, self.page_address = directory, hosts, page_address
        super().__init__(str(directory), None, "--web.enable-lifecycle", "--storage.tsdb.retention.time=30d", config=self.configured([]))

    def configured(self, groups):
        """The configuration that evaluates these groups."""
        (self.directory / "rules.yml").write_text(yaml.safe_dump({"groups": groups}))
        targets = [{"targets": [self.page_address], "labels": {"instance": f"host{host}", "__param_host": str(host)}} for host in range(self.hosts)]
        return yaml.safe_dump({
            "global": {"scrape_interval": "1m", "scrape_timeout": "50s", "evaluation_interval": "1m"}, "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "memstatd", "static_configs": targets}]})

    def reload(self, groups):
        (self.directory / "prometheus.yml").write_text(self.configured(groups))
        urllib.request.urlopen(f"http://{self.address}/-/reload", data=b"", timeout=60).close()

    def cpu(self):
        """Seconds on a processor since its start, of all threads."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metric(self, name, group):
        return sum(float(value) for value in re.findall(rf'^{name}\{{rule_group="[^"]*;{group}"[^}}]*\}} (\S+)$', self.get("/metrics").decode(), re.MULTILINE))

    def iterations(self, group):
        """How often the group was computed and started again. Prometheus counts rules when it begins them; its count of
        iterations also has those that it left out."""
        return int(self.metric("prometheus_rule_evaluations_total", group["name"]) - 1) // len(group["rules"])

    def reach(self, group, wanted):
        while self.iterations(group) < wanted:
            time.sleep(0.1)
        return self.iterations(group)

    def measure(self, group, base, idle):
        """(CPU ms of one evaluation, its duration in ms). `idle`: CPU time per second that the server takes for everything else and the groups `base`."""
        name = group["name"]
        hurried = {**group, "interval": "250ms"}
        self.reload([other for other in base if other["name"] != name.removesuffix(BEFORE)] + [hurried])
        # The first rule reads series that no other rule has read yet.
        count, cpu, start = self.reach(group, self.iterations(group) + 2), self.cpu(), time.monotonic()
        done = self.reach(group, count + EVALUATIONS) - count
        while time.monotonic() < start + MINUTE:  # each host is scraped once meanwhile, as in the time without the group
            done = self.reach(group, count + done + 1) - count
        used, passed = self.cpu() - cpu, time.monotonic() - start
        used -= idle * passed
        if name.removesuffix(BEFORE) in BASE:
            done -= passed / seconds(group["interval"])
        return 1000 * used / done, 1000 * self.metric("prometheus_rule_group_last_duration_seconds", name)

    def dearest(self, group):
        """The three rules of a group that took longest when it was last computed: (name, ms)."""
        rules = next(entry["rules"] for entry in self.api("rules")["groups"] if entry["name"] == group["name"])
        return sorted(((rule["name"], 1000 * rule["evaluationTime"]) for rule in rules), key=lambda entry: -entry[1])[:3]

    def rate(self, seconds):
        cpu, start = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - cpu) / (time.monotonic() - start)


def seconds(interval):
    return int(interval[:-1]) * SECONDS[interval[-1]]


def groups_of(directory):
    return [group for name in ("recording_rules.yml", "alerts.yml") for group in yaml.safe_load((directory / name).read_text())["groups"]]


def measured(directory, memstatd, hosts):
    groups = groups_of(RULES)
    wanted = [group for group in groups if not ARGUMENTS.only or group["name"] in ARGUMENTS.only]
    wanted += [{**group, "name": group["name"] + BEFORE} for group in groups_of(ARGUMENTS.others) if group not in groups] if ARGUMENTS.others else []
    series = series_of(memstatd)
    end = int(time.time())
    kept = history(directory, series, hosts, end)
    with prometheus_server.Served(lambda request: prometheus_server.send(request, page(series))) as served, \
            Prometheus(directory, hosts, served.address) as prometheus:
        base = [group for group in groups if group["name"] in BASE]
        prometheus.reload(base)
        time.sleep(100)  # every host is scraped once, and the blocks of the history are merged
        idle = prometheus.rate(IDLE_SECONDS)
        rows = []
        for group in sorted(wanted, key=lambda group: group["name"] not in BACK):
            if group["name"] not in BACK:
                time.sleep(max(0, end + LOOKBACK - time.time()))
            cost, wall = prometheus.measure(group, base, idle)
            print(f"{group['name']}: {cost / hosts:.3f} ms of CPU a host and evaluation, {wall / 1000:.1f} s; load {os.getloadavg()[0]:.1f}; longest: "
                  + ", ".join(f"{name} {took:.0f} ms" for name, took in prometheus.dearest(group)), file=sys.stderr, flush=True)
            rows.append({"group": group["name"], "rules": len(group["rules"]), "interval_s": seconds(group["interval"]), "cpu_ms": cost, "duration_ms": wall})
        failing = re.findall(r'^prometheus_rule_evaluation_failures_total\{.*\} ([1-9]\S*)$', prometheus.get("/metrics").decode(), re.MULTILINE)
        rows.sort(key=lambda row: [group["name"] for group in wanted].index(row["group"]))
        idle -= sum(row["cpu_ms"] / 1000 / row["interval_s"] for row in rows if row["group"] in BASE)
        return {"hosts": hosts, "series": len(series), "medians_a_host": kept, "idle_cpu": idle, "groups": rows, "failures": len(failing),
                "recorded_medians": len(prometheus.query("instance_allocator_type:memstat_type_bytes:median30m")), "load": os.getloadavg()[0]}


def main():
    if not shutil.which("prometheus"):
        print("prometheus is not installed (Debian package prometheus)")
        return 77
    memstatd, hosts = ARGUMENTS.memstatd, ARGUMENTS.hosts
    random.seed(1)
    with tempfile.TemporaryDirectory(prefix="memstat-rules-") as directory:
        result = measured(pathlib.Path(directory), memstatd, hosts)
    total = 0
    print(f"{result['hosts']} hosts x {result['series']} series, {result['medians_a_host']} types of each in the medians; load of the machine {result['load']:.1f}")
    print("| group | rules | every | CPU a host and evaluation | CPU a host and minute |\n|---|---|---|---|---|")
    for row in result["groups"]:
        a_host = row["cpu_ms"] / hosts
        a_minute = a_host * MINUTE / row["interval_s"]
        total += 0 if row["group"].endswith(BEFORE) else a_minute
        print(f"| `{row['group']}` | {row['rules']} | {row['interval_s'] // MINUTE} min | {a_host:.3f} ms | {a_minute:.3f} ms |")
    print(f"all rules: {total:.2f} ms a host and minute, at most {MOST_MS} wanted; 10 000 hosts take {math.ceil(total * 10000 / MINUTE / 10)} % of one core; "
          f"scrapes and all else {result['idle_cpu'] * 1000 * MINUTE / hosts:.2f} ms")
    print(json.dumps({**result, "total_ms": total}))
    return 0 if total <= MOST_MS and not result["failures"] else 1


if __name__ == "__main__":
    sys.exit(main())
