#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How long each shipped alert takes from the moment at which something goes wrong until it fires, in a real Prometheus at the shipped intervals:
reaction_bench.py [SEED...]. Needs the packages prometheus and python3-yaml, and some minutes.

tests/support/rule_clock.py computes the groups at offsets that are chosen for the worst: of two groups that read each other, the reader comes just
before the other, and trouble begins just after a scrape. Each SEED is a run at random offsets beside it. Prints a table for dashboards/README.md
with the longest time of all runs. promtool's tests, which compute all at once each minute, do not show this."""
import collections
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import rule_clock  # noqa: E402

MIB, GIB, MINUTE, HOUR, DAY = 1 << 20, 1 << 30, 60, 3600, 86400
TOTAL = 16 * GIB
BEGIN = 1_800_000_000 // DAY * DAY
# Groups, readers before those that they read; scrapes last.
ORDER = ("memstat-watch", "memstat-weeks", "memstat-groups", "memstat-growth", "memstat-daemon", "memstat-tables", "memstat-soon", "memstat-limits", "memstat-integrity",
         "memstat-findings", "memstat-fleet", "memstat-slow", "memstat-kernel", "memstat-host", "")


def a_minute(rate):
    return lambda passed: rate * passed / MINUTE


def a_day(grown):
    return lambda passed: grown * passed / DAY


def kind(allocator, name):
    return f'allocator="{allocator}",type="{name}"'


