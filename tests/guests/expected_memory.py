#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The expected page for memory as a whole: accounts, zones, reclaim, per-CPU memory, huge pages, CMA, zswap, checkers."""
import re

ZONES = {"dma": "DMA", "dma32": "DMA32", "normal": "Normal", "high": "HighMem", "movable": "Movable", "device": "Device"}
FAILURES = {"htlb_buddy_alloc_fail": "hugetlb", "cma_alloc_fail": "cma", "thp_fault_fallback": "thp_fault",
            "thp_collapse_alloc_failed": "thp_collapse", "thp_file_fallback": "thp_file", "thp_zero_page_alloc_failed": "thp_zero_page"}
SYSTEM_COUNTERS = {"pgfree": "memstat_page_frees_total", "pgmigrate_fail": "memstat_page_migration_failures_total",
                   "compact_stall": "memstat_compaction_stalls_total", "compact_fail": "memstat_compaction_failures_total",
                   "compact_success": "memstat_compaction_successes_total", "oom_kill": "memstat_oom_kills_total",
                   "pgscan_direct_throttle": "memstat_reclaim_throttles_total", "zone_reclaim_failed": "memstat_node_reclaim_failures_total",
                   "nr_throttled_written": "memstat_throttled_written_pages_total", "pgpromote_success": "memstat_promoted_pages_total",
                   "thp_split_page": "memstat_huge_page_splits_total"}
VIEWS = {"SwapTotal": "swap_total", "SwapFree": "swap_free", "CommitLimit": "commit_limit", "Committed_AS": "committed", "Mlocked": "locked",
         "Unevictable": "unevictable", "AnonHugePages": "anonymous_huge", "Dirty": "dirty", "Writeback": "writeback"}
# Counters of vmstat with labels: metric and its labels.
LABELLED = {"pswpin": ("paged_pages", {"pager": "swap", "direction": "in"}), "pswpout": ("paged_pages", {"pager": "swap", "direction": "out"}),
            "zswpin": ("zswap_pages", {"direction": "in"}), "zswpout": ("zswap_pages", {"direction": "out"}),
            "zswpwb": ("zswap_pages", {"direction": "writeback"})}
for lru in ("anon", "file"):
    LABELLED |= {f"pgscan_{lru}": ("lru_scanned_pages", {"kind": lru}), f"pgsteal_{lru}": ("lru_reclaimed_pages", {"kind": lru}),
                 f"workingset_refault_{lru}": ("refaulted_pages", {"kind": lru})}
THREAD_CALLERS = re.compile(r" (kernel_clone|fork_idle|_do_fork|copy_process|dup_task_struct|alloc_thread_stack_node)\+0x")


def less(whole, part):
    """None if the whole is not known; files are read one after the other, so negative values are shown as 0."""
    return None if whole is None else max(0, whole - (part or 0))


def cma_areas(reading):
    areas = {}
    for path, text in reading.below("/sys/kernel/mm/cma/").items():
        area, _, file = path.partition("/")
        areas.setdefault(area, {})[file] = int(text.split()[0])
    return areas


def cma_used(area):
    if "total_pages" in area and "available_pages" in area:
        return max(0, area["total_pages"] - area["available_pages"])
    if "alloc_pages_success" in area and "release_pages_success" in area:
        return max(0, area["alloc_pages_success"] - area["release_pages_success"])
    return None


def balloon_of(reading):
    """Drivers that count no event have a balloon all the same."""
    if "Balloon" in reading.meminfo():
        return reading.meminfo()["Balloon"]
    hyperv = dict(re.findall(r"^(\w+)\s*:\s*(\d+)", reading.text("/sys/kernel/debug/hv-balloon"), re.M))
    if hyperv:
        return int(hyperv["pages_ballooned"]) * int(hyperv["page_size"])
    counters = reading.keyed("/proc/vmstat")
    return less(counters["balloon_inflate"], counters.get("balloon_deflate")) * reading.page_size if counters.get("balloon_inflate") else None


