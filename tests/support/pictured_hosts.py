# SPDX-License-Identifier: BSD-2-Clause
"""Hosts with a day of history, for pictures of the dashboards. The captures have a few polls, hours apart: memstatd shows the page of each,
and what lies between two pages is drawn straight. Prometheus gets it as blocks, and its own range queries make the recorded series of it."""
import datetime
import os
import re
import subprocess
import time

import captures
import dying_capture
import edited_capture
import program
import prometheus_server
import yaml

MINUTE, HOUR = 60, 3600
AHEAD = 40 * MINUTE  # the history continues for a while, so that rules which are computed now find it
# The times of the polls of a capture, in hours before now.
HOURS = (30, 6, 3, 1, 0)
BASE = "linux-7.2-2cpu"
GROUPS = {"/kubepods.slice": (0.62, None), "/kubepods.slice/kubepods-burstable.slice": (0.45, None),
          "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f1e2d3c.slice": (0.30, 2 << 30),
          "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7a6b5c4d.slice": (0.12, 1 << 30),
          "/kubepods.slice/kubepods-besteffort.slice": (0.14, None), "/system.slice": (0.10, None), "/user.slice": (0.04, None)}
GROUP = "fs/sys/fs/cgroup/g1/"


def kilobytes(gib):
    return int(gib * 1024 * 1024)


def grown_group(first, share, limit, part, is_leaking):
    """Files of a control group that uses this share of 6 GiB. If it leaks, the kernel finally uses half as much for it."""
    kernel = int(share * 2**30 * (0.3 + (part if is_leaking else 0.05 * part)))
    anonymous = int(share * 4 * 2**30)
    stat = edited_capture.with_numbers(first[GROUP + "memory.stat"], {
        "anon": anonymous, "file": int(share * 2**30), "kernel": kernel, "slab_reclaimable": int(kernel * 0.6), "slab_unreclaimable": int(kernel * 0.3),
        "slab": int(kernel * 0.9), "pagetables": int(kernel * 0.05)})
    current = anonymous + int(share * 2**30) + kernel
    hits = {"max": int(40000 * part), "oom": int(2 * part), "oom_kill": int(2 * part)} if limit else {}
    return {"memory.stat": stat, "memory.current": b"%d\n" % min(current, limit or current), "memory.max": b"%d\n" % limit if limit else b"max\n",
            "memory.events": edited_capture.with_numbers(first[GROUP + "memory.events"], hits)}


def linux_polls(is_leaking):
    """Files of each poll of a Linux of 16 GiB with containers; if it leaks, one slab cache takes the memory."""
    files = captures.read_fixture(captures.fixtures()[BASE])
    first = {path.partition("/")[2]: content for path, content in files.items()
             if re.match(r"000000/fs/(proc/|sys/devices/system/node/|sys/fs/cgroup/|sys/kernel/mm/)", path)}
    for hours in HOURS:
        part = 1 - hours / HOURS[0]  # from 0 to 1
        leaked = (2 * part + (6.2 * (1 - hours / 6) if hours <= 6 else 0)) if is_leaking else 0
        available = 9.5 - leaked
        poll = {path: content for path, content in first.items() if not path.startswith(GROUP)}
        for group, (share, limit) in GROUPS.items():
            below = sum(other.startswith(group + "/") for other in GROUPS)
            for name, content in {**{path[len(GROUP):]: text for path, text in first.items() if path.startswith(GROUP)},
                                  **grown_group(first, share, limit, part, is_leaking),
                                  "cgroup.subtree_control": b"memory\n" if below else b"", "cgroup.stat": b"nr_descendants %d\nnr_dying_descendants 0\n" % below}.items():
                poll[f"fs/sys/fs/cgroup{group}/{name}"] = content
        slab = 0.5 + leaked
        poll["fs/proc/meminfo"] = dying_capture.with_kilobytes(first["fs/proc/meminfo"], {
            "MemTotal": kilobytes(16), "MemFree": kilobytes(max(available - 6, 0.15)), "MemAvailable": kilobytes(available), "Cached": kilobytes(min(6, available)),
            "Buffers": kilobytes(0.2), "AnonPages": kilobytes(4.6), "Shmem": kilobytes(0.3), "KReclaimable": kilobytes(0.8), "SReclaimable": kilobytes(0.8),
            "SUnreclaim": kilobytes(slab), "Slab": kilobytes(slab + 0.8), "PageTables": kilobytes(0.06), "KernelStack": 18000, "VmallocUsed": 64000, "Percpu": 24000,
            "SwapTotal": 0})
        cache = edited_capture.with_larger_cache(first["fs/proc/slabinfo"], "kmalloc-1k", 400 + int(leaked * 2**30 / 16384))
        poll["fs/proc/slabinfo"] = edited_capture.with_larger_cache(cache, "dentry", 20000)
        short = 1 if is_leaking and hours == 0 else 0
        poll["fs/proc/vmstat"] = edited_capture.with_numbers(first["fs/proc/vmstat"], {
            "oom_kill": 3 * short, "allocstall_normal": 90000 * short, "compact_stall": 4000 * short, "compact_fail": 1500 * short,
            "pgscan_direct": 400000 * short, "pgsteal_direct": 250000 * short, "pgscan_kswapd": int(2e6 * part), "pgsteal_kswapd": int(1.7e6 * part)})
        poll["fs/proc/pressure/memory"] = edited_capture.pressure(int(part * 4e7 + short * 9e8), int(part * 1e7 + short * 4e8))
        count = 1 + int(360 * (HOURS[0] - hours))  # of times 10 s
        poll |= {"source/linux_vm_events": edited_capture.vm_events(count), "source/linux_slab_events": edited_capture.slab_events(count),
                 "source/linux_call_sites": edited_capture.call_sites(count)}
        yield {**poll, **edited_capture.integrity(0, 0, 0, 0, 20 + 170 * short)}


