#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The expected page for a capture's tables (NNNNNN/source/NAME), which contain what memstatd's programs counted.

Written from the grammar at the head of each source and from the HELP texts. It shares no code with memstatd and is stricter in one way:
an unknown word is an error, because captures of this tree must not contain one.
"""
import re

SIZE_BOUNDS = [1 << exponent for exponent in range(3, 31)]  # B
TIME_BOUNDS = [2.0 ** exponent for exponent in range(-22, 5)]  # s
SITE_SIZES = "memstat_call_site_size_bytes"


def clean(name):
    """A name as shown in a label: bytes that are not UTF-8 or not printable become question marks (kernel names here are ASCII)."""
    return re.sub(r"[^\x20-\x7e]", "?", name)


def histogram(add, metric, counts, total, bounds, **labels):
    if len(counts) != len(bounds) + 1:
        raise AssertionError(f"{metric}: {len(counts)} counts")
    running = 0
    for bound, count in zip([*bounds, None], counts):
        running += count
        text = "+Inf" if bound is None else f"{bound:.17g}" if isinstance(bound, float) else str(bound)
        add(metric + "_bucket", running, le=le(text), **labels)
    add(metric + "_count", running, **labels)
    add(metric + "_sum", total, **labels)


def le(text):
    """Bounds are compared as numbers, whatever their digits."""
    return float("inf") if text == "+Inf" else float(text)


class Table:
    """One table: its lines, and what several tables share."""

    def __init__(self, source, text, add):
        self.source, self.add = source, add
        lines = text.decode("utf-8", "surrogateescape").split("\n")
        if lines[-2:] not in (["end", ""], [f"end {len([line for line in lines if line.startswith('cpu ')])}", ""]):
            raise AssertionError(f"{source}: no end")
        self.lines = lines[:-2]

    def common(self, word, rest):
        """Reads a line whose word means the same in each table. False: another word."""
        words = rest.split()
        if word == "governor":
            attached, weight, cost, sampled, budget = map(int, words[:5])
            labels = {"source": self.source}
            self.add("memstat_events_cost_seconds_total", cost / 1e9, **labels)
            self.add("memstat_events_sampled_seconds_total", sampled / 1e9, **labels)
            self.add("memstat_events_counted_ratio", 1 / weight if attached else 0, **labels)
            self.add("memstat_events_budget_ratio", budget / 1e6, **labels)
        elif word == "event":
            self.add("memstat_vm_events_total", int(words[1]), event=words[0])
            if words[2:]:
                self.add("memstat_vm_event_bytes_total", int(words[2]), event=words[0])
        elif word == "gfp":
            for what, number in zip(("allocations", "failures"), words[2:]):
                self.add(f"memstat_gfp_{what}_total", int(number), allocator=words[0], **{"class": words[1]})
        elif word == "sizes":
            histogram(self.add, "memstat_allocation_size_bytes", list(map(int, words[2:])), int(words[1]), SIZE_BOUNDS, allocator=words[0])
        elif word not in ("unsupported", "left_out", "large", "other_cache"):
            return False
        return True

    def lost(self, reason, number):
        self.add("memstat_events_lost_total", number, reason=reason)

    def unknown(self, line):
        raise AssertionError(f"{self.source}: unknown line {line!r}")


def slab_events(table, cpus):
    figures = dict(line.split(" ") for line in table.lines[:5])
    if figures.pop("slab_events") != "1":
        table.unknown(table.lines[0])
    table.lost("unplaced", int(figures["unplaced"]))
    table.lost("missed", int(figures["missed"]))
    has_counts, has_frees = figures["counted_by_sysfs"] == "0", figures["kmalloc_frees"] == "1"
    name, size, frees_known = None, 0, True
    for line in table.lines[5:]:
        word, _, rest = line.partition(" ")
        if word in ("type", "type_without_frees"):
            text, _, name = rest.partition(" ")
            name, size, frees_known = clean(name), int(text), word == "type"
            slab_counts(table, name, size, (0, 0, 0, 0), has_counts, frees_known)
            if has_counts:
                for cpu in range(cpus):
                    cpu_counts(table, name, size, cpu, (0, 0), has_frees)
        elif word == "cpu":
            cpu, *numbers = map(int, rest.split())
            slab_counts(table, name, size, numbers, has_counts, frees_known)
            if has_counts and cpu < cpus:
                cpu_counts(table, name, size, cpu, numbers, has_frees)
        elif not table.common(word, rest):
            table.unknown(line)


def slab_counts(table, name, size, numbers, has_counts, frees_known):
    allocations, frees, requested, failures = numbers
    figures = {"requested_bytes_total": requested, "failures_total": failures, "allocated_bytes_total": allocations * size}
    if frees_known:
        figures["freed_bytes_total"] = frees * size
    if has_counts:
        figures["allocations_total"] = allocations
        if frees_known:
            figures["frees_total"] = frees
    table.add.type("slab", name, **figures)


def cpu_counts(table, name, size, cpu, numbers, has_frees):
    labels = {"allocator": "slab", "type": name, "cpu": str(cpu)}
    for what, number in zip(("alloc", "free"), numbers):
        if what == "free" and not has_frees:
            continue
        metric = {"alloc": ("allocations", "allocated"), "free": ("frees", "freed")}[what]
        table.add(f"memstat_cpu_{metric[0]}_total", number, **labels)
        table.add(f"memstat_cpu_{metric[1]}_bytes_total", number * size, **labels)


def vm_events(table, _):
    figures = dict(line.split(" ") for line in table.lines[:3])
    if figures.pop("vm_events") != "1":
        table.unknown(table.lines[0])
    table.lost("vm_missed", int(figures["missed"]))
    for line in table.lines[3:]:
        word, _, rest = line.partition(" ")
        words = rest.split()
        if word == "fault":
            table.add("memstat_page_faults_total", int(words[1]), kind=words[0])
        elif word in ("cpu_event", "cpu_fault"):
            metric, label = {"cpu_event": ("memstat_cpu_vm_events_total", "event"), "cpu_fault": ("memstat_cpu_page_faults_total", "kind")}[word]
            table.add(metric, int(words[2]), cpu=words[1], **{label: words[0]})
        elif word == "fault_times":
            histogram(table.add, "memstat_page_fault_seconds", list(map(int, words[2:])), int(words[1]) / 1e9, TIME_BOUNDS, kind=words[0])
        elif word == "untimed":
            table.lost("untimed", int(words[0]))
        elif word == "pages":
            table.add("memstat_page_order_allocations_total", int(words[2]), order=words[0], migrate_type=words[1])
        elif word == "page_failures":
            table.add("memstat_page_order_failures_total", int(words[1]), order=words[0])
        elif word in ("victim", "other_victim"):
            number, _, command = rest.partition(" ")
            if word == "victim" or int(number):
                table.add("memstat_oom_victims_total", int(number), command=clean(command) if word == "victim" else "other")
        elif word == "cache":
            number, _, name = rest.partition(" ")
            table.add.type("slab", clean(name), failures_total=int(number))
        elif not table.common(word, rest):
            table.unknown(line)


def call_sites(table, _):
    figures = dict(line.split(" ") for line in table.lines[:3])
    if figures.pop("call_sites") != "1":
        table.unknown(table.lines[0])
    table.lost("site_unplaced", int(figures["unplaced"]))
    table.lost("site_missed", int(figures["missed"]))
    site, seen = None, set()
    for line in table.lines[3:]:
        head, *names = line.split("\t")
        names = [clean(name) for name in names]
        word, *numbers = head.split(" ")
        if word == "site":
            allocations, requested, allocated, failures = map(int, numbers)
            site = names[0]
            table.add.type("kmalloc_site", site, allocations_total=allocations, requested_bytes_total=requested,
                           allocated_bytes_total=allocated, failures_total=failures)
        elif word == "got":
            if site not in seen:
                histogram(table.add, SITE_SIZES, list(map(int, numbers[1:])), int(numbers[0]), SIZE_BOUNDS, call_site=site)
            seen.add(site)
        elif word == "group":
            for what, number in zip(("allocations", "allocated_bytes", "charged_bytes", "failures"), numbers):
                table.add(f"memstat_slab_group_{what}_total", int(number), group=names[0])
        elif word == "origin":
            labels = dict(zip(("cache", "group", "command", "call_site"), names))
            table.add("memstat_slab_origin_allocations_total", int(numbers[0]), **labels)
            table.add("memstat_slab_origin_allocated_bytes_total", int(numbers[1]), **labels)
        elif not table.common(word, head.partition(" ")[2]):
            table.unknown(line)


def slab_caches(table, cpus, page_size):
    if table.lines[0] != "slab_caches 1":
        table.unknown(table.lines[0])
    name = None
    rows = [line.split(" ") for line in table.lines[1:]]
    nodes = {int(row[1]) for row in rows if row[0] == "node"}
    has_cpu_slabs = any(row[0] == "cpu" and row[2] != "0" for row in rows)  # since 7.0 CPUs have none
    for line in table.lines[1:]:
        word, *rest = line.split(" ", 10)
        if word in ("type", "type_about"):
            size, object_size, pages, slabs, objects, *free = map(int, rest[:9])
            name = clean(rest[9])
            used = max(objects - sum(free), 0)
            table.add.type("slab", name, bytes=used * size, objects=used, held_bytes=slabs * pages * page_size, free_objects=objects - used,
                           object_size_bytes=object_size, object_footprint_bytes=size, slabs=slabs, partial_slabs=0)
            if has_cpu_slabs:
                table.add.type("slab", name, cpu_slabs=0)
            for node in nodes:
                table.add("memstat_node_held_bytes", 0, allocator="slab", type=name, node=str(node))
                table.add("memstat_node_capacity_objects", 0, allocator="slab", type=name, node=str(node))
            for cpu in range(cpus):
                table.add("memstat_cpu_free_objects", 0, allocator="slab", type=name, cpu=str(cpu))
        elif word == "cpu":
            cpu, cpu_slabs, free, in_sheaves = map(int, rest)
            if has_cpu_slabs:
                table.add.type("slab", name, cpu_slabs=cpu_slabs)
            if cpu < cpus:
                table.add("memstat_cpu_free_objects", free + in_sheaves, allocator="slab", type=name, cpu=str(cpu))
        elif word == "node":
            node, slabs, objects, partial, _, _ = map(int, rest)
            table.add.type("slab", name, partial_slabs=partial)
            table.add("memstat_node_held_bytes", slabs * pages * page_size, allocator="slab", type=name, node=str(node))
            table.add("memstat_node_capacity_objects", objects, allocator="slab", type=name, node=str(node))
        else:
            table.unknown(line)


def cpu_counters(table, _):
    ratios = {}
    for line in table.lines:
        word, *words = line.split()
        if word == "cpu":
            cpu, _, _, _, enabled, _, running, *events = words
            if int(enabled):
                ratios[cpu] = min(ratios.get(cpu, 1), int(running) / int(enabled))
            for event, total in zip(events[::3], events[2::3]):
                table.add("memstat_cpu_event_total", int(total), cpu=cpu, event=event)
        elif not table.common(word, " ".join(words)):
            table.unknown(line)
    for cpu, ratio in ratios.items():
        table.add("memstat_cpu_event_running_ratio", ratio, cpu=cpu)


def malloc_events(table, _):
    """FreeBSD's malloc(9): a type's probes, with a row for each CPU and size. A probe has the name of its type, with _ for blanks."""
    types = {dict(labels)["type"].replace(" ", "_"): dict(labels)["type"]
             for metric, labels in table.add.values if metric == "memstat_type_bytes" and dict(labels)["allocator"] == "malloc"}
    figures = dict(line.split(" ") for line in table.lines[:3])
    if figures.pop("dtmalloc") != "1":
        table.unknown(table.lines[0])
    table.lost("malloc_unplaced", int(figures["unplaced"]))
    table.lost("malloc_dropped", int(figures["dropped"]))
    totals = dict.fromkeys(("malloc", "free", "malloc_failure"), 0)
    total_bytes = {"malloc": 0, "free": 0}
    name, failures = None, {}
    for line in table.lines[3:]:
        word, _, rest = line.partition(" ")
        if word == "probe":
            name = types[rest]
            failures[name] = 0
            continue
        cpu, *numbers = map(int, rest.split())
        if word == "large":
            size, (allocations, allocated, frees, freed) = "larger", numbers
        elif word == "size":
            size, allocations, frees = numbers
            allocated, freed = allocations * size, frees * size
        else:
            table.unknown(line)
        if size == 0:
            failures[name] += allocations
            totals["malloc_failure"] += allocations
            if allocations:
                table.add("memstat_malloc_events_total", allocations, type=name, cpu=str(cpu), event="malloc_failure")
            allocations = allocated = frees = freed = 0
        for event, number, size_bytes in (("malloc", allocations, allocated), ("free", frees, freed)):
            table.add("memstat_malloc_events_total", number, type=name, cpu=str(cpu), event=event)
            table.add("memstat_malloc_event_bytes_total", size_bytes, type=name, cpu=str(cpu), event=event)
            if size != 0:
                table.add("memstat_malloc_size_events_total", number, type=name, size=str(size), event=event)
            totals[event] += number
            total_bytes[event] += size_bytes
    for event, number in totals.items():
        table.add("memstat_vm_events_total", number, event=event)
    for event, number in total_bytes.items():
        table.add("memstat_vm_event_bytes_total", number, event=event)
    for name, number in failures.items():
        table.add.type("malloc", name, failures_total=number)


def kernel_log(table, _, known=None):
    """Events of the kernel's log, which the capture has as counts and lines."""
    known = known or LOG_LINES
    if table.lines[0] != "kernel_log 1":
        table.unknown(table.lines[0])
    lines = dict.fromkeys(known, 0)
    counts, event = {}, None
    for line in table.lines[1:]:
        word, _, rest = line.partition(" ")
        if word == "lost":
            if known is LOG_LINES:
                table.add("memstat_kernel_log_lost_records_total", int(rest))
        elif word == "count":
            counts[rest.split()[0]] = int(rest.split()[1])
        elif word == "event":
            event = rest.split()[0]
        elif word == "text":
            if not re.match(known[event], rest):
                raise AssertionError(f"{table.source}: no {event}: {rest}")
            lines[event] += 1
        elif word == "more":
            if event == "oom_kill" and re.search(r",pid=(\d+),", rest)[1] != re.search(r"Killed process (\d+)", text)[1]:
                raise AssertionError(f"{table.source}: two kills joined: {rest}")
        else:
            table.unknown(line)
        text = rest
    for event, count in counts.items():
        if count < lines[event]:
            raise AssertionError(f"{table.source}: {count} {event}, with {lines[event]} lines")
        if known is SERVICE_LOG_LINES:
            table.add("memstat_program_kills_total", count)
            continue
        table.add("memstat_kernel_log_events_total", count, event=event)
        if event == "oom_kill" and known is FREEBSD_LOG_LINES:  # Linux counts kills itself
            table.add("memstat_oom_kills_total", count)