def huge_pool_bytes(reading):
    """All sizes; before 4.16 meminfo has only the default one."""
    info = reading.meminfo()
    if "Hugetlb" in info:
        return info["Hugetlb"]
    pools = [int(match[1]) * 1024 * int(text) for path, text in reading.below("/sys/kernel/mm/hugepages/").items()
             if (match := re.fullmatch(r"hugepages-(\d+)kB/nr_hugepages", path))]
    return sum(pools) if pools else info.get("HugePages_Total", 0) * info["Hugepagesize"] if "Hugepagesize" in info else None


def arc_of(reading):
    """Numbers of the cache of ZFS: {name: number}."""
    rows = [line.split() for line in reading.text("/proc/spl/kstat/zfs/arcstats").splitlines()[2:]]
    return {row[0]: int(row[2]) for row in rows if len(row) == 3}


def arc_available(reading):
    arc = arc_of(reading)
    if not {"size", "c", "c_min"} <= set(arc):
        return 0
    evictable = [arc[f"{kind}_evictable_{what}"] for kind in ("mru", "mfu") for what in ("data", "metadata") if f"{kind}_evictable_{what}" in arc]
    above = max(0, min(arc["size"], arc["c"]) - arc["c_min"])
    return min(above, sum(evictable)) if evictable else above


def accounts(reading):
    """{part: bytes or None for a part that is missing}, in the order in which they are taken."""
    info = reading.meminfo()
    counters = reading.keyed("/proc/vmstat")

    def pages(name):
        return counters[name] * reading.page_size if name in counters else None

    parts = {"anonymous": info.get("AnonPages"), "page_cache": less(info.get("Cached"), info.get("Shmem")), "shared": info.get("Shmem"),
             "buffers": info.get("Buffers")}
    lists = sum(info.get(name, 0) for name in ("Active", "Inactive", "Unevictable"))
    lists += (pages("nr_isolated_anon") or 0) + (pages("nr_isolated_file") or 0)
    for name in ("AnonPages", "Cached", "Buffers"):
        lists = max(0, lists - info.get(name, 0))
    parts["swap_cache"] = min(lists, info.get("SwapCached", 0))
    parts["detached"] = lists - parts["swap_cache"]
    if "Slab" in info and "SReclaimable" not in info and "SUnreclaim" not in info:
        parts["slab"] = info["Slab"]
    else:
        parts["slab_reclaimable"] = info.get("SReclaimable")
        parts["slab_unreclaimable"] = info.get("SUnreclaim")
    if "KReclaimable" in info:
        parts["kernel_misc"] = less(info["KReclaimable"], info.get("SReclaimable"))
    stacks = parts["kernel_stacks"] = info.get("KernelStack")
    areas = reading.text("/proc/vmallocinfo")
    used = None if info.get("VmallocChunk") else info.get("VmallocUsed") or None  # address space before 4.4
    mapped = bool(THREAD_CALLERS.search(areas)) if areas else (used or 0) >= (stacks or 0)
    parts["vmalloc"] = less(used, stacks if mapped else 0)
    parts["page_tables"] = info.get("PageTables")
    parts["secondary_page_tables"] = info.get("SecPageTables")
    parts["percpu"] = info.get("Percpu")
    on_lists = [count for zone in reading.zones() for count in zone["cpus"].values()]
    parts["per_cpu_pages"] = sum(on_lists) * reading.page_size if on_lists else None
    parts["memory_map"] = pages("nr_memmap_pages")
    if huge_pool_bytes(reading) is not None:
        parts["hugetlb"] = huge_pool_bytes(reading)
    if info.get("CmaTotal"):
        used = [cma_used(area) for name, area in cma_areas(reading).items() if not name.startswith("hugetlb")]
        parts["cma"] = None if not used or None in used else sum(used) * reading.page_size
    pool = reading.number("/sys/kernel/debug/zswap/pool_total_size")
    zswap = info.get("Zswap", pool)
    zpool = reading.text("/sys/module/zswap/parameters/zpool").strip() or "zsmalloc"
    if zswap is not None:
        parts["zswap"] = zswap
    elif zpool != "zsmalloc":
        parts["zswap"] = None
    if "nr_zspages" in counters:
        parts["zsmalloc"] = less(pages("nr_zspages"), zswap if zpool == "zsmalloc" else 0)
    for part, name in (("bounce", "Bounce"), ("writeback_copies", "WritebackTmp"), ("hardware_corrupted", "HardwareCorrupted")):
        if name in info:
            parts[part] = info[name]
    if "GPUActive" in info or "GPUReclaim" in info:
        parts["gpu"] = info.get("GPUActive", 0) + info.get("GPUReclaim", 0)
    if "/sys/kernel/tracing/buffer_total_size_kb" in reading:
        parts["tracing"] = reading.number("/sys/kernel/tracing/buffer_total_size_kb") * 1024
    if "size" in arc_of(reading):
        parts["arc"] = arc_of(reading)["size"]

    def rest():
        return max(0, info["MemTotal"] - info["MemFree"] - sum(value or 0 for value in parts.values()))

    balloon = balloon_of(reading)
    if balloon is not None:
        parts["balloon"] = balloon if rest() >= balloon else 0
    sockets = re.findall(r"^(?:TCP|UDP): .*\bmem (\d+)", reading.text("/proc/net/sockstat"), re.M)
    if sockets:
        parts["sockets"] = min(sum(map(int, sockets)) * reading.page_size, rest())
    return parts