def write(directory, polls, manifest):
    """Writes a capture of these polls, as far apart as HOURS says."""
    for index, (hours, poll) in enumerate(zip(HOURS, polls)):
        for path, content in poll.items():
            if not isinstance(content, str):
                captures.write_file(os.path.join(directory, f"{index:06d}", path), content)
        moment = datetime.datetime(2026, 11, 20, 15, 20) - datetime.timedelta(hours=hours)
        captures.write_file(os.path.join(directory, f"{index:06d}", "poll.yaml"),
                            f"label: poll {index}\nrealtime: {moment:%Y-%m-%dT%H:%M:%SZ}\nmonotonic_ns: {(50 - hours) * HOUR * 10**9}\n")
    captures.write_file(os.path.join(directory, "manifest.yaml"), manifest)
    return directory


def linux(directory, is_leaking):
    manifest = captures.read_fixture(captures.fixtures()[BASE])["manifest.yaml"].decode().partition("edits:")[0]
    return write(directory, linux_polls(is_leaking), manifest + "edits: All polls are made by hand from the captured one, for pictures.\n")


def pages(capture, config, count):
    """The page after each poll, as {series: value}."""
    for polls in range(1, count + 1):
        done = subprocess.run([program.MEMSTATD, "--config", config, "--replay", capture, "--polls", str(polls), "--once", "--tier", "default"], check=True,
                              capture_output=True, text=True, timeout=600)
        yield {name: float(value) for name, value in re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", done.stdout, re.MULTILINE)}


def history(host, at, now):
    """OpenMetrics lines of a host whose pages are `at` these seconds before now: [(seconds, page)]. It continues as at the end."""
    metrics = {name: name.partition("{") for name in dict.fromkeys(name for _, page in at for name in page)}
    (earlier, before_last), (_, last) = at[-2:]
    ahead = {name: value + (value - before_last.get(name, value)) * AHEAD / max(earlier, 1) for name, value in last.items()}
    at = [*at, (-AHEAD, ahead)]
    for name, (metric, _, labels) in metrics.items():
        head = f'{metric}{{job="memstatd",instance="{host}"' + ("," + labels if labels else "}")
        for (before, first), (after, second) in zip(at, at[1:]):
            if name not in first or name not in second:
                continue
            for back in range(before, after, -(2 if before <= 7 * HOUR else 4) * MINUTE):
                part = (before - back) / (before - after)
                value = first[name] + part * (second[name] - first[name])
                yield f"{head} {now - back if re.search('(poll|success)_timestamp', metric) else value:.10g} {now - back}\n"
    for back in range(7 * HOUR, -AHEAD, -2 * MINUTE):
        for name, value in (("up", 1), ("scrape_duration_seconds", 0.004), ("scrape_samples_scraped", len(metrics))):
            yield f'{name}{{job="memstatd",instance="{host}"}} {value} {now - back}\n'


# What kube-state-metrics and the rules of examples/kubernetes add: (namespace, kind, owner, pod, memory in GiB).
PODS = (("shop", "ReplicaSet", "cart-7d9f8b6c5d", "cart-7d9f8b6c5d-x2x7k", 1.4), ("shop", "ReplicaSet", "cart-7d9f8b6c5d", "cart-7d9f8b6c5d-q9w8e", 1.2),
        ("shop", "StatefulSet", "db", "db-0", 2.1), ("logging", "DaemonSet", "collector", "collector-8hgt2", 0.3), ("batch", "Job", "report-29412", "report-29412-zz4kd", 0.7))


def pods(host, now):
    """OpenMetrics lines of a host's pods."""
    for back in range(7 * HOUR, -AHEAD, -5 * MINUTE):
        for namespace, kind, owner, pod, gib in PODS:
            labels = f'namespace="{namespace}",pod="{pod}"'
            yield f'kube_pod_info{{job="kube-state-metrics",{labels},created_by_kind="{kind}",created_by_name="{owner}"}} 1 {now - back}\n'
            for metric, share in (("memstat_type_bytes", 1), ("memstat_memcg_kernel_bytes", 0.1)):
                yield f'namespace_pod:{metric}:max{{job="memstatd",instance="{host}",{labels},type="/kubepods/{pod}"}} {gib * share * 2**30:.0f} {now - back}\n'


def blocks(directory, lines):
    captures.write_file(os.path.join(directory, "history"), "".join(lines) + "# EOF\n")
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "--max-block-duration=72h", "--quiet", "openmetrics", os.path.join(directory, "history"), os.path.join(directory, "data")],
                   check=True, stdout=subprocess.DEVNULL)