def freebsd_kernel_log(table, by_cpu):
    kernel_log(table, by_cpu, FREEBSD_LOG_LINES)


def service_log(table, by_cpu):
    kernel_log(table, by_cpu, SERVICE_LOG_LINES)


def tmpfs(table, _):
    """Mounts of tmpfs, which the capture has as lines."""
    if table.lines[0] != "tmpfs 1":
        table.unknown(table.lines[0])
    for line in table.lines[1:]:
        word, *rest = line.split(" ")
        if word == "mount" and len(rest) == 5:
            for metric, number in zip(("bytes", "limit_bytes", "files", "limit_files"), map(int, rest)):
                table.add(f"memstat_tmpfs_{metric}", number if number or metric != "limit_files" else None, mount=rest[4])
        elif word == "left_out":
            table.add("memstat_tmpfs_mounts_left_out", int(rest[0]))
            table.add("memstat_tmpfs_left_out_bytes", int(rest[1]))
        else:
            table.unknown(line)


def view(table, _):
    """What cannot be seen of the machine."""
    if table.lines[0] != "view 1":
        table.unknown(table.lines[0])
    for line in table.lines[1:]:
        word, _, reason = line.partition(" ")
        if word == "lacks" and reason:
            table.add("memstat_partial_view", 1, reason=reason)
        else:
            table.unknown(line)


