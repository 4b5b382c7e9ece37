#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares memstatd's page with the kernel's files, read before and after it: an independent reading of the same kernel.

    tests/guests/checker.py [--memstatd PROGRAM] [--rounds N]     memstatd on this machine's kernel, as the account that runs this
    tests/guests/checker.py --record DIRECTORY                    rounds that a guest recorded: NAME/paths, before, quiet, page, after

A value is exact if both readings agree with it, in range if they differ and it is between them (or as far beyond as
they are apart, because what rises may fall again), and a mismatch if that is so in no round. A series that only one side
has is a mismatch, too, unless it came or went meanwhile, and so is a metric that nothing here knows. Exit status 1: mismatches.

The first reading changes what it counts: thousands of objects of the files that it opens wait to be freed for a moment, and a source
that is read once a second may be read just then. So only a page counts whose sources were all read after that reading had ended.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import expected_freebsd
import expected_memory
import expected_tables
import expected_types
from kernel_files import Reading

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = expected_memory.RULES + expected_types.RULES
CONFIGURATION = """\
listen: ["127.0.0.1:{port}"]
poll: {{interval: 1s, timeout: 20s, on_scrape: 1ms}}
tier: full
per_cpu: {{allocators: [".*"]}}
series_limit: 200000
user: "{user}"
sources:
  linux_allocinfo: {{interval: 1s, top: 0, min_bytes: 0}}
  linux_vmalloc: {{interval: 1s}}
  linux_tmpfs: {{interval: 1s}}
  linux_view: {{interval: 1s}}
  linux_slab_sysfs: {{interval: 1s}}
  linux_page: {{migrate_types: {migrate_types}}}
  linux_process: {{enabled: on, interval: 1s, largest: 1000}}
events: {{mode: off}}
"""
# Metrics that the kernel's files do not have, and why they are not expected here.
OF_MEMSTATD = "a figure of memstatd itself"
OF_POLLS = "follows from what memstatd saw in other polls, which the kernel does not keep"
NOT_EXPECTED = {
    r"process_.*|go_.*": OF_MEMSTATD,
    r"memstat_(source_(read|last|errors|types|parse|values).*|poll_.*|series.*|snapshots_.*|log_.*|config_.*|memory_locked|build_info)":
        OF_MEMSTATD,
    r"memstat_(http|scrape|page|recording|helper|sandbox)_.*": OF_MEMSTATD,
    r"memstat_type_(delta_bytes|delta_objects|growth_bytes_per_second|limit_hits_total|resets_total)": OF_POLLS,
    r"memstat_findings?(_info|_dropped|_total)?": "memstatd computes it from the others; tests/situations judges it",
    r"memstat_kernel_log_.*": "the log of this machine, which grows while it is read; tables of captures have their own rule",
    r"memstat_program_kills_total": "the journal of this machine, likewise",
    r"memstat_tmpfs_.*": "statfs(2), which no file shows; tables of captures have their own rule, memstatctl_who_test asks this machine",
    r"memstat_partial_view": "namespaces of this process, which the files do not show; tables of captures have their own rule",
    r"memstat_(memcg|memory)_headroom_.*": "a program that allocates until it is killed judges it: headroom.py",
    r"memstat_type_detail": "file and line of the largest call site, which are text",
}
NOT_EXPECTED_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in NOT_EXPECTED))
SOURCE_FILES = {"linux_memory": "/proc/meminfo", "linux_page": "/proc/zoneinfo", "linux_slabinfo": "/proc/slabinfo",
                "linux_vmalloc": "/proc/vmallocinfo", "linux_socket": "/proc/net/protocols", "linux_table": "/proc/sys/fs/file-nr",
                "linux_oom": "/proc/vmstat", "linux_ksm": "/sys/kernel/mm/ksm/pages_shared"}
# Types of these come and go by themselves.
FLEETING = {"process", "memcg", "vmalloc"}