def record(directory, rules, start, end, step):
    """What rules would have recorded. Rules that use the results of others come after those."""
    names = {rule["record"] for rule in rules}
    path = os.path.join(directory, "rules.yml")
    while rules:
        first = [rule for rule in rules if not any(name in rule["expr"] for name in names)]
        captures.write_file(path, yaml.safe_dump({"groups": [{"name": "pictures", "rules": first}]}))
        with prometheus_server.Prometheus(directory, None, config="global: {}\n") as server:
            subprocess.run(["promtool", "tsdb", "create-blocks-from", "rules", f"--url=http://{server.address}", f"--start={start}", f"--end={end}", f"--eval-interval={step}s",
                            "--output-dir=" + os.path.join(directory, "data"), path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rules = [rule for rule in rules if rule not in first]
        names -= {rule["record"] for rule in first}


# What the dashboard of the fleet is made of, besides its largest types.
OF_FLEET = re.compile(r"memstat_(finding|kernel_info|series|memory|accounted|unaccounted|poll_|source_up|oom_kills|pressure)")


def fleet(hosts, count):
    """The last hour of that many hosts, which are in turn like these, with fewer series. One in ten keeps its findings, and those of one release more."""
    found = {}
    for number in range(count):
        at = list(hosts.values())[number % len(hosts)]
        last = at[-1][1]
        large = set(sorted((name for name in last if name.startswith("memstat_type_bytes{")), key=last.get)[-8:])
        is_ill = number % (4 if number % len(hosts) == 1 else 20) == 1
        page = {name: value for name, value in last.items()
                if name in large or (OF_FLEET.match(name) and (is_ill or not name.startswith("memstat_finding")))}
        found[f"host{number:03d}.example:8947"] = [(HOUR, page), (0, page)]
    return found


def store(directory, hosts, hours=29):
    """Fills the data of a Prometheus in `directory` with the history of hosts: {name: [(seconds before now, page)]}."""
    now = int(time.time()) // MINUTE * MINUTE
    os.makedirs(os.path.join(directory, "data"), exist_ok=True)
    blocks(directory, (line for host, at in hosts.items() for line in [*history(host, at, now), *(pods(host, now) if host == "web1" else ())]))
    with open(os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "recording_rules.yml"), encoding="utf-8") as file:
        groups = {group["name"]: group["rules"] for group in yaml.safe_load(file)["groups"]}
    for group, of_group, step in (("memstat-host", 29, 5 * MINUTE), ("memstat-kernel", 29, 5 * MINUTE), ("memstat-slow", 28, 10 * MINUTE), ("memstat-fleet", 6, 10 * MINUTE)):
        record(directory, groups[group], now - min(hours, of_group) * HOUR, now + AHEAD, step)