# What rctl(8) counts of a jail, by the metric that has it; FIGURES are figures of its type.
FIGURES = {"memoryuse": "bytes", "maxproc": "objects", "vmemoryuse": "address_space_bytes"}
RESOURCES = {"vmemoryuse": "bytes", "swapuse": "bytes", "memorylocked": "bytes", "shmsize": "bytes", "openfiles": "objects", "nthr": "objects", "pseudoterminals": "objects"}


def jails(table, _):
    """Jails in the words of rctl(8), each with the rules that follow it."""
    if table.lines[0] != "jails 1":
        table.unknown(table.lines[0])
    found, limits = {}, {}
    counted = 0
    for line in table.lines[1:]:
        word, _, rest = line.partition(" ")
        if word == "jail":
            by, amounts, name = rest.split(" ", 2)
            counted += by == "racct"
            amounts = dict(one.split("=") for one in amounts.split(","))
            found[name] = {FIGURES[each]: int(amount) for each, amount in amounts.items() if each in FIGURES}
            for each, metric in RESOURCES.items():
                table.add(f"memstat_jail_{metric}", int(amounts[each]) if each in amounts else None, jail=name, resource=each)
        elif word == "rule":
            resource, action, amount = re.fullmatch(r"(\w+):(\w+)=(\d+)", rest).groups()
            limits.setdefault((name, resource, action), []).append(int(amount))
        else:
            table.unknown(line)
    for (name, resource, action), amounts in limits.items():
        table.add("memstat_jail_limit", min(amounts), jail=name, resource=resource, action=action)
        if resource in ("memoryuse", "maxproc") and action == "deny":
            found[name]["limit_" + FIGURES[resource]] = min(amounts)
    for name, figures in found.items():
        table.add.type("jail", name, **figures)
    table.add("memstat_jails", len(found))
    table.add("memstat_jails_counted", counted if counted == len(found) else None)