def memory(reading, add, _):
    info = reading.meminfo()
    parts = accounts(reading)
    for part, value in parts.items():
        if value is None:
            add("memstat_accounted_part_missing", 1, part=part)
        else:
            add("memstat_accounted_bytes", value, part=part)
    add("memstat_unaccounted_bytes", info["MemTotal"] - info["MemFree"] - sum(value or 0 for value in parts.values()))
    add("memstat_memory_total_bytes", info["MemTotal"])
    add("memstat_memory_available_bytes", info["MemAvailable"] + arc_available(reading) if "MemAvailable" in info else None)
    for name, key in (("", "size"), ("target_", "c"), ("min_", "c_min")):
        add(f"memstat_zfs_arc_{name}bytes", arc_of(reading).get(key))
    for line, view in VIEWS.items():
        add(f"memstat_{view}_bytes", info.get(line))
    add("memstat_balloon_bytes", balloon_of(reading))
    add("memstat_overcommit_mode", reading.number("/proc/sys/vm/overcommit_memory"))
    counters = reading.keyed("/proc/vmstat")
    for key, kind in (("nr_dirty_background_threshold", "background"), ("nr_dirty_threshold", "throttle")):
        add("memstat_dirty_threshold_bytes", counters[key] * reading.page_size if key in counters else None, kind=kind)
    if "nr_free_pages_blocks" in counters:
        add("memstat_free_whole_block_bytes", counters["nr_free_pages_blocks"] * reading.page_size)
    add("memstat_page_pins", less(counters.get("nr_foll_pin_acquired"), counters.get("nr_foll_pin_released")))


