#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Limits for real: a guest fills its tables one after the other, and a Prometheus outside of it, which scrapes the guest's memstatd
through QEMU's network once a second, raises the alerts of the shipped rules.

The guest says "limit N begins", fills the table, says "limit N holds" and waits until the alerts are in Prometheus. Rules are computed at a
sixtieth of their interval, and states must last a sixtieth as long: a second here is a minute of theirs. Their expressions, windows
included, do not change.
"""
import contextlib
import dataclasses
import pathlib
import re
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import program  # noqa: E402
import prometheus_server  # noqa: E402
import shipped_rules  # noqa: E402

PORT = 8947
CONFIGURATION = """\
listen: ["0.0.0.0:{port}"]
allow: ["10.0.2.0/24", "127.0.0.0/8"]
poll: {{interval: 1s, timeout: 5s}}
user: "{user}"
"""
PROMETHEUS = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: {rules}
scrape_configs:
  - job_name: memstatd
    static_configs: [{{targets: ["{address}"], labels: {{instance: "guest"}}}}]
"""
NETWORK = "ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0"  # of QEMU's network without privileges
SETTLED = 25   # seconds after which an unexpected alert would have fired: a state of limits lasts 15, computed every 4
PATIENCE = 60  # seconds


@dataclasses.dataclass
class Limit:
    kind: str           # of provoke
    count: int          # the number that it tries to allocate
    series: str         # the value of the page that shows the limit
    least: float        # of that value, at the limit
    alerts: tuple       # that the shipped rules must raise; empty: none, for the reason `note`
    prepare: str = ""   # lines of shell
    user: str = ""      # the user that fills it; empty: root
    note: str = ""
    inside: str = ""    # lines of shell, run by the process that fills it
    undo: str = ":"     # lines of shell, before it ends: a shell that cannot start a program ends
    name: str = ""      # in the table; empty: the kind
    patience: int = 60  # seconds until it is full, if provoke does not end


def used(kind, allocator="table"):
    return f'memstat_type_limit_used_ratio{{allocator="{allocator}",type="{kind}"}}'