# How the lines begin (Documentation/ABI/testing/dev-kmsg has the records, mm/ and net/ the lines).
LOG_LINES = {"oom_kill": "((Memory cgroup out|Out) of memory: )?Killed process ", "page_allocation_failure": ".{0,15}: page allocation failure",
             "slab_allocation_failure": "SL[UA]B: Unable to allocate", "vmalloc_failure": ".{0,15}: vmalloc error|vmap allocation|vmalloc_node", "conntrack_full": "nf_conntrack: ",
             "neighbours_full": "neighbour: ", "files_full": "VFS: file-max limit", "pids_full": "cgroup: fork rejected by pids controller in ",
             "tcp_memory_full": "TCP: out of memory", "orphans_full": "TCP: too many orphaned", "memory_error": "Memory failure: |EDAC MC|{",
             "memory_error_corrected": "mce: |EDAC MC", "time_wait_full": "TCP: time wait bucket",
             "page_pool_stalled": "page_pool_release_retry", "suppressed": ".* callbacks suppressed$", "paging_error": "(Read|Write)-error on swap-device ",
             "audit_full": "audit: (backlog limit exceeded|audit_backlog=|kauditd hold queue)", "cache_leaked": "BUG |kmem_cache_destroy ", "leak_suspected": "kmemleak: ",
             "percpu_failure": "percpu: allocation failed", "routes_full": "Route cache is full", "syn_queue_full": "TCP: .*Possible SYN flooding",
             "rcu_stall": "(rcu: )?INFO: rcu_", "device_held": "unregister_netdevice: waiting for ",
             "memory_error_injected": ".*Injecting memory failure ", "nobody_to_kill": "Out of memory and no|Kernel panic", "reaper_failed": "oom_reaper: unable",
             "bounce_buffers_full": ".*(swiotlb|SW-IOMMU|SWIOTLB)", "allocation_waits": ".*(memory allocation deadlock|page allocation stalls)",
             "cma_failure": "cma: .*alloc failed", "huge_pages_refused": "HugeTLB: allocating|hugetlb_cma: ", "commit_refused": "__vm_enough_memory: ",
             "victim_exiting": "(Memory cgroup out|Out) of memory.*: OOM victim ",
             "unrecognized": "(?i).*(out of memory|allocat|table full|overflow)"}