def zones(reading, add, options):
    events = {}
    given_up = {}
    pages = {}
    for zone in reading.zones():
        zone.setdefault("managed", zone.get("present"))  # before 3.9
        for figure, kind in (("managed", "total"), ("free", "free"), ("nr_slab_reclaimable", "slab_reclaimable"),
                             ("nr_slab_unreclaimable", "slab_unreclaimable")):
            if figure in zone:
                key = zone["node"], kind
                pages[key] = pages.get(key, 0) + zone[figure]
        for name in ("hit", "miss", "foreign", "interleave", "local", "other"):
            if f"numa_{name}" in zone:
                key = zone["node"], name
                events[key] = events.get(key, 0) + zone[f"numa_{name}"]
        mark = zone.get("node_unreclaimable", zone.get("all_unreclaimable"))  # by zone before 4.8
        if mark is not None:
            given_up[zone["node"]] = min(given_up.get(zone["node"], 1), int(mark != 0))
            add.values["memstat_node_unreclaimable", (("node", zone["node"]),)] = given_up[zone["node"]]
        if not zone.get("managed"):
            continue
        if "boost" in zone:
            add("memstat_zone_boost_bytes", zone["boost"] * reading.page_size, node=zone["node"], zone=zone["zone"])
        if zone.get("cma", 1) and "nr_free_cma" in zone:
            add("memstat_zone_free_cma_bytes", zone["nr_free_cma"] * reading.page_size, node=zone["node"], zone=zone["zone"])
        name = f"node {zone['node']} {zone['zone']}"
        used = max(0, zone["managed"] - zone["free"])
        add.type("page", name, bytes=used * reading.page_size, objects=used, held_bytes=zone["managed"] * reading.page_size, free_objects=zone["free"],
                 object_size_bytes=reading.page_size, object_footprint_bytes=reading.page_size)
        for mark in ("min", "low", "high", "promo"):
            if mark in zone:
                add("memstat_zone_watermark_bytes", zone[mark] * reading.page_size, node=zone["node"], zone=zone["zone"], watermark=mark)
        for cpu, count in zone["cpus"].items():
            add("memstat_cpu_free_objects", count, allocator="page", type=name, cpu=cpu)
    for (node, kind), count in pages.items():
        if pages[node, "total"]:
            add("memstat_node_memory_bytes", count * reading.page_size, node=node, kind=kind)
    for (node, name), count in events.items():
        add("memstat_numa_events_total", count, node=node, kind=name)
    with_memory = {zone["zone"] for zone in reading.zones() if zone.get("managed", zone.get("present"))}
    for key, value in reading.keyed("/proc/vmstat").items():
        zone = ZONES.get(key.partition("_")[2])
        if key.startswith("pgalloc_") and (value or zone in with_memory):
            add("memstat_page_allocations_total", value, zone=zone)
    for (node, zone), blocks in reading.buddies().items():
        buddies(add, node, zone, blocks, reading.page_size)
    if options.get("migrate_types"):
        for node, zone, kind, order, blocks in reading.migrate_types():
            add("memstat_buddy_free_blocks_by_type", blocks, node=node, zone=zone, migrate_type=kind, order=str(order))


def buddies(add, node, zone, blocks, page_size):
    """The indexes as mm/vmstat.c computes them for extfrag_index and unusable_index of debugfs, without rounding to thousandths."""
    pages = sum(count << order for order, count in enumerate(blocks))
    highest = max((order for order, count in enumerate(blocks) if count), default=None)
    add("memstat_zone_largest_free_block_bytes", 0 if highest is None else page_size << highest, node=node, zone=zone)
    for order, count in enumerate(blocks):
        labels = {"node": node, "zone": zone, "order": str(order)}
        suitable = sum(number << (higher - order) for higher, number in enumerate(blocks) if higher >= order)
        add("memstat_buddy_free_blocks", count, **labels)
        add("memstat_unusable_free_ratio", (pages - (suitable << order)) / pages if pages else 1, **labels)
        total = sum(blocks)
        index = 0 if not total else -1 if suitable else 1 - (1 + pages / (1 << order)) / total
        add("memstat_fragmentation_index", index, **labels)


def reclaim(reading, add, _):
    sums = {}
    for key, value in reading.keyed("/proc/vmstat").items():
        if key in SYSTEM_COUNTERS:
            add(SYSTEM_COUNTERS[key], value)
        elif key in LABELLED:
            add(f"memstat_{LABELLED[key][0]}_total", value, **LABELLED[key][1])
        elif key in FAILURES:
            add("memstat_page_allocation_failures_total", value, kind=FAILURES[key])
        elif key.startswith("allocstall_"):
            add("memstat_allocation_stalls_total", value, zone=ZONES[key.removeprefix("allocstall_")])
        elif key == "allocstall":  # before 4.8
            add("memstat_allocation_stalls_total", value, zone="all")
        elif key == "workingset_refault":  # before 5.9
            add("memstat_refaulted_pages_total", value, kind="file")
        elif match := re.fullmatch(r"pg(scan|steal|demote)_(direct|kswapd|khugepaged|proactive)(?:_(?!throttle)\w+)?", key):  # by zone before 4.8
            metric = {"scan": "memstat_reclaim_scanned_pages_total", "steal": "memstat_reclaimed_pages_total", "demote": "memstat_demoted_pages_total"}[match[1]]
            sums[metric, match[2]] = sums.get((metric, match[2]), 0) + value
        elif key in ("drop_pagecache", "drop_slab"):
            add("memstat_cache_drops_total", value, kind=key.removeprefix("drop_"))
    for (metric, who), value in sums.items():
        add(metric, value, by=who)
    for path, metric in (("memory", "memstat_pressure_stall_seconds_total"), ("io", "memstat_io_pressure_stall_seconds_total")):
        for kind, seconds in reading.pressure(f"/proc/pressure/{path}").items():
            add(metric, seconds, kind=kind)


