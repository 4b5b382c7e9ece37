# SPDX-License-Identifier: BSD-2-Clause
"""Hosts that have every problem for which there is an alert, at once: the page of a memstatd there, and what Prometheus would have stored
in the days before, so that a real server has a history."""
import subprocess
import time

import captures
import program
import prometheus_server

MIB, GIB = 1 << 20, 1 << 30
MINUTE, HOUR, DAY = 60, 3600, 86400
TOTAL = 16 * GIB
HOSTS = ("one", "two")
# Counters grow by far more than an alert needs, because a server with half a minute of samples sees no
# growth in the rest of its windows.

# Alerts of a host, each once for each of HOSTS; the other alerts are about a job, or about hosts that do not answer.
OF_OTHERS = {"MemstatWatchdog", "MemstatJobAbsent", "MemstatManyHostsDown", "MemstatServerClockWrong", "MemstatDaemonMissing", "MemstatDaemonUnsteady", "MemstatHostVanished", "MemstatPollStuck"}


def a_minute(rate):
    """A counter that grows by this much a minute."""
    return lambda now: rate * (now % (100 * DAY)) / MINUTE


def grows(start, a_day, began=9):
    """A figure that has grown by this much a day for this many days."""
    return lambda now, origin=time.time(): start + max(0, (now - origin) / DAY + began) * a_day


FAST = grows(GIB, 48 * GIB, 1 / 24)
STEADY = grows(400 * MIB, 200 * MIB)
HELD = grows(8 * GIB, 9.6 * GIB, 5 / 24)
UNACCOUNTED = grows(GIB, 24 * GIB, 1 / 12)
LEFT = grows(400 * MIB, -2400 * MIB, 3 / 24)  # of a control group's limit
SOON = grows(0.55, 0.05 * 24, 8 / 24)  # of a limit


def group(allocator, kind):
    return f'allocator="{allocator}",type="{kind}"'