# Of FreeBSD (kern/kern_sig.c, kern_descrip.c, kern_fork.c, kern_thread.c, sys_pipe.c, uipc_socket.c, vm/swap_pager.c, uma_core.c, vm_fault.c).
FREEBSD_LOG_LINES = {"oom_kill": ".*, was killed: (failed to reclaim memory|a thread waited too long to allocate a page|out of swap space)$",
                     "files_full": r"kern\.maxfiles limit exceeded by uid \d+, ", "processes_full": r"maxproc limit exceeded by uid \d+ ",
                     "threads_full": r"maxthread limit exceeded by uid \d+ ", "zone_full": r"\[zone: .*\] .* limit reached$",
                     "pipes_full": r"kern\.ipc\.maxpipekva exceeded", "accept_queue_full": "sonewconn: pcb .*: Listen queue overflow: ",
                     "swap_full": r"swap_pager: out of swap space|swp_pager_getswapspace\(\d+\): failed",
                     "swap_table_full": "swap (blk|pctrie) zone exhausted, ", "swap_reservation_refused": r"uid \d+, pid \d+: swap reservation ",
                     "cache_leaked": r"Freed UMA keg \(.*\) was not empty",
                     "paging_error": "vm_fault: pager read error, |swap_pager: I/O error - ",
                     "unrecognized": "(?i).*(out of memory|allocat|table full|overflow)"}
# Of programs, behind their names (src/oom of systemd, kill.c of earlyoom, nohang, BaseKillPlugin.cpp of oomd, pkg/kubelet/eviction).
SERVICE_LOG_LINES = {"program_kill": "systemd-oomd: (Killed|Marked) /|earlyoom: sending SIG(TERM|KILL) to process [0-9]+ |nohang: Sending SIG(TERM|KILL) to the victim$"
                                     "|oomd: Trying to kill /|kubelet: .*evicted successfully"}
READERS = {"linux_slab_events": slab_events, "linux_vm_events": vm_events, "linux_call_sites": call_sites, "cpu_counters": cpu_counters,
           "freebsd_dtmalloc": malloc_events, "linux_kernel_log": kernel_log, "freebsd_kernel_log": freebsd_kernel_log, "linux_service_log": service_log,
           "linux_tmpfs": tmpfs, "linux_view": view, "freebsd_jail": jails}


def tables(texts, add, cpus, page_size):
    """`texts`: {source: bytes} of one poll."""
    for source, text in texts.items():
        table = Table(source, text, add)
        if source == "linux_slab_bpf":
            slab_caches(table, cpus, page_size)
        else:
            READERS[source](table, cpus)
        add("memstat_source_up", 1, source=source)
