#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the results in a directory as a table: report.py DIRECTORY (called by tests/bench/run)."""
import datetime
import json
import os
import platform
import statistics
import sys


def cpu_times(directory, name, which="cpu_time"):
    """CPU time of each repetition by benchmark, in ns; `which` "real_time": the time that passed."""
    with open(os.path.join(directory, name + ".json"), encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    times = {}
    for run in runs:
        if run.get("run_type") == "iteration" and not run.get("error_occurred"):
            times.setdefault(run["run_name"], []).append(run[which] * unit[run["time_unit"]])
    return times


def counter(directory, name, key):
    """The largest value of a counter."""
    with open(os.path.join(directory, name + ".json"), encoding="utf-8") as file:
        return max(run[key] for run in json.load(file)["benchmarks"] if key in run)


def medians(directory, name, key):
    """The median over the repetitions of one counter, by benchmark."""
    with open(os.path.join(directory, name + ".json"), encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    values = {}
    for run in runs:
        if run.get("run_type") == "iteration" and key in run:
            values.setdefault(run["run_name"].removesuffix("/real_time").removesuffix("/iterations:1"), []).append(run[key])
    return {benchmark: statistics.median(found) for benchmark, found in values.items()}


def ratio(times, above, below):
    return statistics.median(times[above]) / statistics.median(times[below])


def micro(times, name):
    return f"{statistics.median(times[name]) / 1e3:,.0f} us"


def scale_rows(directory):
    """Huge machines, each in its own process; times have absolute limits, not ratios."""
    with open(os.path.join(directory, "scale.json"), encoding="utf-8") as file:
        machines = {name: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
                    for name, runs in json.load(file).items()}
    for name, what, most_ms in (("malloc_2000x1024", "2000 types x 1024 CPUs", 250), ("malloc_2000x4096", "2000 types x 4096 CPUs", 1000)):
        of = machines[name]
        yield (f"{what}, a stream of {of['stream_mb']:.0f} MB: decoded and committed, ms", of["first_commit_ms"], "<=", most_ms,
               f"the first time; {of['commit_ms']:.0f} ms later, of which decoding {of['parse_ms']:.0f} ms")
        if most_ms == 250:
            yield (f"{what}: peak resident memory with the stream, MB", of["peak_mb"], "<=", 400, "every CPU uses every type")
        else:
            yield (f"{what}: memory beyond stream and staging, MB", of["beyond_stream_mb"], "<=", 400,
                   "every CPU uses every type; the staging takes none")
        yield (f"{what}: the default page, ms", of["page_ms"], "<=", 50, f"{of['series']} series, tracked, built and rendered")
    sparse = machines["malloc_2000x4096_sparse"]
    yield ("2000 types x 4096 CPUs, half of the types never used, the others by about 4 CPUs: memory beyond the stream, MB",
           sparse["beyond_stream_mb"], "<=", 20, f"{sparse['first_commit_ms']:.0f} ms")
    slab = machines["slab_20000"]
    yield ("20 000 slab caches: decoded and committed, ms", slab["commit_ms"], "", None,
           f"{slab['first_commit_ms']:.0f} ms the first time; the page {slab['page_ms']:.1f} ms, {slab['series']} series")


def partial_slabs_rows(directory):
    """The live kernel with a long list of partial slabs in one cache."""
    try:
        with open(os.path.join(directory, "partial_slabs.json"), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, json.JSONDecodeError):
        print("(the figures of partial slabs are missing: not root)", file=sys.stderr)
        return
    short, long = found["short"], found["long"]
    times = {file: long[file] / short[file] for file in long if short[file]}
    constant = max(("slabs", "total_objects", "partial", "cpu_slabs"), key=times.get)
    yield (f"{found['slabs']} partial slabs / few: the worst of the files that are read by default", times[constant], "<=", 1.5,
           f"{constant}, {long[constant] / 1e3:.1f} us / {short[constant] / 1e3:.1f} us")
    yield ("the same, all that linux_slab_sysfs reads", times["source"], "<=", 1.5,
           f"{long['source'] / 1e3:,.0f} us / {short['source'] / 1e3:,.0f} us")
    for file, what in (("objects", "`objects`, which is not read"), ("slabinfo", "/proc/slabinfo")):
        yield (f"the same, {what}", times[file], "", None, f"{long[file] / 1e3:,.1f} us / {short[file] / 1e3:,.1f} us")


def counters_rows(directory):
    """libcpc on the live kernel."""
    try:
        times = cpu_times(directory, "counters")
        yield ("cpc_set_sample of six events / the bare read of the same group", ratio(times, "cpc_sample", "bare_read"), "<=", 1.1,
               f"{statistics.median(times['cpc_sample']):,.0f} ns / {statistics.median(times['bare_read']):,.0f} ns")
        yield ("six events of 64 CPUs read, one system call a CPU, ms",
               statistics.median(times["read_64_cpus/real_time"]) / 1e6, "<=", 1, "as many sets on the CPUs that there are")
        yield ("the same opened, ms", statistics.median(times["open_64_cpus"]) / 1e6, "", None, "384 descriptors")
        yield ("heap of a libcpc handle, B", counter(directory, "counters", "handle_bytes"), "", None,
               f"with a bound set of six events and its buffer {counter(directory, 'counters', 'bound_set_bytes'):,.0f}")
    except (OSError, KeyError, ValueError):
        print("(the figures of libcpc are missing: no perf events)", file=sys.stderr)


def events_rows(directory):
    """Slab events on the live kernel: the added cost of opening and closing an event descriptor."""
    try:
        times = cpu_times(directory, "events")
        ours, empty = (statistics.median(times[name]) - statistics.median(times["detached"]) for name in ("counters", "empty_programs"))
        events = counter(directory, "events", "events")
        yield ("CPU added by counting slab events / by programs that do nothing on the same tracepoints", ours / empty, "<=", 1.4,
               f"{ours / events:,.0f} ns / {empty / events:,.0f} ns an event")
        ours, empty = (statistics.median(times[name]) - statistics.median(times["detached"])
                       for name in ("callers", "empty_programs_on_allocations"))
        yield ("CPU added by counting callers, groups and commands / by programs that do nothing on the same tracepoints", ours / empty,
               "", None, "mode full only")
        yield ("what was counted read and parsed, us", statistics.median(times["read_and_parse"]) / 1e3, "", None, "no kernel involved")
        used_by, budget_of, all_of = (medians(directory, "events", f"{figure}_percent") for figure in ("used", "budget", "of_all"))
        for percent in (90, 95):
            name = f"governed/{percent}"
            used, budget, whole = used_by[name], budget_of[name], all_of[name]
            yield (f"CPU that counting slab events took / its budget, {percent} % of what counting all takes", used / budget, "<=", 1.2,
                   f"{used:.1f} / {budget:.1f} % of a CPU; all: {whole:.1f} %")
        yield ("the same with a budget of 1 % of a CPU: it detaches, % of a CPU over 8 s", used_by["governed/0"], "<=", 1.2, "")
    except (OSError, KeyError, ValueError):
        print("(the figures of slab events are missing: not root, or no libbpf)", file=sys.stderr)
    try:
        budgets, worst, settled, made = (medians(directory, "governor", key) for key in (
            "budget_percent", "worst_window_percent", "settled_percent", "millions_a_second"))
        for name, budget in budgets.items():
            yield (f"time of the programs on slab events in the worst minute / a budget of {budget:g} % of a CPU, {made[name]:.1f} million events a second",
                   worst[name] / budget, "<=", 1.2, f"by BPF_STATS_RUN_TIME; settled: {settled[name] / budget:.2f}; ten seconds are one there")
    except (OSError, KeyError, ValueError):
        print("(the figures of the governor are missing: not root, or no libbpf)", file=sys.stderr)
    try:
        times = cpu_times(directory, "events")
        yield ("pass of linux_slab_bpf over the slab caches / reading /proc/slabinfo, which knows less", ratio(times, "pass_over_caches", "read_slabinfo"),
               "<=", 0.5, f"{micro(times, 'pass_over_caches')} / {micro(times, 'read_slabinfo')}")
    except (OSError, KeyError, ValueError):
        print("(the figure of linux_slab_bpf is missing: not root, no libbpf, or a kernel before 6.13)", file=sys.stderr)


def reader_process_rows(directory):
    """A separate process that reads the kernel: FreeBSD's sandbox."""
    try:
        times = {name.removesuffix("/real_time"): found for name, found in cpu_times(directory, "reader_process", "real_time").items()}
        for name, what in (("stream", "15 MB through the process that reads for another / copied directly"), ("small", "the same, a file of 3 bytes"),
                           ("poll", "the same, all sources of Linux that are on by default")):
            yield (what, ratio(times, f"{name}_split", f"{name}_direct"), "", None, f"{micro(times, f'{name}_split')} / {micro(times, f'{name}_direct')}")
    except (OSError, KeyError, ValueError):
        print("(the figures of the reader process are missing: not root)", file=sys.stderr)


def findings_rows(directory):
    """The cost that evidence and causes add to a poll of this machine."""
    times = cpu_times(directory, "findings")
    alone, whole = (statistics.median(times[f"findings_{part}/process_time"]) for part in ("alone", "poll"))
    yield ("findings after a poll of this machine, without growth: part of the poll, %", 100 * alone / whole, "<=", 3,
           f"{alone / 1e3:.1f} us of {whole / 1e6:.1f} ms")


def history_rows(directory):
    """The status page's history: its cost in a poll of this machine, and its memory after a day of polls."""
    history = cpu_times(directory, "history")
    with open(os.path.join(directory, "history.json"), encoding="utf-8") as file:
        small = next(run for run in json.load(file)["benchmarks"] if run["run_name"] == "history_poll/300" and run["run_type"] == "iteration")
    ours = statistics.median(history["history_poll/300"])
    try:
        whole = statistics.median(cpu_times(directory, "sources")["all_default_sources"])
        yield ("the status page's history, 300 types (1500 series) of which a tenth changes at each poll: part of a poll, %", 100 * ours / whole, "<=", 1,
               f"{ours / 1e3:.1f} us of {whole / 1e6:.1f} ms; 1500 types: {micro(history, 'history_poll/1500')}")
    except (OSError, KeyError, ValueError):
        print("(the history's part of a poll is missing: not root)", file=sys.stderr)
    yield ("the same, MB after a day of polls every 10 s", small["bytes"] / 1e6, "<=", 2,
           f"{small['points']:.0f} points a type, which go back {small['hours']:.1f} h; {small['bytes'] / small['points'] / 900:.1f} bytes a point and series")


def rows(directory):
    decode = cpu_times(directory, "decode")
    yield ("decode 21 MB kern.malloc_stats / checksum of the same bytes", ratio(decode, "decode", "checksum"), "<=", 1.5,
           f"{micro(decode, 'decode')} / {micro(decode, 'checksum')}")
    api = cpu_times(directory, "c_api")
    yield ("original libmemstat / ours, from the streams (21 MB + 52 KB) to the list", ratio(api, "original_algorithm", "our_algorithm"),
           ">=", 10, f"{micro(api, 'original_algorithm')} / {micro(api, 'our_algorithm')}")
    yield ("the same, a whole memstat_sysctl_all with the kernel's copy", ratio(api, "original", "ours"), "", None,
           f"{micro(api, 'original')} / {micro(api, 'ours')}, copying alone {micro(api, 'copying_only')}")
    yield ("the same on a fresh list", ratio(api, "original_fresh", "ours_fresh"), "", None,
           f"{micro(api, 'original_fresh')} / {micro(api, 'ours_fresh')}")
    yield ("heap of a list of 465 types, 330 of them with 1024 CPU slots in the stream, MB", counter(directory, "c_api", "list_bytes") / 1e6, "<=", 2, "4 CPUs")
    render = cpu_times(directory, "render")
    yield ("prometheus-cpp / our renderer, 100 000 series", ratio(render, "prometheus_cpp", "ours"), ">=", 50,
           f"{micro(render, 'prometheus_cpp')} / {micro(render, 'ours')}")
    yield ("our renderer / copying the page, 100 000 series", ratio(render, "ours", "copy"), "<=", 2,
           f"{micro(render, 'ours')} / {micro(render, 'copy')}")
    yield from scale_rows(directory)
    yield from history_rows(directory)
    yield from findings_rows(directory)
    gzip = cpu_times(directory, "compression")
    for series in ("1200", "100000"):
        if f"ours/{series}" in gzip:  # not in a build without gzip
            yield (f"zlib at level 1 / our gzip, {series} series",
                   ratio(gzip, f"zlib/{series}/1", f"ours/{series}"), ">=", 2.5,
                   f"{micro(gzip, f'zlib/{series}/1')} / {micro(gzip, f'ours/{series}')}")
    scrape = medians(directory, "scrape_server", "both_us")
    for coding in ("identity", "gzip"):
        for series, words in (("1200", "1200"), ("100000", "100 000")):
            ours, fixed = scrape[f"ours/{coding}/{series}"], scrape[f"fixed/{coding}/{series}"]
            yield (f"scrape over loopback / the same server sending a static buffer, {words} series"
                   f"{', gzip' if coding == 'gzip' else ''}", ours / fixed, "<=", 1.15, f"{ours:,.1f} us / {fixed:,.1f} us")
    cpu = medians(directory, "scrape_server", "server_us")
    ours, bare = cpu["ours_fresh/identity/1200"], cpu["bare_fresh/identity/1200"]
    yield ("CPU of a scrape on a connection of its own / the same civetweb with a bare handler, 1200 series", ours / bare, "<=", 1.3,
           f"{ours:,.1f} us / {bare:,.1f} us")
    for coding in ("identity", "gzip"):
        ours, theirs = cpu[f"ours/{coding}/100000"], cpu[f"exposer/{coding}"]
        yield (f"CPU of a scrape: prometheus-cpp's Exposer / memstatd, 100 000 series{', gzip' if coding == 'gzip' else ''}",
               theirs / ours, ">=", 50, f"{theirs:,.0f} us / {ours:,.0f} us")
    with open(os.path.join(directory, "memory.json"), encoding="utf-8") as file:
        memory = json.load(file)
    yield ("resident bytes a series, 100 000 series: snapshots and their pages, text in use", memory["text"], "<=", 200,
           f"in addition to list, slots and labels with {memory['list']:.0f}")
    yield ("the same, with text compressed, OpenMetrics and protobuf in use too",
           sum(memory[use] for use in ("text", "gzip", "openmetrics", "protobuf")), "", None,
           f"gzip {memory['gzip']:.0f} more, OpenMetrics {memory['openmetrics']:.0f}, protobuf {memory['protobuf']:.0f}")
    yield ("further bytes while slow readers hold every snapshot", memory["slow_readers"], "", None,
           f"{-memory['after_slow_readers']:.0f} are freed after them")
    yield from partial_slabs_rows(directory)
    yield from counters_rows(directory)
    yield from events_rows(directory)
    yield from reader_process_rows(directory)
    try:
        poll = cpu_times(directory, "poll")
        yield ("poll of the live slab caches / reading /proc/slabinfo", ratio(poll, "poll", "read_only"), "<=", 1.2,
               f"{micro(poll, 'poll')} / {micro(poll, 'read_only')}")
        yield ("the same with rendering the page / reading", ratio(poll, "poll_and_render", "read_only"), "<=", 1.6,
               f"{micro(poll, 'poll_and_render')} / {micro(poll, 'read_only')}")
        sources = cpu_times(directory, "sources")
        yield (f"all sources that are on by default ({counter(directory, 'sources', 'types'):.0f} types) / reading the same "
               f"{counter(directory, 'sources', 'files'):.0f} files", ratio(sources, "all_default_sources", "read_only"), "<=", 1.5,
               f"{micro(sources, 'all_default_sources')} / {micro(sources, 'read_only')}")
        everything = statistics.median(sources["poll_with_everything_on/process_time/real_time"])
        yield ("a poll of the daemon with every source, figure and series on, CPU of all threads, ms", everything / 1e6, "<=", 10,
               f"{counter(directory, 'sources', 'series'):.0f} series, read at every poll")
        with open(os.path.join(directory, "scrape.json"), encoding="utf-8") as file:
            scrape = json.load(file)
    except (OSError, KeyError, json.JSONDecodeError):
        print("(the live figures are missing: not root, or no prometheus-node-exporter)", file=sys.stderr)
        return
    cpu = scrape["cpu_us_per_scrape"]
    if "memstatd_prometheus" in cpu:
        ours, theirs = cpu["memstatd_prometheus"], cpu["node_exporter_prometheus"]
        yield ("CPU of a scrape as Prometheus does it, ten a second, gzip: node_exporter (slabinfo only) / memstatd (the same)", theirs / ours,
               "", None, f"{theirs:,.0f} us / {ours:,.0f} us")
    yield ("a scrape in a tight loop, a connection of its own for each, gzip: node_exporter / memstatd", cpu["node_exporter_fresh"] / cpu["memstatd_fresh"], "", None,
           f"{cpu['node_exporter_fresh']:,.0f} us / {cpu['memstatd_fresh']:,.0f} us")
    yield ("CPU of a scrape on one kept connection, in a tight loop: node_exporter / memstatd", scrape["times_less_than_node_exporter"], ">=", 20,
           f"{cpu['node_exporter']:,.0f} us / {cpu['memstatd']:,.0f} us")
    yield ("the same, gzip", scrape["times_less_with_gzip"], ">=", 20,
           f"{cpu['node_exporter_gzip']:,.0f} us / {cpu['memstatd_gzip']:,.0f} us")
    yield ("the same, memstatd making a poll of its own for each", scrape["times_less_with_a_poll_each"], ">=", 8,
           f"{cpu['node_exporter']:,.0f} us / {cpu['memstatd_with_poll']:,.0f} us")
    yield ("the same, ten a second: caches are cold", scrape["times_less_with_a_poll_each_paced"], "", None,
           f"{cpu['node_exporter_paced']:,.0f} us / {cpu['memstatd_with_poll_paced']:,.0f} us")
    yield ("peak resident memory, MB", scrape["peak_resident_kib"]["memstatd"] * 1024 / 1e6, "<=", 12,
           f"node_exporter {scrape['peak_resident_kib']['node_exporter'] * 1024 / 1e6:.1f} MB")
    yield ("the same with all sources that are on by default", scrape["peak_resident_kib"]["memstatd_all_sources"] * 1024 / 1e6, "",
           None, "")


def main():
    directory = sys.argv[1]
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} CPUs, {datetime.date.today()}\n")
    print("| figure | measured | wanted | medians |\n|---|---|---|---|")
    missed = 0
    for what, value, sign, bound, detail in rows(directory):
        reached = bound is None or (value <= bound if sign == "<=" else value >= bound)
        missed += not reached
        wanted = f"{sign} {bound}" if bound is not None else ""
        print(f"| {what} | {value:.2f}{'' if reached else ' (missed)'} | {wanted} | {detail} |")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