NEAR = ("MemstatNearLimit",)
LIMITS = (
    Limit("open", 1400, used("files"), 0.95, NEAR, "echo 1500 >/proc/sys/fs/file-max", "nobody",
          inside="ulimit -n 2000", undo="echo 100000 >/proc/sys/fs/file-max"),
    Limit("pty", 30, used("ptys"), 0.95, NEAR, "echo 0 >/proc/sys/kernel/pty/reserve; echo 20 >/proc/sys/kernel/pty/max"),
    Limit("process", 200, used("threads"), 0.95, NEAR, "echo 200 >/proc/sys/kernel/threads-max", "nobody", undo="echo 5000 >/proc/sys/kernel/threads-max"),
    Limit("small_shm", 30, used("sysv_shm"), 1, NEAR, "echo 20 >/proc/sys/kernel/shmmni"),
    Limit("sem", 30, used("sysv_sem"), 1, NEAR, "echo '32000 1024000000 500 20' >/proc/sys/kernel/sem"),
    Limit("queue", 30, used("sysv_msg"), 1, NEAR, "echo 20 >/proc/sys/kernel/msgmni"),
    Limit("key", 30, 'memstat_table_user_used_ratio{type="keys",kind="count"}', 0.95, ("MemstatUserQuota",),
          "echo 20 >/proc/sys/kernel/keys/maxkeys", "nobody"),
    Limit("aio", 30, used("aio_events"), 0.95, NEAR, "echo 1280 >/proc/sys/fs/aio-max-nr"),
    Limit("send_to_new_address", 150, used("conntrack"), 0.95, ("MemstatNearLimit", "MemstatAllocationFailures"),
          "cd /proc/sys/net/netfilter; echo 3600 >nf_conntrack_udp_timeout; echo 3600 >nf_conntrack_udp_timeout_stream; "
          "echo 50 >nf_conntrack_max; cd /", undo="echo 65536 >/proc/sys/net/netfilter/nf_conntrack_max", name="conntrack"),
    Limit("send_to_new_address", 20000, used("arp_cache"), 0.95, ("MemstatNearLimit", "MemstatSoftLimit", "MemstatAllocationFailures"),
          "insmod /modules/dummy.ko; ip link set dummy0 arp on up; ip addr add 10.9.0.1/16 dev dummy0; "
          "for n in 1 2 3; do echo $((n * 20)) >/proc/sys/net/ipv4/neigh/default/gc_thresh$n; done",
          inside="export PROVOKE_NETWORK=10.9.0.0", name="arp_cache", patience=5),
    Limit("send_to_new_address6", 20000, used("ndisc_cache"), 0.95, ("MemstatNearLimit", "MemstatSoftLimit", "MemstatAllocationFailures"),
          "ip -6 addr add fd00:9::1/64 dev dummy0; sleep 3; "
          "for n in 1 2 3; do echo $((n * 20)) >/proc/sys/net/ipv6/neigh/default/gc_thresh$n; done",
          name="ndisc_cache", patience=5),
    Limit("tcp_unread", 30, used("TCP", "socket"), 0.9, ("MemstatNearLimit", "MemstatSocketPressure"),
          "cat /proc/sys/net/ipv4/tcp_mem >/tmp/tcp_mem; echo '256 512 1024' >/proc/sys/net/ipv4/tcp_mem",
          undo="cat /tmp/tcp_mem >/proc/sys/net/ipv4/tcp_mem", name="tcp_mem"),
    Limit("watch", 40, 'memstat_table_user_limit_objects{type="inotify_watches"}', 20, (),
          "echo 20 >/proc/sys/fs/inotify/max_user_watches", note="no file of the kernel has the number of watches of a user"),
    Limit("process", 60, 'memstat_memcg_tasks{group="/crowd"}', 40, ("MemstatControlGroupTasks",),
          "mkdir /sys/fs/cgroup/crowd; echo 40 >/sys/fs/cgroup/crowd/pids.max", inside="echo $$ >/sys/fs/cgroup/crowd/cgroup.procs",
          name="pids of a control group"),
    Limit("huge", 12, 'memstat_type_objects{allocator="hugetlb",type="2MiB"}', 8, (),
          note="pools of huge pages are meant to be full"),
    Limit("half_random", 160, used("zswap", "zswap"), 0.85, (),
          "insmod /modules/brd.ko rd_nr=1 rd_size=262144; for module in zsmalloc lzo lzo_rle; do insmod /modules/$module.ko; done; "
          "cd /sys/module/zswap/parameters; echo zsmalloc >zpool; echo 1 >max_pool_percent; echo 1 >enabled; cd /; mkswap /dev/ram0; swapon /dev/ram0; mkdir /sys/fs/cgroup/swapped; "
          "echo 32M >/sys/fs/cgroup/swapped/memory.high", inside="echo $$ >/sys/fs/cgroup/swapped/cgroup.procs",
          undo="killall provoke; swapoff /dev/ram0; echo 0 >/sys/module/zswap/parameters/enabled", note="a pool of zswap is meant to be full", name="zswap"),
    # Before the control group: for ten minutes a kill there explains one of the whole machine.
    Limit("memory", 4000, "memstat_oom_kills_total", 1, ("MemstatOutOfMemoryKill",), inside="echo 1000 >/proc/self/oom_score_adj",
          name="memory of the machine"),
    Limit("memory", 48, 'memstat_type_failures_total{allocator="memcg",type="/limited"}', 1, ("MemstatControlGroupOutOfMemory",),
          "mkdir /sys/fs/cgroup/limited; echo 16M >/sys/fs/cgroup/limited/memory.max",
          inside="echo $$ >/sys/fs/cgroup/limited/cgroup.procs", name="memory of a control group"),
)
V1 = (
    Limit("memory", 48, 'memstat_type_failures_total{allocator="memcg",type="/limited"}', 1, ("MemstatControlGroupOutOfMemory",),
          "mkdir /sys/fs/cgroup/memory/limited; echo 16M >/sys/fs/cgroup/memory/limited/memory.limit_in_bytes",
          inside="echo $$ >/sys/fs/cgroup/memory/limited/cgroup.procs", name="memory of a control group of version 1"),
)


def script(limits=LIMITS):
    """Every limit begins, is filled, holds until this machine answers, and ends; nothing is forked while it holds."""
    lines = ["mkdir -p /dev/pts; mount -t devpts devpts /dev/pts; echo 0 >/proc/sys/vm/panic_on_oom", NETWORK, "start_memstatd || return 0"]
    for number, limit in enumerate(limits):
        take = f"exec provoke {limit.kind} {limit.count} 200"  # so many a second: neighbours vanish after seconds
        if limit.user:
            take = f'exec su {limit.user} -s /bin/sh -c "{take}"'
        lines += [limit.prepare or ":", "sleep 2", f"result limit {number} begins", "read -t 100 answer",
                  "rm -f /tmp/said", f"sh -c '{limit.inside or ':'}; {take}' >/tmp/said 2>&1 &",
                  f"for _ in $(seq {limit.patience}); do [ -s /tmp/said ] && break; kill -0 $! 2>/dev/null || break; sleep 1; done",
                  f'read -r said </tmp/said || said=killed; result limit {number} holds "$said"', "read -t 100 answer",
                  f"{{ {limit.undo}; }} 2>/dev/null", "killall provoke 2>/dev/null"]
    return "\n".join(lines) + "\n"