KERNEL_ADDRESS = re.compile(r"(?i)(?<![0-9a-f])ffff[0-9a-f]{12}(?![0-9a-f])")


class Expected:
    """Values by (metric, labels). Types of one name are added up, as the page does."""

    def __init__(self):
        self.values = {}

    def __call__(self, metric, value, **labels):
        if value is None:
            return
        if "type" in labels:  # kernel addresses are not shown
            labels["type"] = KERNEL_ADDRESS.sub("0" * 16, labels["type"])
        key = metric, tuple(sorted(labels.items()))
        is_amount = not metric.endswith(("object_size_bytes", "object_footprint_bytes"))
        self.values[key] = self.values[key] + value if key in self.values and is_amount else value

    def type(self, allocator, name, **figures):
        for figure, value in figures.items():
            self("memstat_type_" + figure, value, allocator=allocator, type=name)


def expect(reading, options):
    return expect_all(reading, options, {}, 0)


def expect_all(reading, options, tables, cpus):
    """`tables`: {source: bytes} of a capture, whose kernel has that many CPUs."""
    expected = Expected()
    is_replaced = "linux_slab_bpf" in tables  # which has the same figures, and more exact ones
    for rule, path in RULES:
        if (path is None or reading.text(path)) and not (is_replaced and rule is expected_types.slabs):
            rule(reading, expected, options)
    expected_tables.tables(tables, expected, cpus, reading.page_size)
    for source, path in SOURCE_FILES.items():
        if is_replaced and source == "linux_slabinfo":
            continue
        if path in reading.refused:
            expected("memstat_source_up", 0, source=source)
        elif reading.text(path) and (source != "linux_oom" or "oom_kill" in reading.text(path)):  # none without CONFIG_VM_EVENT_COUNTERS
            expected("memstat_source_up", 1, source=source)
    known = [*reading.files, *reading.refused]
    if not is_replaced and "/proc/slabinfo" in known and any(path.startswith("/sys/kernel/slab/") and path.endswith("/partial") for path in known):
        if "/proc/slabinfo" in reading.refused:
            expected("memstat_source_not_permitted", 1, source="linux_slab_sysfs", needs="CAP_DAC_READ_SEARCH")
        else:
            expected("memstat_source_up", 1, source="linux_slab_sysfs")
    if "/proc/slabinfo" in reading.refused and reading.number("/proc/sys/kernel/dmesg_restrict"):
        expected("memstat_source_not_permitted", 1, source="linux_kernel_log", needs="CAP_SYSLOG")
    if options.get("processes"):
        expected("memstat_source_up", int(any(path.endswith("/statm") for path in reading.files)), source="linux_process")
    if "/proc/sys/kernel/osrelease" in reading:
        expected("memstat_kernel_info", 1, os="linux", release=reading.text("/proc/sys/kernel/osrelease").strip())
    expected("memstat_boot_timestamp_seconds", reading.keyed("/proc/stat").get("btime"))
    derive(expected)
    return expected.values


def expect_capture(files, options):
    """Of the last poll of a capture, whatever its system: {path in the capture: bytes, or a str for a symbolic link}."""
    poll = max(file.split("/")[0] for file in files if file[:6].isdigit())
    manifest = files["manifest.yaml"].decode()
    value = {key: re.search(rf'^{key}: "?([^"\n]*)', manifest, re.MULTILINE) for key in ("os", "release", "page_size", "cpus_present")}
    tables = {path.split("/")[2]: content for path, content in files.items() if path.startswith(f"{poll}/source/") and isinstance(content, bytes)}
    tables = {source: text for source, text in tables.items() if not source.startswith("who_")}  # answers of who are not on the page
    if value["os"][1] == "freebsd":
        expected = Expected()
        sysctls = expected_freebsd.Sysctls(files, poll, int(value["page_size"][1]))
        expected_freebsd.expect(sysctls, expected, value["release"][1])
        expected_tables.tables(tables, expected, 0, 0)
        derive(expected)
        return expected.values
    reading = Reading.captured(files, poll)
    reading.files["/proc/sys/kernel/osrelease"] = value["release"][1]
    cpus = max(map(int, re.findall(r"\d+", value["cpus_present"][1]))) + 1
    return expect_all(reading, options, tables, cpus)


