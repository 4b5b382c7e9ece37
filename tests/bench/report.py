#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the results in a directory as a table: report.py DIRECTORY (called by tests/bench/run)."""
import datetime
import json
import os
import platform
import statistics
import sys


def cpu_times(directory, name):
    """CPU time of each repetition by benchmark, in ns."""
    with open(os.path.join(directory, name + ".json"), encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    times = {}
    for run in runs:
        if run.get("run_type") == "iteration" and not run.get("error_occurred"):
            times.setdefault(run["run_name"], []).append(run["cpu_time"] * unit[run["time_unit"]])
    return times


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


def events_rows(directory):
    """Slab events on the live kernel: the added cost of opening and closing an event descriptor; and the pass over the slab caches."""
    times = cpu_times(directory, "events")
    bare = statistics.median(times["detached"])
    for what, ours, empty, bound in (("counting slab events", "counters", "empty_programs", 1.4),
                                     ("counting callers, groups and commands", "callers", "empty_programs_on_allocations", None)):
        counting, nothing = (statistics.median(times[name]) - bare for name in (ours, empty))
        yield (f"CPU added by {what} / by programs that do nothing on the same tracepoints", counting / nothing, "<=" if bound else "", bound,
               f"{counting:,.0f} ns / {nothing:,.0f} ns an open and close")
    yield ("pass of linux_slab_bpf over the slab caches / reading /proc/slabinfo, which knows less", ratio(times, "pass_over_caches", "read_slabinfo"),
           "<=", 0.5, f"{micro(times, 'pass_over_caches')} / {micro(times, 'read_slabinfo')}")


def scrape_rows(directory):
    """Scrapes beside node_exporter's, on the live kernel."""
    with open(os.path.join(directory, "scrape.json"), encoding="utf-8") as file:
        scrape = json.load(file)
    cpu, peak = scrape["cpu_us_per_scrape"], scrape["peak_resident_kib"]
    for what, theirs, ours, bound in (
            ("CPU of a scrape as Prometheus does it, ten a second, gzip: node_exporter (slabinfo only) / memstatd (the same)", "node_exporter_prometheus",
             "memstatd_prometheus", None),
            ("a scrape in a tight loop, a connection of its own for each, gzip: node_exporter / memstatd", "node_exporter_fresh", "memstatd_fresh", None),
            ("CPU of a scrape on one kept connection, in a tight loop: node_exporter / memstatd", "node_exporter", "memstatd", 20),
            ("the same, gzip", "node_exporter_gzip", "memstatd_gzip", 20),
            ("the same, memstatd making a poll of its own for each, 2 ms apart", "node_exporter", "memstatd_with_poll", 8),
            ("the same, ten a second: caches are cold", "node_exporter_paced", "memstatd_with_poll_paced", None)):
        if ours in cpu:  # without Prometheus, not the first
            yield what, cpu[theirs] / cpu[ours], ">=" if bound else "", bound, f"{cpu[theirs]:,.0f} us / {cpu[ours]:,.0f} us"
    yield "peak resident memory, MB", peak["memstatd"] * 1024 / 1e6, "<=", 12, f"node_exporter {peak['node_exporter'] * 1024 / 1e6:.1f} MB"
    yield "the same with all sources that are on by default", peak["memstatd_all_sources"] * 1024 / 1e6, "", None, ""


def rows(directory):
    api = cpu_times(directory, "c_api")
    yield ("original libmemstat / ours, from the streams (21 MB + 52 KB) to the list", ratio(api, "original_algorithm", "our_algorithm"),
           ">=", 10, f"{micro(api, 'original_algorithm')} / {micro(api, 'our_algorithm')}")
    yield from scale_rows(directory)
    for live, lacks in ((events_rows, "libbpf, or a kernel from 6.13 on"), (scrape_rows, "prometheus-node-exporter")):
        try:
            yield from live(directory)
        except (OSError, KeyError, ValueError):
            print(f"({live.__doc__} Left out: not root, or without {lacks}.)", file=sys.stderr)


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