def zram(reading, add):
    for path in sorted(reading.files):
        match = re.fullmatch(r"/sys/block/(zram[0-3])/mm_stat", path)
        if not match:
            continue
        for part, value in zip(("original", "compressed", "held", "limit", "peak"), map(int, reading.words(path))):
            if part != "limit" or value:
                add("memstat_zram_bytes", value, device=match[1], part=part)


def pools(reading, add, _):
    """Memory of CPUs, huge pages, CMA, zswap and zram."""
    zram(reading, add)
    info = reading.meminfo()
    if "Percpu" in info:
        statistics = reading.keyed("/sys/kernel/debug/percpu_stats")
        figures = {"objects": "nr_cur_alloc", "allocations_total": "nr_alloc", "frees_total": "nr_dealloc", "slabs": "nr_chunks"}
        add.type("percpu", "percpu", bytes=info["Percpu"], **{name: statistics.get(key) for name, key in figures.items()})
    huge_pages(reading, add)
    areas = cma_areas(reading)
    for name, area in areas.items():
        used = cma_used(area)
        total, done, back = (area.get(file) for file in ("total_pages", "alloc_pages_success", "release_pages_success"))
        add.type("cma", name, bytes=None if used is None else used * reading.page_size, held_bytes=None if total is None else total * reading.page_size,
                 limit_bytes=None if total is None else total * reading.page_size, failures_total=area.get("alloc_pages_fail"),
                 allocated_bytes_total=None if done is None else done * reading.page_size,
                 freed_bytes_total=None if back is None else back * reading.page_size)
    if not areas and info.get("CmaTotal"):
        add.type("cma", "all areas", bytes=info["CmaTotal"] - info["CmaFree"], held_bytes=info["CmaTotal"])
    debug = {path: int(text) for path, text in reading.below("/sys/kernel/debug/zswap/").items() if text.strip().isdigit()}
    pool = info.get("Zswap", debug.get("pool_total_size"))
    if pool is not None:
        percent = reading.number("/sys/module/zswap/parameters/max_pool_percent")
        refusals = [debug.get(name) for name in ("pool_limit_hit", "reject_alloc_fail", "reject_kmemcache_fail")]
        stored = info["Zswapped"] // reading.page_size if "Zswapped" in info else debug.get("stored_pages")
        limit = info["MemTotal"] // reading.page_size * percent // 100 * reading.page_size if percent else None
        add.type("zswap", "zswap", bytes=pool, objects=stored, limit_bytes=limit,
                 failures_total=None if None in refusals else sum(refusals))


def size_name(size):
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size % 1024 or unit == "TiB":
            return f"{size}{unit}"
        size //= 1024
    return ""


def huge_pages(reading, add):
    for path, text in reading.below("/sys/kernel/mm/hugepages/").items():
        match = re.fullmatch(r"hugepages-(\d+)kB/nr_hugepages", path)
        if not match:
            continue
        size = int(match[1]) * 1024
        name = size_name(size)
        directory = f"/sys/kernel/mm/hugepages/hugepages-{match[1]}kB/"
        number = {file: int(value) for file, value in reading.below(directory).items() if value.strip().isdigit()}
        pages, free = int(text), number["free_hugepages"]
        limit = pages - number["surplus_hugepages"] + number["nr_overcommit_hugepages"]
        add.type("hugetlb", name, bytes=(pages - free) * size, objects=pages - free, held_bytes=pages * size, object_size_bytes=size,
                 limit_objects=limit or None)
        add("memstat_hugetlb_reserved_pages", number["resv_hugepages"], type=name)
        add("memstat_hugetlb_surplus_pages", number["surplus_hugepages"], type=name)
        for path_of_node in reading.below("/sys/devices/system/node/"):
            match_node = re.fullmatch(rf"node(\d+)/hugepages/hugepages-{match[1]}kB/nr_hugepages", path_of_node)
            if not match_node:
                continue
            there = "/sys/devices/system/node/" + path_of_node
            pages, free = reading.number(there), reading.number(there.replace("/nr_", "/free_"))
            labels = {"allocator": "hugetlb", "type": name, "node": match_node[1]}
            add("memstat_node_held_bytes", pages * size, **labels)
            add("memstat_node_objects", pages - free, **labels)
            add("memstat_node_free_objects", free, **labels)


