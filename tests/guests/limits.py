#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Limits for real: a guest fills each of its tables to the limit, and the shipped rules are asked which alerts its page raises.

The guest's page before and at the limit is what Prometheus would have scraped for half an hour and the next half an hour; promtool
computes the shipped rules over them. Rates are those of one step from the one page to the other.
"""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "dashboards/prometheus"
ORDER = ("[memstat-host, memstat-slow, memstat-fleet, memstat-memory, memstat-integrity, memstat-limits, memstat-tables, "
         "memstat-daemon, memstat-growth, memstat-groups]")


@dataclasses.dataclass
class Limit:
    kind: str           # of fill.c
    count: int          # how many it tries to take
    series: str         # the value of the page that the limit shows in
    least: float        # of that value, at the limit
    alerts: tuple       # that the shipped rules must raise; empty: none, for the reason `note`
    prepare: str = ""   # lines of shell
    user: str = ""      # who fills it; empty: root
    note: str = ""
    kept: bool = False  # no new connection comes through at the limit, so the page comes on one that was kept, as Prometheus does


def used(kind, allocator="table"):
    return f'memstat_type_limit_used_ratio{{allocator="{allocator}",type="{kind}"}}'


NEAR = ("MemstatNearLimit",)
LIMITS = (
    Limit("files", 900, used("files"), 0.95, NEAR, "echo 1500 >/proc/sys/fs/file-max", "nobody"),
    Limit("ptys", 30, used("ptys"), 0.95, NEAR, "echo 0 >/proc/sys/kernel/pty/reserve; echo 20 >/proc/sys/kernel/pty/max"),
    Limit("threads", 200, used("threads"), 0.95, NEAR, "echo 200 >/proc/sys/kernel/threads-max", "nobody"),
    Limit("sysv_shm", 30, used("sysv_shm"), 1, NEAR, "echo 20 >/proc/sys/kernel/shmmni"),
    Limit("sysv_sem", 30, used("sysv_sem"), 1, NEAR, "echo '32000 1024000000 500 20' >/proc/sys/kernel/sem"),
    Limit("sysv_msg", 30, used("sysv_msg"), 1, NEAR, "echo 20 >/proc/sys/kernel/msgmni"),
    Limit("keys", 30, 'memstat_table_user_used_ratio{type="keys",kind="count"}', 0.95, ("MemstatUserQuota",),
          "echo 20 >/proc/sys/kernel/keys/maxkeys", "nobody"),
    Limit("aio_events", 30, used("aio_events"), 0.95, NEAR, "echo 20 >/proc/sys/fs/aio-max-nr"),
    Limit("conntrack", 150, used("conntrack"), 0.95, ("MemstatNearLimit", "MemstatAllocationFailures"),
          "cd /proc/sys/net/netfilter; echo 3600 >nf_conntrack_udp_timeout; echo 3600 >nf_conntrack_udp_timeout_stream; "
          "echo 50 >nf_conntrack_max; cd /", kept=True),
    Limit("arp_cache", 200, used("arp_cache"), 0.95, ("MemstatNearLimit", "MemstatSoftLimit", "MemstatAllocationFailures"),
          "echo 65536 >/proc/sys/net/netfilter/nf_conntrack_max; insmod /modules/dummy.ko; ip link set dummy0 arp on up; ip addr add 10.9.0.1/16 dev dummy0; "
          "for n in 1 2 3; do echo $((n * 20)) >/proc/sys/net/ipv4/neigh/default/gc_thresh$n; done"),
    Limit("hugetlb", 12, 'memstat_type_objects{allocator="hugetlb",type="2MiB"}', 8, (), "echo 8 >/proc/sys/vm/nr_hugepages",
          note="pools of huge pages are meant to be full"),
    Limit("memory", 48, 'memstat_type_failures_total{allocator="memcg",type="/limited"}', 1, ("MemstatControlGroupOutOfMemory",),
          "mkdir /sys/fs/cgroup/limited; echo 16M >/sys/fs/cgroup/limited/memory.max; echo $$ >/sys/fs/cgroup/limited/cgroup.procs"),
)
KILL = Limit("memory", 4000, "memstat_oom_kills_total", 1, ("MemstatOutOfMemoryKill",), "echo 1000 >/proc/self/oom_score_adj")
V1 = (
    Limit("memory", 48, 'memstat_type_failures_total{allocator="memcg",type="/limited"}', 1, ("MemstatControlGroupOutOfMemory",),
          "cd /sys/fs/cgroup/memory; mkdir limited; echo 16M >limited/memory.limit_in_bytes; echo $$ >limited/cgroup.procs"),
)


def script(limits=(*LIMITS, KILL)):
    lines = ["mkdir -p /dev/pts /out/limits; mount -t devpts devpts /dev/pts", "start_memstatd || return 0"]
    for number, limit in enumerate(limits):
        fill = f"fill {limit.kind} {limit.count}"
        if limit.user:
            fill = f'su {limit.user} -s /bin/sh -c "exec {fill}"'
        name = f"/out/limits/{number}"
        lines += [f"{limit.prepare}" if "$$" not in limit.prepare and "self" not in limit.prepare else ":", "sleep 3", f"page {name}.before",
                  "keep_connection" if limit.kept else ":",
                  f"sh -c '{limit.prepare}; exec {fill}' >{name}.said 2>&1 &" if "$$" in limit.prepare or "self" in limit.prepare
                  else f"{fill} >{name}.said 2>&1 &",
                  f"for _ in $(seq 60); do [ -s {name}.said ] && break; kill -0 $! 2>/dev/null || break; sleep 1; done", "sleep 3",
                  f"{'kept_page' if limit.kept else 'page'} {name}.at || result wrong {limit.kind}: no page at the limit", "killall fill 2>/dev/null", "sleep 1"]
    return "\n".join(lines) + "\n"


def samples(text):
    """{series: number as it stands there}"""
    return dict(re.fullmatch(r"(\S+?(?:\{.*\})?) (\S+)", line).groups() for line in text.splitlines() if line and line[0] != "#")


def labelled(series):
    own = 'job="memstatd",instance="guest"'
    return series.replace("{", "{" + own + ",", 1) if "{" in series else f"{series}{{{own}}}"


LEFT_OUT = re.compile(r'memstat_(node|cpu|buddy|unusable|fragmentation|source_read)|allocator="(slab|vmalloc|process|call_site)"|_bucket')


def input_series(name, values):
    """A series of promtool: [(number as it stands there, minutes)]."""
    return f"      - {{series: '{labelled(name)}', values: '{' '.join(f'{value}x{minutes - 1}' for value, minutes in values)}'}}"


def alerts_of(series, kind, minutes):
    """Names of the alerts that the shipped rules have raised until then, for that type or for none."""
    with tempfile.TemporaryDirectory(prefix="memstat-rules-") as directory:
        for name in ("alerts.yml", "recording_rules.yml"):
            shutil.copy(RULES / name, directory)
        test = (f"rule_files: [recording_rules.yml, alerts.yml]\nevaluation_interval: 1m\ngroup_eval_order: {ORDER}\ntests:\n"
                "  - interval: 1m\n    input_series:\n" + "\n".join(series) + "\n    promql_expr_test:\n"
                f"      - expr: 'group by (alertname, type) (max_over_time(ALERTS{{alertstate=\"firing\"}}[{max(minutes - 30, 1)}m]))'\n        eval_time: {minutes}m\n"
                "        exp_samples: [{labels: '{alertname=\"None\"}', value: 1}]\n")
        (pathlib.Path(directory) / "test.yml").write_text(test, encoding="utf-8")
        done = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=directory, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if "got:" not in said:
        raise RuntimeError(f"promtool: {said[-500:]}")
    labels = re.findall(r'alertname="(\w+)"(?:, type="([^"]+)")?', said.partition("got:")[2])
    return sorted({alert for alert, on in labels if alert != "None" and on in ("", kind)})


def fired(before, after, kind):
    """The same within half an hour after the second page."""
    return alerts_of([input_series(name, [(before.get(name, "_"), 31), (value, 41)]) for name, value in after.items()
                      if not LEFT_OUT.search(name) and "'" not in name], kind, 65)


def check_v1(outcome):
    return check(outcome, V1)


def check(outcome, limits=(*LIMITS, KILL)):
    """What is wrong, and the table of tests/README.md on standard output."""
    if not shutil.which("promtool"):
        return ["promtool is not installed (Debian's prometheus)"]
    wrong = []
    for number, limit in enumerate(limits):
        pages = [outcome.files.get(f"limits/{number}.{when}", b"").decode() for when in ("before", "at")]
        said = outcome.files.get(f"limits/{number}.said", b"").decode().strip().splitlines()[-1:] or ["killed"]
        if not all(pages):
            wrong.append(f"{limit.kind}: no page")
            continue
        before, after = map(samples, pages)
        # A group that was made just now is first seen at the limit, as it would be by Prometheus.
        value = float(after.get(limit.series, "nan"))
        on = re.search(r'type="([^"]+)"', limit.series)
        alerts = fired(before, after, on[1] if on else "")
        print(f"  | {limit.kind} | {said[0]} | `{limit.series}`: {before.get(limit.series, 'none')}, then {after.get(limit.series, 'none')} | "
              f"{', '.join(alerts) or limit.note or 'none'} |")
        if not value - float(before.get(limit.series, 0)) > 0 or not value >= limit.least:
            wrong.append(f"{limit.kind}: {limit.series} was {before.get(limit.series)} and then {value}, wanted {limit.least}")
        wrong += [f"{limit.kind}: {alert} is not raised" for alert in limit.alerts if alert not in alerts]
    return wrong