def derive(expected):
    """Shares of limits: of the nearer one where a type has two. Items in the caches of a zone of uma(9) count as used."""
    ratios = {}
    for (metric, labels), limit in list(expected.values.items()):
        match = re.fullmatch(r"memstat_type_limit_(bytes|objects)", metric)
        used = expected.values.get((f"memstat_type_{match[1]}", labels)) if match else None
        if used is not None and limit and ("allocator", "uma") in labels and match[1] == "objects":
            used += expected.values["memstat_type_free_objects", labels] - expected.values.get(("memstat_type_keg_free_objects", labels), 0)
        if used is not None and limit:
            ratios[labels] = max(ratios.get(labels, 0), used / limit)
    for labels, ratio in ratios.items():
        expected("memstat_type_limit_used_ratio", ratio, **dict(labels))


LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)",?')


def parse_page(text, buckets=False):
    """{(name, labels): number} of a page in Prometheus text format; buckets of histograms only if requested, with bounds as numbers."""
    page = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line) if line and line[0] != "#" else None
        if match and (buckets or not match[1].endswith("_bucket")):
            labels = {name: re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], value)
                      for name, value in LABEL.findall(match[2] or "")}
            if "le" in labels:
                labels["le"] = float(labels["le"])
            number = float(match[3])
            page[match[1], tuple(sorted(labels.items()))] = int(match[3]) if re.fullmatch(r"-?\d+", match[3]) else number
    return page


def tolerance(metric):
    """How far a value may be from the exact one, because the page shows it with few digits."""
    if metric == "memstat_type_limit_used_ratio":
        return 0.000051
    if metric in ("memstat_boot_timestamp_seconds",):
        return 1.1  # the kernel computes it from two clocks
    return 1e-6 if metric.endswith(("ratio", "index", "seconds_total")) else 0


# What the reading itself adds and removes: both ends of the scrape's connection, and the programs that read the files
# (in a guest a shell, xargs and grep), with their stacks, page tables and the pages that they give back. By metric and a label.
OBSERVER = {("memstat_type_objects", "TCP"): 2, ("memstat_socket_allocated_objects", "TCP"): 2, ("memstat_type_objects", "threads"): 3, ("memstat_type_objects", "files"): 8,
            ("memstat_type_objects", "dentries"): 8, ("memstat_type_free_objects", "dentries"): 8, ("memstat_type_bytes", "TCP"): 1 << 16,
            ("memstat_type_limit_used_ratio", "threads"): 0.0005, ("memstat_type_limit_used_ratio", "TCP"): 0.0005,
            ("memstat_accounted_bytes", "sockets"): 1 << 16,
            ("memstat_accounted_bytes", "kernel_stacks"): 1 << 16, ("memstat_accounted_bytes", "vmalloc"): 1 << 16,
            ("memstat_accounted_bytes", "page_tables"): 1 << 17, ("memstat_accounted_bytes", "anonymous"): 1 << 18,
            ("memstat_accounted_bytes", "per_cpu_pages"): 1 << 21}
# Slabs of one program more or less.
OBSERVER |= {("memstat_type_cpu_slabs", cache): 2 for cache in ("task_struct", "vm_area_struct", "anon_vma", "anon_vma_chain")}
# The reading opens thousands of files a second. Each takes a struct file and, in sysfs, a kernfs_open_node of 72 bytes, and both are
# freed a moment after the file is closed (kfree_rcu() since Linux 6.0). By cache: slabs, bytes a slab, objects a slab.
for cache, slabs, slab_bytes, slab_objects in (("filp", 32, 8192, 32), ("kmalloc-96", 64, 4096, 42)):
    OBSERVER |= {(metric, cache): slabs for metric in ("memstat_type_slabs", "memstat_type_partial_slabs", "memstat_type_cpu_slabs")}
    OBSERVER |= {(metric, cache): slabs * slab_bytes for metric in ("memstat_type_held_bytes", "memstat_node_held_bytes")}
    OBSERVER |= {(metric, cache): slabs * slab_objects for metric in ("memstat_type_free_objects", "memstat_node_capacity_objects")}