def checkers(reading, add, _):
    tainted = reading.number("/proc/sys/kernel/tainted")
    add("memstat_kernel_tainted", tainted >> 4 & 1, kind="machine_check")
    add("memstat_kernel_tainted", tainted >> 5 & 1, kind="bad_page")
    for name, kind in (("warn_count", "warning"), ("oops_count", "oops")):
        if f"/sys/kernel/{name}" in reading:
            add("memstat_kernel_reports_total", reading.number(f"/sys/kernel/{name}"), kind=kind)
    caches = {line.split()[0] for line in reading.lines("/proc/slabinfo")[2:]}
    caches = caches or {path.split("/")[0] for path in reading.below("/sys/kernel/slab/")}
    for check in ("sanity_checks", "red_zone", "poison", "store_user"):
        with_check = sum(reading.text(f"/sys/kernel/slab/{cache}/{check}").strip() == "1" for cache in caches)
        if with_check:
            add("memstat_slab_debug_caches", with_check, check=check)
    lines = dict(re.findall(r"^([^:\n]+): (\d+)$", reading.text("/sys/kernel/debug/kfence/stats"), re.M))
    if lines.get("enabled", "0") == "0" and lines.get("total allocations", "0") == "0":
        return
    for line, value in lines.items():
        skipped = re.fullmatch(r"skipped allocations \((.+)\)", line)
        if skipped:
            add("memstat_checker_skips_total", int(value), checker="kfence", kind=skipped[1])
        elif line in ("currently allocated", "zombie allocations"):
            add("memstat_checker_objects", int(value), checker="kfence", state=line.split()[0 if line[0] == "z" else 1])
        elif line in ("total allocations", "total frees", "total bugs"):
            add(f"memstat_checker_{line.split()[1]}_total", int(value), checker="kfence")


def merged_pages(reading, add, _):
    for file, name in (("pages_shared", "shared"), ("pages_sharing", "saved")):
        add(f"memstat_ksm_{name}_bytes", reading.number(f"/sys/kernel/mm/ksm/{file}") * reading.page_size)


def huge_pages_by_size(reading, add, _):
    for path, text in reading.below("/sys/kernel/mm/transparent_hugepage/").items():
        match = re.fullmatch(r"hugepages-(\d+)kB/stats/(anon_fault_alloc|anon_fault_fallback|nr_anon)", path)
        if not match:
            continue
        size = int(match[1]) * 1024
        if match[2] == "nr_anon":
            add("memstat_thp_anonymous_bytes", int(text) * size, size=size_name(size))
        else:
            add("memstat_thp_faults_total", int(text), size=size_name(size), got="huge" if match[2] == "anon_fault_alloc" else "smaller")


def idle_memory(reading, add, _):
    times = [max(0, int(time)) for time in reading.text("/sys/module/damon_stat/parameters/memory_idle_ms_percentiles").split(",")]
    if reading.text("/sys/module/damon_stat/parameters/enabled").strip() == "Y" and times[100]:
        for percent in (25, 50, 75, 90):
            add("memstat_memory_idle_seconds", times[percent] / 1000, percent=str(percent))


# The rules, and the file without which a rule expects nothing.
RULES = ((memory, "/proc/meminfo"), (zones, "/proc/zoneinfo"), (reclaim, "/proc/vmstat"), (pools, "/proc/meminfo"),
         (checkers, "/proc/sys/kernel/tainted"), (merged_pages, "/sys/kernel/mm/ksm/pages_shared"), (huge_pages_by_size, None),
         (idle_memory, "/sys/module/damon_stat/parameters/memory_idle_ms_percentiles"))