class Watch:
    """The Prometheus outside, and what it saw of each limit."""

    def __init__(self, limits, server, forwarded):
        self.limits = limits
        self.server = server
        self.devices = ("-device", "e1000,netdev=net", "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:{forwarded}-:{PORT}")
        self.begun = {}   # number: (Unix time, alerts that fired already)
        self.rows = {}    # number: text
        self.wrong = []

    def hear(self, line):
        """The answer to a line of the guest, or None. Returns once the line's alerts are in Prometheus."""
        match = re.match(r"RESULT limit (\d+) (begins|holds)\s*(.*)", line)
        if not match:
            return None
        number, limit = int(match[1]), self.limits[int(match[1])]
        if match[2] == "begins":
            self.wait(lambda: self.server.query('up{job="memstatd"} == 1'), PATIENCE)
            time.sleep(2)  # a value from before is there
            self.begun[number] = time.time(), set(self.firing(limit, 2))
        else:
            self.holds(number, limit, match[3].strip())
        return "go\n"

    @staticmethod
    def wait(condition, patience):
        end = time.monotonic() + patience
        while not condition() and time.monotonic() < end:
            time.sleep(0.5)

    def firing(self, limit, seconds):
        """{alert of this type or of none: Unix time at which it began to fire in the last seconds}"""
        on = re.search(r'type="([^"]+)"', limit.series)
        found = {}
        for series in self.server.api("query", query=f'ALERTS{{alertstate="firing"}}[{int(seconds) + 1}s]')["result"]:
            if series["metric"].get("type", on and on[1]) == (on and on[1]):
                at = float(series["values"][0][0])
                found[series["metric"]["alertname"]] = min(at, found.get(series["metric"]["alertname"], at))
        return found

    def holds(self, number, limit, said):
        full = time.time()
        begun, earlier = self.begun[number]

        def values():
            found = self.server.api("query", query=f"{limit.series}[{int(time.time() - begun) + 3}s]")["result"]
            return [(float(at), float(value)) for at, value in found[0]["values"]] if found else []

        def fired():
            return {alert: at for alert, at in self.firing(limit, time.time() - begun).items() if alert not in earlier}

        def reached():
            return next((at for at, value in values() if at >= begun and value >= limit.least), None)

        self.wait(lambda: reached() and set(limit.alerts) <= set(fired()), PATIENCE)
        if not limit.alerts:
            time.sleep(SETTLED)
        name, seen, shown = limit.name or limit.kind, values(), reached()
        before = [value for at, value in seen if at < begun]
        texts = [f"{value:.4g}" for value in (*before[-1:], *[value for _, value in seen[-1:]])]
        alerts = ", ".join(f"{alert.removeprefix('Memstat')} {max(0, at - full):.0f}" for alert, at in sorted(fired().items(), key=lambda one: one[1]))
        when = "never" if shown is None else f"{max(0, shown - full):.0f} s"
        self.rows[number] = f"| {name} | {said} | `{limit.series}`: {', then '.join(texts) or 'none'} | {when} | {alerts or limit.note or 'none'} |"
        if shown is None:
            self.wrong.append(f"{name}: {limit.series} is {', then '.join(texts) or 'not there'}, wanted {limit.least}")
        self.wrong += [f"{name}: {alert} is not raised" for alert in limit.alerts if alert not in fired()]
        if not limit.alerts and alerts:
            self.wrong.append(f"{name}: {alerts}, where none should be")


@contextlib.contextmanager
def outside(limits=LIMITS):
    """A Watch for the time of one guest."""
    with tempfile.TemporaryDirectory(prefix="memstat-limits-") as directory:
        address = f"127.0.0.1:{program.free_port()}"
        config = PROMETHEUS.format(rules=shipped_rules.write(directory), address=address)
        with prometheus_server.Prometheus(directory, None, config=config) as server:
            yield Watch(limits, server, address)


def outside_v1():
    return outside(V1)


def missing():
    return "" if shutil.which("prometheus") else "prometheus is not installed (Debian's prometheus)"


def check(outcome):
    """Returns the errors, and prints the table of tests/README.md."""
    watch = outcome.watch
    for _, row in sorted(watch.rows.items()):
        print(f"  {row}")
    return watch.wrong + [f"{limit.name or limit.kind}: it was not filled" for number, limit in enumerate(watch.limits) if number not in watch.rows]
