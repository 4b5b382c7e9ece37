#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Precision and recall of `memstatctl leaks --hosts` on synthetic fleets: fleet_draws.py [OPTION...] MEMSTATCTL, or fleet_draws.py --report RESULTS.
Needs the Debian package victoria-metrics.

Each draw is a fleet of its own, made from its seed alone. Its history is imported into VictoriaMetrics with the label cluster="KIND-SEED". Then the
real program is asked. Kinds of draws:

  late     leaks on 1 % of the hosts start 3 h before the end; asked 1 h after the start with --since 1h and 3 h after it with --since 3h
  early    the leaks start 6 to 20 h before the end; asked at the end with both windows
  calm     no leak; the i-th of ten draws ends at 2.4 h x i of the day; asked at the end with both windows
  upgrade  half of the hosts restart with another release and leak in one type from then on; asked with --since 3d --group-by release
  restart  the same upgrades without a leak

What the fleet does besides: eight roles of different size and workload in three time zones, daily waves, random walks, jumps, jobs each hour,
backups and cron at night, log rotation, rolling and canary deployments that raise types by a step, restarts of processes, reboots and new hosts
whose caches grow, hosts that leave, sawtooth caches, traffic moved between zones, and hot hosts.

A pair is a host and a type. A named pair is right if that type leaks there, an echo if it is a sum over the leaking type or a companion that
grows with it, and otherwise wrong. Precision is right / (right + wrong); echoes are counted beside it. RESULTS has one JSON object a draw.
The baseline of the report is the growth of the logarithm less the median of the peers, over the deviation of that in the host's own past,
rising in each third; its threshold is the lowest with precision 0.95 over all draws, which favors it.
"""
import argparse
import collections
import json
import math
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from synthetic_fleet import COMPANIONS, Fleet, MIB, OWN_PAST, PARTS, RECLAIMABLE, SLABS, Walks

PARSER = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
PARSER.add_argument("memstatctl", nargs="?")
PARSER.add_argument("--late", type=int, default=50, metavar="N", help="draws of this kind")
PARSER.add_argument("--early", type=int, default=10, metavar="N")
PARSER.add_argument("--calm", type=int, default=10, metavar="N")
PARSER.add_argument("--upgrade", type=int, default=5, metavar="N")
PARSER.add_argument("--restart", type=int, default=2, metavar="N")
PARSER.add_argument("--hosts", type=int, default=500)
PARSER.add_argument("--first", type=int, default=1, metavar="SEED", help="seed of the first draw of each kind; the next ones follow")
PARSER.add_argument("--jobs", type=int, default=2)
PARSER.add_argument("--port", type=int, default=18428)
PARSER.add_argument("--directory", help="where the server keeps its data; deleted at the end unless --keep")
PARSER.add_argument("--keep", action="store_true")
PARSER.add_argument("--out", default="fleet_draws.jsonl", help="the results")
PARSER.add_argument("--deadline", type=float, metavar="SECONDS", help="start no draw later than this")
PARSER.add_argument("--report", metavar="RESULTS", help="only print the report of earlier results")


class Baseline:
    """The simple rule to beat, computed from the same values."""

    def __init__(self, fleet, questions):
        self.fleet, self.questions = fleet, questions
        self.wanted = {}
        for window, end in questions:
            ends = [end] + [end - window - hour for hour in range(int(OWN_PAST - 2 * window) + 1)]
            self.wanted[window] = (ends, [(fleet.grid.place(moment), fleet.grid.place(moment - window)) for moment in ends],
                                   [fleet.grid.place(end - window * third / 3) for third in (3, 2, 1, 0)])
        self.growth = {window: collections.defaultdict(dict) for window, _ in questions}

    def add(self, host, found):
        for window, (ends, places, thirds) in self.wanted.items():
            if host.begin > ends[0] - window or host.end < ends[0] and host.end != 0:
                continue
            first = self.fleet.grid.place(host.begin)
            for key, made in found.items():
                def level(place, made=made):
                    return sorted(made[place - 2:place + 1])[1] if place >= 2 else made[place]
                past = [math.log(level(late) + 65536) - math.log(level(soon) + 65536) if soon >= first else None for late, soon in places]
                marks = [level(place) for place in thirds]
                is_rising = all(one < other for one, other in zip(marks, marks[1:]))
                self.growth[window][key][host.number] = (past, is_rising, (marks[3] - marks[0]) / window)

    def scores(self, window):
        """[(score, host, key)] of pairs that rise in each third, by 4 MiB an hour and more; and the score of every pair of a leaking host."""
        found, of_leaks = [], {}
        for key, hosts in self.growth[window].items():
            columns = len(next(iter(hosts.values()))[0])
            middles = [statistics.median([past[column] for past, _, _ in hosts.values() if past[column] is not None] or [0])
                       for column in range(columns)]
            for number, (past, is_rising, rate) in hosts.items():
                leak = self.fleet.leaking.get(number)
                is_leak = bool(leak) and (leak["allocator"], leak["type"]) == key
                if not is_leak and (not is_rising or rate < 4 * MIB or key[0] == "part"):
                    continue
                less = [value - middle for value, middle in zip(past, middles) if value is not None]
                deviation = statistics.pstdev(less[1:]) if len(less) > 3 else 1.0
                score = less[0] / (deviation + 0.002)
                if is_leak:
                    of_leaks[number] = {"score": score, "is_rising": is_rising, "grown": rate / MIB, "growth": less[0], "deviation": deviation}
                if is_rising and rate >= 4 * MIB and score > 1:
                    found.append((round(score, 3), is_leak))
        return found, of_leaks


def post(url, data):
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=300) as answer:
        answer.read()


def ask(arguments, fleet, end, *options):
    """(rows, seconds, what the program says beside)."""
    command = [arguments.memstatctl, "leaks", "--hosts", "--from", f"prometheus:http://127.0.0.1:{arguments.port}", "--limit", "0",
               "--match", f'cluster="{fleet.cluster}"', "--at", str(fleet.end + round(end * 3600)), "--json", *options]
    for _ in range(6):  # the program gives up after 15 s, which a busy machine exceeds
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        seconds = time.monotonic() - started
        if done.returncode != 1:
            break
    answer = json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}
    return answer.get("growing", []), seconds, {"status": done.returncode, "stderr": done.stderr[-500:], "json": answer}


def same(row, key):
    """Whether a row of the answer is about this type."""
    if key[0] == "unaccounted":
        return row["type"] == "unaccounted"
    return (row["allocator"], row["type"]) == key


def echoes(leak):
    """Types that grow with the leak: the sum that it is part of, and companions."""
    key, found = (leak["allocator"], leak["type"]), set()
    slab = "slab_reclaimable" if leak["type"] in RECLAIMABLE else "slab_unreclaimable"
    part = {"slab": slab, "vmalloc": "vmalloc", "socket": "sockets"}.get(key[0])
    if part:
        found.add(part)
    if key == ("socket", "TCP"):
        found.update(name for _, name in COMPANIONS)
    if key == ("vmalloc", "kernel_clone"):
        found.add("kernel_stacks")
    return found


def judge(fleet, rows, window, end):
    """What of the answer is right, an echo or wrong, with the reason why it grew."""
    by_name = {host.name: host for host in fleet.hosts}
    result = {"right": [], "echo": [], "wrong": []}
    for row in rows:
        names = re.findall(r"host\d+:8947", row.get("host_names", ""))
        for name in names + ["?"] * (row["hosts"] - len(names)):
            host = by_name.get(name)
            leak = fleet.leaking.get(host.number) if host else None
            if leak and same(row, (leak["allocator"], leak["type"])):
                result["right"].append([name, row["allocator"], row["type"]])
            elif leak and row["type"] in echoes(leak):
                result["echo"].append([name, row["allocator"], row["type"]])
            else:
                plain = ("socket " if row["allocator"] == "socket" else "") + row["type"]
                is_cache = (SLABS.get(row["type"]) or PARTS.get(row["type"]) or SLABS["filp"]).cache
                why = sorted({what for what, start, stop, types in (host.events if host else [])
                              if start < end and stop > end - window and (not types or types == plain or types == "cache" and is_cache)})
                result["wrong"].append({"host": name, "allocator": row["allocator"], "type": row["type"], "why": why or ["noise or wave"],
                                        "role": host.role if host else "?", "leaks": bool(leak), "row": {
                                            field: value for field, value in row.items() if isinstance(value, (int, float))}})
    return result


WALKS = []


def run_draw(task):
    arguments, kind, seed = task
    if arguments.deadline and time.monotonic() > arguments.deadline:
        return None
    if not WALKS:
        WALKS.append(Walks())
    began = time.monotonic()
    fleet = Fleet(kind, seed, arguments.hosts, WALKS[0])
    questions = [] if fleet.is_upgrade else [(1.0, -2.0 if kind == "late" else 0.0), (3.0, 0.0)]
    baseline, url, chunk, size, samples = Baseline(fleet, questions), f"http://127.0.0.1:{arguments.port}", [], 0, 0
    for host in fleet.hosts:
        rows, found = fleet.series(host)
        baseline.add(host, found)
        for line in fleet.lines(host, rows):
            chunk.append(line)
            size += len(line)
        samples += len(rows) * len(fleet.grid.times)
        if size > 16 << 20:
            post(url + "/api/v1/import", "".join(chunk).encode())
            chunk, size = [], 0
    if chunk:
        post(url + "/api/v1/import", "".join(chunk).encode())
    with urllib.request.urlopen(url + "/internal/force_flush", timeout=300) as answer:
        answer.read()
    result = {"kind": kind, "seed": seed, "hosts": len(fleet.hosts), "samples": samples, "made_seconds": round(time.monotonic() - began, 1),
              "end_of_day": fleet.end_of_day, "leaks": list(fleet.leaking.values()), "looks": []}
    for window, end in questions:
        rows, seconds, said = ask(arguments, fleet, end, "--since", f"{window:.0f}h")
        scored, of_leaks = baseline.scores(window)
        result["looks"].append({"window": window, "seconds": round(seconds, 2), "status": said["status"], "stderr": said["stderr"], "rows": len(rows),
                                **judge(fleet, rows, window, end), "baseline": scored,
                                "leak_scores": {fleet.hosts[number].name: score for number, score in of_leaks.items()}})
    if fleet.is_upgrade:
        rows, seconds, said = ask(arguments, fleet, 0.0, "--since", "3d", "--group-by", "release")
        result["looks"].append({"window": 72, "seconds": round(seconds, 2), "status": said["status"], "stderr": said["stderr"], "leak": fleet.leak,
                                "changed": fleet.changed, "upgraded": sum(host.upgraded is not None for host in fleet.hosts),
                                "base": statistics.median([leak["base"] for host in fleet.hosts for leak in host.leaks] or [0]),
                                "rows": [{field: value for field, value in row.items() if field != "host_names"} for row in rows]})
    return result


def ratio(part, whole):
    return f"{part}/{whole} = {part / whole:.2f}" if whole else "none"


def threshold(looks, leaks):
    """(score, precision, recall) of the lowest threshold with precision 0.95."""
    scored = sorted((tuple(entry) for look in looks for entry in look["baseline"]), reverse=True)
    right, best = 0, (math.inf, 0.0, 0.0)
    for count, (score, is_leak) in enumerate(scored, 1):
        right += is_leak
        if right >= 0.95 * count:
            best = (score, right / count, right / leaks)
    return best


def report(results):
    answered = [result for result in results if all(look["status"] != 1 for look in result["looks"])]
    if len(answered) < len(results):
        print(f"left out, without an answer: {' '.join(result['kind'] + '-' + str(result['seed']) for result in results if result not in answered)}")
    results = answered
    for kind in ("late", "early"):
        draws = [result for result in results if result["kind"] == kind]
        for window in (1.0, 3.0) if draws else ():
            looks = [(draw, look) for draw in draws for look in draw["looks"] if look["window"] == window]
            leaks = [(draw, leak) for draw in draws for leak in draw["leaks"]]
            named = {(draw["seed"], name) for draw, look in looks for name, _, _ in look["right"]}
            right, echo, wrong = (sum(len(look[field]) for _, look in looks) for field in ("right", "echo", "wrong"))
            print(f"\n{kind}, {len(draws)} draws, --since {window:.0f}h: precision {ratio(right, right + wrong)}, "
                  f"recall {ratio(len(named), len(leaks))}, echoes {echo}")
            score, precision, recall = threshold([look for _, look in looks], len(leaks))
            print(f"  baseline: precision {precision:.2f}, recall {recall:.2f} at a score of {score:.1f}")
            groups = collections.OrderedDict()
            for draw, leak in leaks:
                is_named = (draw["seed"], leak["host"]) in named
                rate = next(limit for limit in (16, 32, 64, 1000) if leak["rate"] < limit)
                share = leak["rate"] * window / max(leak["base"], 0.01)
                times = next(limit for limit in (0.1, 0.3, 1, 3, 1e9) if share < limit)
                for group in ("kind " + leak["allocator"], f"rate below {rate} MiB/h", "role " + leak["role"],
                              f"grows by less than {times:g} of its size", "bursty" if leak["is_bursty"] else "linear"):
                    groups.setdefault(group, []).append(is_named)
            print("\n".join(f"  {group}: recall {ratio(sum(values), len(values))}" for group, values in sorted(groups.items())))
            reasons(look for _, look in looks)
    draws = [result for result in results if result["kind"] == "calm"]
    for window in (1.0, 3.0) if draws else ():
        looks = [look for draw in draws for look in draw["looks"] if look["window"] == window]
        print(f"\ncalm, {len(looks)} looks, --since {window:.0f}h: {sum(len(look['wrong']) for look in looks)} wrong pairs "
              f"({' '.join(str(len(look['wrong'])) for look in looks)})")
        reasons(looks)
    for result in results:
        for look in result["looks"] if result["kind"] in ("upgrade", "restart") else ():
            leak = look["leak"]
            hits = [row for row in look["rows"] if same(row, (leak["allocator"], leak["type"])) and "6.12.63" in str(row.get("group"))]
            print(f"\n{result['kind']}-{result['seed']}: {leak['allocator']}/{leak['type']} {leak['rate']:.1f} MiB/h over {look['base']:.1f} MiB, "
                  f"{look['upgraded']} hosts: "
                  f"{'named' if hits else 'not named'}, {len(look['rows']) - len(hits)} other rows, {look['seconds']} s")
            for row in look["rows"]:
                print(f"  {row['allocator']}/{row['type']} group {row.get('group')} hosts {row.get('hosts')} {row.get('bytes_per_hour')}")
    times = sorted(look["seconds"] for result in results for look in result["looks"])
    if times:
        print(f"\none question: median {statistics.median(times):.2f} s, longest {times[-1]:.2f} s; other statuses: "
              f"{collections.Counter(look['status'] for result in results for look in result['looks'])}")


def reasons(looks):
    found = [wrong for look in looks for wrong in look["wrong"]]
    for title, key in (("why", lambda wrong: " + ".join(wrong["why"])), ("type", lambda wrong: f"{wrong['allocator']}/{wrong['type']}"),
                       ("role", lambda wrong: wrong["role"])):
        if found:
            counts = collections.Counter(key(wrong) for wrong in found)
            print(f"  wrong by {title}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common(12)))


def main():
    arguments = PARSER.parse_args()
    if arguments.report:
        with open(arguments.report, encoding="utf-8") as file:
            report([json.loads(line) for line in file])
        return
    if not arguments.memstatctl:
        PARSER.error("Name the program to test.")
    if arguments.deadline:
        arguments.deadline += time.monotonic()
    tasks = [(arguments, kind, seed) for kind in ("calm", "upgrade", "late", "restart", "early")
             for seed in range(arguments.first, arguments.first + getattr(arguments, kind))]
    directory = arguments.directory or tempfile.mkdtemp(prefix="fleet_draws.")
    with open(os.path.join(directory, "server.log"), "w", encoding="utf-8") as log, subprocess.Popen(
            ["victoria-metrics", f"-storageDataPath={directory}/data", f"-httpListenAddr=127.0.0.1:{arguments.port}", "-retentionPeriod=1y",
             "-search.maxQueryDuration=300s", "-search.maxUniqueTimeseries=3000000"], stdout=log, stderr=log) as server:
        try:
            for _ in range(100):
                try:
                    post(f"http://127.0.0.1:{arguments.port}/health", None)
                    break
                except OSError:
                    time.sleep(0.2)
            results = []
            with open(arguments.out, "a", encoding="utf-8") as out, multiprocessing.Pool(arguments.jobs) as pool:
                for result in pool.imap_unordered(run_draw, tasks):
                    if result:
                        results.append(result)
                        out.write(json.dumps(result) + "\n")
                        out.flush()
                        print(f"{result['kind']}-{result['seed']} {result['samples'] / 1e6:.1f} M samples, {result['made_seconds']} s, asked "
                              f"{[look['seconds'] for look in result['looks']]} s", file=sys.stderr)
            report(results)
        finally:
            server.terminate()
            server.wait()
            if not arguments.keep:
                shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