# (host, metric, labels, value before, and what is added `passed` seconds after trouble began). Of several hosts, because one problem hides
# another's cause. Constant counters exist before, as on a page.
QUICK = [
    ("a", "memstat_memory_available_bytes", "", 0.5 * TOTAL, lambda _: -0.47 * TOTAL),
    ("a", "memstat_pressure_stall_seconds_total", 'kind="full"', 0, a_minute(54)),
    ("a", "memstat_pressure_stall_seconds_total", 'kind="some"', 0, a_minute(57)),
    ("a", "memstat_allocation_stalls_total", 'zone="Normal"', 0, a_minute(6000)),
    ("a", "memstat_compaction_stalls_total", "", 0, a_minute(12000)),
    ("a", "memstat_compaction_failures_total", "", 0, a_minute(600)),
    ("a", "memstat_page_events_total", 'kind="daemon_shortfall"', 0, a_minute(60)),
    ("a", "memstat_oom_kills_total", "", 7, lambda _: 1),
    ("a", "memstat_type_free_objects", kind("page", "node 0 Normal"), 9000, lambda _: -8990),
    ("a", "memstat_type_object_footprint_bytes", kind("page", "node 0 Normal"), 4096, None),
    ("a", "memstat_zone_watermark_bytes", 'node="0",zone="Normal",watermark="min"', MIB, None),
    ("a", "memstat_negative_dentries", "", 0, lambda _: 2e7),
    ("a", "memstat_checker_bugs_total", 'checker="kfence"', 0, lambda _: 1),
    ("a", "memstat_kernel_reports_total", 'kind="oops"', 0, lambda _: 1),
    ("a", "memstat_kernel_tainted", 'kind="bad_page"', 0, lambda _: 1),
    ("a", "memstat_kernel_tainted", 'kind="machine_check"', 0, lambda _: 1),
    ("a", "memstat_accounted_bytes", 'part="hardware_corrupted"', 0, lambda _: 4096),
    ("b", "memstat_memory_available_bytes", "", 0.2 * TOTAL, a_day(-48 * GIB)),  # at the kernel's growth per hour it is then gone in 1.6 hours
    ("b", "memstat_accounted_bytes", 'part="slab_unreclaimable"', 0.3 * TOTAL, a_day(48 * GIB)),
    ("c", "memstat_memory_available_bytes", "", 0.3 * TOTAL, None),
    ("c", "memstat_accounted_bytes", 'part="slab_unreclaimable"', 0.1 * TOTAL, a_day(6 * GIB)),
    ("d", "memstat_memory_available_bytes", "", 0.2 * TOTAL, None),
    ("d", "memstat_accounted_bytes", 'part="slab_unreclaimable"', 0.3 * TOTAL, lambda _: 0.15 * TOTAL),
    ("c", "memstat_type_bytes", kind("slab", "fast"), GIB, a_day(48 * GIB)),
    ("c", "memstat_unaccounted_bytes", "", GIB, a_day(48 * GIB)),
    ("a", "memstat_type_failures_total", kind("slab", "failing"), 0, a_minute(60)),
    ("b", "memstat_type_failures_total", kind("memcg", "/oom"), 0, lambda _: 1),
    ("a", "memstat_type_sleeps_total", kind("uma", "waiting"), 0, a_minute(60)),
    ("a", "memstat_type_limit_hits_total", kind("memcg", "/held"), 0, a_minute(6000)),
    ("a", "memstat_type_limit_used_ratio", kind("table", "full"), 0.5, lambda _: 0.5),
    ("a", "memstat_type_limit_used_ratio", kind("table", "near"), 0.5, lambda _: 0.41),
    ("a", "memstat_type_limit_used_ratio", kind("table", "files"), 0.5, lambda _: 0.44),
    ("a", "memstat_type_limit_used_ratio", kind("table", "soon"), 0.52, a_day(0.12 * 24)),
    ("a", "memstat_type_limit_used_ratio", kind("table", "later"), 0.52, a_day(0.025 * 24)),
    ("a", "memstat_type_limit_used_ratio", kind("slab", "configured"), 0.5, lambda _: 0.7),
    ("a", "memstat_type_limit_configured", kind("slab", "configured"), 1, None),
    ("a", "memstat_type_objects", kind("table", "arp_cache"), 9, lambda _: 600),
    ("a", "memstat_table_soft_limit_objects", 'type="arp_cache"', 512, None),
    ("a", "memstat_table_user_used_ratio", 'type="keys",kind="bytes"', 0.1, lambda _: 0.85),
    ("a", "memstat_socket_memory_pressure", 'type="TCP"', 0, lambda _: 1),
    ("a", "memstat_memcg_kernel_bytes", 'group="/held"', 100 * MIB, lambda _: 600 * MIB),
    ("a", "memstat_type_limit_bytes", kind("memcg", "/held"), GIB, None),
    ("a", "memstat_memcg_kernel_bytes", 'group="/grows"', 100 * MIB, a_day(2.4 * GIB)),
    ("a", "memstat_memcg_anonymous_bytes", 'group="/grows"', 100 * MIB, None),
    ("a", "memstat_type_limit_bytes", kind("memcg", "/grows"), GIB, None),
    ("a", "memstat_memcg_headroom_bytes", 'group="/grows",until="max"', 400 * MIB, a_day(-2.4 * GIB)),
    ("b", "memstat_refaulted_pages_total", 'kind="file"', 0, a_minute(1e6)),
    ("a", "memstat_memcg_pressure_stall_seconds_total", 'group="/held",kind="full"', 0, a_minute(30)),
    ("a", "memstat_memcg_events_total", 'group="/held",event="high"', 0, a_minute(600)),
    ("a", "memstat_memcg_tasks", 'group="/held"', 10, lambda _: 89),
    ("a", "memstat_memcg_tasks_limit", 'group="/held"', 100, None),
    ("a", "memstat_memcg_groups_left_out", "", 0, lambda _: 3),
    ("a", "memstat_source_up", 'source="linux_vmalloc"', 1, lambda _: -1),
    ("a", "memstat_source_errors_total", 'source="linux_vmalloc",reason="timeout"', 0, a_minute(6)),
    ("a", "memstat_events_counted_ratio", 'source="linux_vm_events"', 1, lambda _: -1),
    ("a", "memstat_series_dropped", "", 0, lambda _: 5),
    ("a", "memstat_finding", 'cause="open_files_full",object="table/files"', 0, lambda _: 4),
    ("a", "memstat_finding", 'cause="cgroup_full",object="/app"', 0, lambda _: 3),
    ("a", "memstat_finding", 'cause="slab_leak",object="slab/fast"', 0, lambda _: 1),
    ("flaps", "up", "", 1, lambda passed: -(passed // MINUTE % 5 >= 2)),
    ("a", "memstat_config_last_reload_successful", "", 1, lambda _: -1),
    ("a", "memstat_boot_timestamp_seconds", "", BEGIN - DAY, lambda passed: DAY + HOUR + passed // 600 * 600),
    ("b", "process_start_time_seconds", "", BEGIN - DAY, lambda passed: -(passed // MINUTE % 2)),
    ("a", "prometheus_rule_evaluation_failures_total", 'rule_group="x;memstat-tables"', 0, a_minute(1)),
]
DAYS = [  # used by few groups, over days
    ("a", "memstat_type_bytes", kind("slab", "week"), 400 * MIB, a_day(26 * MIB)),
    ("b", "memstat_type_bytes", kind("slab", "days"), 400 * MIB, a_day(120 * MIB)),
    ("c", "memstat_type_bytes", kind("slab", "day"), 400 * MIB, a_day(400 * MIB)),
    ("a", "memstat_memcg_kernel_bytes", 'group="/slow"', 100 * MIB, a_day(30 * MIB)),
    ("a", "memstat_memcg_anonymous_bytes", 'group="/slow"', 100 * MIB, None),
    ("a", "memstat_type_limit_bytes", kind("memcg", "/slow"), GIB, None),
]
PLAIN = {"memstat_memory_total_bytes": TOTAL, "memstat_memory_available_bytes": 0.5 * TOTAL, "memstat_unaccounted_bytes": GIB, "memstat_series": 900,
         "memstat_poll_interval_seconds": 10, "up": 1}
STUCK, WRONG_CLOCK, GONE, DOWN = "stuck", "clock", "gone", ("down1", "down2", "down3")


def series(host, name, labels=""):
    own = dict(part.replace('"', "").split("=") for part in labels.split(",") if part)
    job = "memstatd-lost" if host == "lost" else "memstatd"
    return tuple(sorted({**own, "__name__": name, "job": own.get("job", job), "instance": host}.items()))


def scraper(entries, trouble):
    made = [(series(host, name, labels), before, added) for host, name, labels, before, added in entries]
    named = {entry[0] for entry in made}
    hosts = ["a", "b", "c", "d", "flaps", STUCK, WRONG_CLOCK, GONE, "lost", *DOWN]

    def scrape(now):
        passed = max(0, now - trouble)
        is_wrong = now >= trouble
        found = {labels: before + (added(passed) if added and is_wrong else 0) for labels, before, added in made}
        for host in hosts:
            if is_wrong and host in (GONE, "lost"):
                continue
            if is_wrong and host in DOWN:
                found[series(host, "up")] = 0
                continue
            found.update({series(host, name): value for name, value in PLAIN.items() if series(host, name) not in named})
            late = passed if host == STUCK else 5
            found[series(host, "memstat_poll_timestamp_seconds")] = now - late - (HOUR if is_wrong and host == WRONG_CLOCK else 0)
            found[series(host, "memstat_poll_age_seconds")] = late
        for number in range(3):  # a job whose hosts agree with each other
            found[series(f"clock{number}", "memstat_poll_timestamp_seconds", 'job="memstatd-clock"')] = now - 5 - (HOUR if is_wrong else 0)
            found[series(f"clock{number}", "memstat_poll_age_seconds", 'job="memstatd-clock"')] = 5
        return found
    return scrape


def worst_offsets(groups):
    """Readers just before the groups that they read, in the last seconds before trouble begins."""
    return {name: -3 * (len(ORDER) - index) for index, name in enumerate(ORDER)} | {group["name"]: 0 for group in groups if group["name"] not in ORDER}


def reactions(groups, entries, offsets, warm, span):
    """{alert: seconds from trouble until it first fired}."""
    trouble = BEGIN + warm
    with tempfile.TemporaryDirectory(prefix="memstat-reaction-") as directory:
        clock = rule_clock.RuleClock(directory, groups, scraper(entries, trouble), offsets)
        try:
            clock.run(BEGIN, trouble + span)
        finally:
            clock.stop()
    found = {}
    for identity, times in clock.fired.items():
        name = dict(identity)["alertname"]
        found[name] = min([found.get(name, 1e9), *(time - trouble for time in times if time >= trouble)])
    return {name: time for name, time in found.items() if time < 1e9 or name == "MemstatWatchdog"}


def parts(groups, names):
    """Only the rules of these names."""
    kept = [{**group, "rules": [rule for rule in group["rules"] if (rule.get("alert") or rule["record"]) in names]} for group in groups]
    return [group for group in kept if group["rules"]]


def main():
    groups = rule_clock.shipped_groups()
    slow = {rule["record"] for group in groups for rule in group["rules"] if "record" in rule and "memstat_type_bytes" in rule["record"] and "job" not in rule["record"]}
    slow |= {"instance:memstat_memory_total_bytes:max", "instance:memstat_available:ratio", "MemstatLeakSuspected", "MemstatLeakSlow", "MemstatControlGroupKernelSlowGrowth"}
    longest = collections.defaultdict(float)
    for seed in [None, *map(int, sys.argv[1:])]:
        generator = random.Random(seed)
        offsets = worst_offsets(groups) if seed is None else {name: generator.randrange(600) for name in ORDER}
        runs = [reactions(groups, QUICK, offsets, HOUR, 9 * HOUR)]
        few = [{**group, "interval": {"memstat-host": "4m", "memstat-weeks": group["interval"]}.get(group["name"], "10m")} for group in parts(groups, slow)]
        runs.append({name: time for name, time in reactions(few, DAYS, offsets, HOUR, 8 * DAY + 6 * HOUR).items() if name in slow})
        for run in runs:
            for name, time in run.items():
                longest[name] = max(longest[name], time)
        print(f"seed {seed}: {len(runs[0])} + {len(runs[1])} alerts fired", file=sys.stderr, flush=True)
    print("| alert | severity | `for` | every | fires at most after |\n|---|---|---|---|---|")
    missing = []
    for group in groups:
        for rule in group["rules"]:
            if "alert" in rule:
                time = longest.get(rule["alert"])
                if time is None:
                    missing.append(rule["alert"])
                    continue
                minutes = -(-time // MINUTE)
                delay = "always" if rule["alert"] == "MemstatWatchdog" else f"{minutes:.0f} min" if minutes < 180 else f"{time / HOUR:.1f} h" if time < 3 * DAY else f"{time / DAY:.1f} d"
                print(f"| {rule['alert']} | {rule['labels']['severity']} | {rule['for']} | {group['interval']} | {delay} |")
    print("\n".join(f"did not fire: {name}" for name in missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