OBSERVER_OF_PAGES = {"memstat_cpu_free_objects": 512, "memstat_buddy_free_blocks": 8, "memstat_buddy_free_blocks_by_type": 8,
                     "memstat_unusable_free_ratio": 0.01, "memstat_fragmentation_index": 0.01}
READERS = {"init", "sh", "xargs", "grep", "read_lines", "wget"}  # of a guest


def observer_slack(key):
    metric, labels = key
    words = dict(labels)
    return OBSERVER.get((metric, words.get("type", words.get("part"))), OBSERVER_OF_PAGES.get(metric, 0))


def judge(key, value, low, high):
    """exact, range or mismatch."""
    slack = tolerance(key[0])
    low, high = min(low, high), max(low, high)
    if value != low and low - observer_slack(key) <= value <= high + observer_slack(key):
        return "range"
    if low == high and abs(value - low) <= slack:
        return "exact"
    spread = high - low
    return "range" if spread and low - spread - slack <= value <= high + spread + slack else "mismatch"


def has_other_processes(labels, metric, first, page, moves):
    """Whether the figure is one of processes that began, ended or grew while the page was made."""
    if labels.get("allocator") != "process" and not metric.startswith("memstat_process"):
        return False
    if labels["type"] in READERS:
        return True
    objects = "memstat_type_objects", (("allocator", "process"), ("type", labels["type"]))
    return moves or first.get(objects) != page.get(objects)


def is_fresh(page, since):
    """Whether all sources that are up have been read since that Unix time."""
    read = {labels: value for (metric, labels), value in page.items() if metric == "memstat_source_last_success_timestamp_seconds"}
    return all(read.get(labels, 0) >= since for (metric, labels), value in page.items() if metric == "memstat_source_up" and value)


def compare(before, page, after, options):
    """{key: (verdict, before, value, after)} of one round."""
    return compare_values(expect(before, options), page, expect(after, options))


def compare_values(first, page, second):
    verdicts = {}
    for key in sorted(set(first) | set(second) | set(page)):
        metric, labels = key
        if NOT_EXPECTED_PATTERN.fullmatch(metric) and key not in first:
            continue
        old, value, new = first.get(key), page.get(key), second.get(key)
        fleeting = dict(labels).get("allocator") in FLEETING or metric.startswith(("memstat_memcg", "memstat_process"))
        if metric == "memstat_type_peak_bytes":
            verdict = "exact" if value >= page.get(("memstat_type_bytes", labels), 0) else "mismatch"
        elif metric == "memstat_unlisted_bytes" or metric == "memstat_source_up" and old is None:
            verdict = "exact" if value == (metric == "memstat_source_up") else "mismatch"
        elif old is not None and new is not None and value is not None:
            verdict = judge(key, value, old, new)
            if verdict == "mismatch" and has_other_processes(dict(labels), metric, first, page, old != new):
                verdict = "moved"
        elif old is None and new is None:
            verdict = "moved" if fleeting else "unexpected"
        elif value is None:
            verdict = "missing" if old is not None and new is not None else "moved"
        else:
            verdict = "moved"  # present in only one reading
        verdicts[key] = verdict, old, value, new
    return verdicts


def compare_rounds(readings, options, least=0):
    """[{key: (verdict, before, value, after)}] of all rounds. Ends early, after `least` rounds if that is not 0, when nothing is wrong."""
    found = []
    for before, page, after in readings:
        found.append(compare(before, page, after, options))
        if least and len(found) >= least and not any(verdict[0] in WRONG for verdict in judge_rounds(found).values()):
            break
    return found