# {metric: [(labels, value or function of the time)]} of each host.
PAGE = {
    "memstat_memory_total_bytes": [("", TOTAL)],
    "memstat_memory_available_bytes": [("", 0.03 * TOTAL)],
    "memstat_accounted_bytes": [('part="slab_unreclaimable"', HELD), ('part="hardware_corrupted"', 4096)],
    "memstat_unaccounted_bytes": [("", UNACCOUNTED)],
    "memstat_type_bytes": [(group("slab", "fast"), FAST), (group("slab", "steady"), STEADY), (group("memcg", "/web"), GIB)],
    "memstat_pressure_stall_seconds_total": [('kind="full"', a_minute(600)), ('kind="some"', a_minute(900))],
    "memstat_allocation_stalls_total": [('zone="Normal"', a_minute(60000))],
    "memstat_compaction_stalls_total": [("", a_minute(120000))],
    "memstat_compaction_failures_total": [("", a_minute(600))],
    "memstat_page_events_total": [('kind="daemon_shortfall"', a_minute(60))],
    "memstat_oom_kills_total": [("", a_minute(60))],
    "memstat_type_failures_total": [(group("memcg", "/web"), a_minute(2)), (group("slab", "failing"), a_minute(6000)), (group("table", "hit"), a_minute(60))],
    "memstat_type_sleeps_total": [(group("uma", "waiting"), a_minute(6000))],
    "memstat_type_limit_hits_total": [(group("table", "hit"), a_minute(60)), (group("memcg", "/web"), a_minute(600000))],
    "memstat_type_limit_used_ratio": [(group("table", "hit"), 1), (group("table", "files"), 0.94), (group("table", "soon"), SOON), (group("slab", "configured"), 1.2)],
    "memstat_type_limit_configured": [(group("slab", "configured"), 1)],
    "memstat_type_limit_bytes": [(group("memcg", "/web"), GIB)],
    "memstat_type_free_objects": [(group("page", "node 0 Normal"), 10)],
    "memstat_type_object_footprint_bytes": [(group("page", "node 0 Normal"), 4096)],
    "memstat_type_objects": [(group("table", "arp_cache"), 600)],
    "memstat_table_soft_limit_objects": [('type="arp_cache"', 512)],
    "memstat_table_user_used_ratio": [('type="keys",kind="bytes"', 0.95)],
    "memstat_zone_watermark_bytes": [('node="0",zone="Normal",watermark="min"', MIB)],
    "memstat_socket_memory_pressure": [('type="TCP"', 1)],
    "memstat_negative_dentries": [("", 20e6)],
    "memstat_memcg_kernel_bytes": [('group="/web"', grows(600 * MIB, 4800 * MIB, 1 / 8)), ('group="/slow"', grows(100 * MIB, 120 * MIB))],
    "memstat_memcg_anonymous_bytes": [('group="/web"', MIB), ('group="/slow"', MIB)],
    "memstat_memcg_pressure_stall_seconds_total": [('group="/web",kind="full"', a_minute(600))],
    "memstat_memcg_events_total": [('group="/web",event="high"', a_minute(6000))],
    "memstat_memcg_headroom_bytes": [('group="/web",until="max"', LEFT)],
    "memstat_refaulted_pages_total": [('kind="file"', a_minute(1e7))],
    "memstat_memcg_tasks": [('group="/web"', 99)],
    "memstat_memcg_tasks_limit": [('group="/web"', 100)],
    "memstat_checker_bugs_total": [('checker="kfence"', 1)],
    "memstat_kernel_reports_total": [('kind="oops"', 1)],
    "memstat_kernel_tainted": [('kind="bad_page"', 1), ('kind="machine_check"', 1)],
    "memstat_kernel_info": [('os="linux",release="6.12"', 1)],
    "memstat_poll_timestamp_seconds": [("", lambda now: now - 3700)],  # an hour of it is an error of the clock
    "memstat_poll_age_seconds": [("", 100)],
    "memstat_poll_interval_seconds": [("", 10)],
    "memstat_source_up": [('source="linux_vmalloc"', 0)],
    "memstat_source_errors_total": [('source="linux_vmalloc",reason="timeout"', a_minute(6))],
    "memstat_events_counted_ratio": [('source="linux_vm_events"', 0)],
    "memstat_finding": [('cause="open_files_full",object="table/files"', 4), ('cause="inotify_full",object="user 1000"', 3), ('cause="slab_leak",object="slab/steady"', 1)],
    "memstat_series": [("", 900)],
    "memstat_series_dropped": [("", 5)],
    "memstat_config_last_reload_successful": [("", 0)],
    "memstat_boot_timestamp_seconds": [("", lambda now: now // 600 * 600)],
    "process_start_time_seconds": [("", lambda now: 1000 + now // MINUTE % 2)],
    "prometheus_rule_evaluation_failures_total": [('rule_group="/etc/prometheus/other.yml;memstat-host"', a_minute(1))],
}
PAGE["memstat_type_limit_bytes"].append((group("memcg", "/slow"), 4 * GIB))
SPAN = {"30m": 1800, "6h": 6 * HOUR, "1d": DAY}


def figure(value, now):
    return value(now) if callable(value) else value


def page(now, is_stuck):
    """The page of HOSTS, or of one whose memstatd has not polled for a while, which shows nothing else."""
    if is_stuck:
        return f"memstat_poll_timestamp_seconds {now - 400}\nmemstat_poll_age_seconds 400\nmemstat_poll_interval_seconds 10\n"
    return "".join(f"{name}{{{labels}}} {figure(value, now):.10g}\n" for name, entries in PAGE.items() for labels, value in entries)


def line(name, labels, value, now):
    return f"{name}{{{','.join(part for part in labels if part)}}} {value:.10g} {now}\n"


def recorded(end):
    """What rules recorded of each host, without duplicates."""
    types = "instance_allocator_type:memstat_type_bytes"
    medians = [(f"{types}:median30m", group("slab", "fast"), FAST), (f"{types}:median30m", group("slab", "steady"), STEADY),
               ("instance:memstat_unaccounted_bytes:median30m", "", UNACCOUNTED), ("instance:memstat_kernel_held_bytes:median30m", "", HELD)]
    entries = [(name, labels, value, 9 * DAY, 600) for name, labels, value in medians]
    entries += [(name.replace("median30m", "growth" + span), labels, lambda now, value=value, back=back: value(now) - value(now - back), 3 * DAY, 600)
                for name, labels, value in medians[:3] for span, back in SPAN.items()]
    entries += [(f"{types}:large", group("slab", "fast"), FAST, 2400, 600), (f"{types}:large", group("slab", "steady"), STEADY, 2400, 600),
                ("instance:memstat_type_bytes:count", "", 2, 9 * DAY, 600), ("instance:memstat_kernel_held_bytes:sum", "", HELD, 2400, 240),
                ("instance_allocator_type:memstat_type_limit_used:followed", group("table", "soon"), SOON, 7 * HOUR, 60),
                ("instance_group:memstat_memcg_headroom:followed", 'group="/web"', LEFT, 2 * HOUR, 600)]
    for host in HOSTS:
        for name, labels, value, back, step in entries:
            for now in range(end - back, end, step):
                yield line(name, ['job="memstatd"', f'instance="{host}"', labels], figure(value, now), now)
    for now in range(end - HOUR, end, 600):
        yield line("instance:memstat_series:sum", ['job="memstatd"', 'instance="vanished"'], 900, now)
        yield line("instance:memstat_series:sum", ['job="memstatd-lost"', 'instance="lost"'], 900, now)


def scraped(end, label_sets):
    """Series scraped from each host under each of these sets of labels, for rules that look back further than a test lasts."""
    spans = {"memstat_poll_timestamp_seconds": 7 * HOUR, "memstat_memcg_kernel_bytes": 25 * HOUR, "memstat_memcg_anonymous_bytes": 25 * HOUR,
             "memstat_boot_timestamp_seconds": HOUR, "process_start_time_seconds": 1800}
    for name, back in spans.items():
        for host in HOSTS:
            for own in label_sets:
                for labels, value in PAGE[name]:
                    for now in range(end - back, end, MINUTE if back <= HOUR else 240):
                        yield line(name, ['job="memstatd"', f'instance="{host}"', own, labels], figure(value, now), now)


def write_history(directory, label_sets):
    """Blocks of a Prometheus that will keep its data in directory/data. `label_sets`: each in the form name="value"."""
    end = int(time.time())
    captures.write_file(f"{directory}/history", "".join(recorded(end)) + "".join(scraped(end, label_sets)) + "# EOF\n")
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "--max-block-duration=336h", "--quiet", "openmetrics", f"{directory}/history", f"{directory}/data"],
                   check=True, stdout=subprocess.DEVNULL, timeout=program.PATIENCE)


def served():
    """The server of the page."""
    return prometheus_server.Served(lambda request: prometheus_server.send(request, page(time.time(), request.path.startswith("/stuck")).encode()))