BEST = ("exact", "range", "moved", "mismatch", "missing", "unexpected")
WRONG = BEST[3:]


def judge_rounds(rounds):
    """The best verdict of each value in any round in which it was present: a wrong value is wrong in all of them."""
    best = {}
    for verdicts in rounds:
        for key, verdict in verdicts.items():
            if key not in best or BEST.index(verdict[0]) < BEST.index(best[key][0]):
                best[key] = verdict
    return best


def report(best, limit=40):
    count = collections.Counter(verdict[0] for verdict in best.values())
    metrics = {metric for metric, _ in best}
    print(f"VALUES exact={count['exact']} range={count['range']} moved={count['moved']} mismatch={count['mismatch']} "
          f"missing={count['missing']} unexpected={count['unexpected']} metrics={len(metrics)}")
    wrong = [(key, verdict) for key, verdict in best.items() if verdict[0] in WRONG]
    for (metric, labels), (verdict, old, value, new) in wrong[:limit]:
        text = ",".join(f'{name}="{word}"' for name, word in labels)
        print(f"{verdict.upper()} {metric}{{{text}}}: page {value}, before {old}, after {new}")
    if len(wrong) > limit:
        print(f"... and {len(wrong) - limit} more")
    return len(wrong)


def live_rounds(program, rounds):
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(prefix="memstat-checker-") as directory:
        configuration = pathlib.Path(directory) / "memstatd.yaml"
        configuration.write_text(CONFIGURATION.format(port=0, user="nobody" if is_root else "", migrate_types="on" if is_root else "off"))
        with subprocess.Popen([program, "--config", str(configuration)], stderr=subprocess.PIPE, text=True) as daemon:
            try:
                address = next((match[1] for line in daemon.stderr if (match := re.search(r"(http://127[0-9.]+:\d+)", line))), None)
                if address is None:
                    raise RuntimeError("memstatd did not say where it serves")
                for _ in range(rounds):
                    before, quiet = Reading.live(), time.time()
                    for _ in range(10):
                        time.sleep(1.1)  # the sources that are read once a second are due
                        with urllib.request.urlopen(address + "/metrics", timeout=20) as answer:
                            page = parse_page(answer.read().decode())
                        if is_fresh(page, quiet):
                            yield before, page, Reading.live()
                            break
            finally:
                daemon.terminate()
                daemon.stderr.close()


def recorded_round(place):
    """(reading, page, reading), or None if the page is not from the quiet between the readings."""
    text = {name: (place / name).read_text(encoding="utf-8", errors="surrogateescape") if (place / name).exists() else ""
            for name in ("paths", "before", "before.errors", "quiet", "page", "after", "after.errors")}
    if not is_fresh(parse_page(text["page"]), int(text["quiet"])):
        return None
    return (Reading.recorded(text["paths"], text["before"], text["before.errors"]), parse_page(text["page"]),
            Reading.recorded(text["paths"], text["after"], text["after.errors"]))


def recorded_rounds(directory):
    rounds = (recorded_round(path) for path in sorted(pathlib.Path(directory).iterdir()) if (path / "page").exists())
    return (found for found in rounds if found)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--memstatd", default=str(ROOT / "build/bin/memstatd"))
    arguments.add_argument("--rounds", type=int, default=12, help="maximum number; it ends after three rounds without errors")
    arguments.add_argument("--record", help="a directory of rounds that were recorded")
    options = arguments.parse_args()
    known = {"processes": True, "migrate_types": os.geteuid() == 0}
    source = recorded_rounds(options.record) if options.record else live_rounds(options.memstatd, options.rounds)
    rounds = compare_rounds(source, known, 0 if options.record else min(3, options.rounds))
    if not rounds:
        print("no round was recorded")
        return 1
    return 1 if report(judge_rounds(rounds)) else 0


if __name__ == "__main__":
    sys.exit(main())
