#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The expected page of a FreeBSD: sysctls as described by sys/malloc.h, sys/vm/uma.h, vm_meter(9) and sysctl(8).

Shares no code with memstatd. Numbers in sysctls have the capture's format: little-endian integers of 2, 4 or 8 bytes."""
import re
import struct

NAME_SIZE = 32
CPU_SIZE = 64
SECONDARY = 1  # UTH_ZONE_SECONDARY
# struct uma_type_header behind the name: ten integers of 32 bits and six counters.
ZONE = struct.Struct("<32s10I5Q8x")
QUEUES = ("free", "active", "inactive", "laundry", "unswappable")
# type: (used, limit, free, failures, sleeps, allocations), sysctls; pairs are those of kern.ipc.sfstat.
TABLES = {
    "files": ("kern.openfiles", "kern.maxfiles", None, None, None, None),
    "vnodes": ("vfs.numvnodes", "kern.maxvnodes", "vfs.freevnodes", None, "vfs.vnode.stats.alloc_sleeps", "vfs.vnodes_created"),
    "sockets": ("kern.ipc.numopensockets", "kern.ipc.maxsockets", None, None, None, None),
    "processes": ("vm.uma.PROC.stats.current", "kern.maxproc", None, None, None, None),
    "threads": ("vm.uma.THREAD.stats.current", "kern.maxthread", None, None, None, None),
    "sf_bufs": ("kern.ipc.nsfbufsused", "kern.ipc.nsfbufs", None, ("kern.ipc.sfstat", 8), ("kern.ipc.sfstat", 9), None),
    "buffer_headers": ("kern.nbuf", "kern.nbuf", "vfs.numfreebuffers", None, None, None),
    "aio_jobs": ("vfs.aio.num_queue_count", "vfs.aio.max_aio_queue", None, None, None, None),
    "inotify_watches": ("vfs.inotify.watches", "vfs.inotify.max_watches", None, None, None, None),
}
BYTES_TABLES = {
    "pipe_buffers": ("kern.ipc.pipekva", "kern.ipc.maxpipekva", None, "kern.ipc.pipeallocfail", None),
    "buffer_space": ("vfs.bufspace", "vfs.maxbufspace", None, "vfs.numbufallocfails", "vfs.getnewbufcalls"),
    "kmem": ("vm.uma_kmem_total", "vm.uma_kmem_limit", None, None, None),
    "kernel_address_space": ("vm.kvm_size", "vm.kvm_size", "vm.kvm_free", None, None),
}
PAGE_EVENTS = {"daemon_wakeup": "vm.stats.vm.v_pdwakeups", "daemon_shortfall": "vm.stats.vm.v_pdshortfalls",
               "reactivated": "vm.stats.vm.v_reactivated", "transit_wait": "vm.stats.vm.v_intrans",
               "daemon_lock_miss": "vm.pageout_lock_miss", "reservation_broken": "vm.reserv.broken",
               "reservation_reclaimed": "vm.reserv.reclaimed", "large_page_reclaim": "vm.largepages.reclaim_tries"}
SCANS = {"active": "actpdpgs", "inactive": "inactpdpgs", "laundry": "laundpdpgs", "unswappable": "unswppdpgs"}
WATERMARKS = (("free_min", "free", "min"), ("free_reserved", "free", "reserved"), ("free_severe", "free", "severe"),
              ("free_target", "free", "target"), ("inactive_target", "inactive", "target"))


class Sysctls:
    """The sysctls of one poll: {name: bytes}."""

    def __init__(self, files, poll, page_size):
        start = f"{poll}/sysctl/"
        self.values = {path[len(start):]: content for path, content in files.items() if path.startswith(start) and isinstance(content, bytes)}
        self.page_size = page_size

    def __call__(self, name):
        """A number, None if the sysctl does not exist; negative numbers are 0, as for no limit."""
        place = 0
        if isinstance(name, tuple):
            name, place = name
            if name in self.values and len(self.values[name]) not in (80, 88):  # kernels from 11.0 on
                return None
        content = self.values.get(name) if name else None
        if content is None:
            return None
        content = content[8 * place:8 * place + 8] if place else content
        return max(0, int.from_bytes(content, "little", signed=True)) if len(content) in (2, 4, 8) else None

    def text(self, name):
        return self.values[name].split(b"\0")[0].decode() if name in self.values else None

    def pages(self, name):
        number = self(name)
        return None if number is None else number * self.page_size


def text_of(name):
    return name.split(b"\0")[0].decode("utf-8", "replace")


class Types:
    """Types with one name are one on the page: amounts are added up; sizes are shown if all agree, limits if all have one."""

    def __init__(self, add, allocator):
        self.add, self.allocator, self.members = add, allocator, {}

    def __call__(self, name, sums, alike=None, limits=None):
        self.members.setdefault(name, []).append((sums, alike or {}, limits or {}))

    def finish(self):
        for name, members in self.members.items():
            figures = {}
            for sums, _, _ in members:
                for figure, value in sums.items():
                    if value is not None:
                        figures[figure] = figures.get(figure, 0) + value
            for figure in members[0][1]:
                values = {alike.get(figure) for _, alike, _ in members}
                if len(values) == 1:
                    figures[figure] = values.pop()
            for figure in members[0][2]:
                values = [limits.get(figure) for _, _, limits in members]
                figures[figure] = sum(values) if all(values) else None
            self.add.type(self.allocator, name, **figures)


def malloc(sysctls, add, cpus):
    stream = sysctls.values["kern.malloc_stats"]
    _, slots, count, _ = struct.unpack_from("<4I", stream)
    sizes = sysctls.values.get("vm.malloc.zone_sizes", b"")
    classes = [number for number, in struct.iter_unpack("<I", sizes[:len(sizes) // 4 * 4]) if number]
    classes = classes[:next((at for at in range(1, len(classes)) if classes[at] <= classes[at - 1]), len(classes))]
    types, used = Types(add, "malloc"), {}
    at = 16
    for _ in range(count):
        name = text_of(stream[at:at + NAME_SIZE])
        rows = [struct.unpack_from("<5Q", stream, at + NAME_SIZE + cpu * CPU_SIZE) for cpu in range(slots)]
        at += NAME_SIZE + slots * CPU_SIZE
        allocated, freed, allocations, frees = (sum(row[figure] for row in rows) for figure in range(4))
        types(name, {"bytes": max(allocated - freed, 0), "objects": max(allocations - frees, 0), "allocations_total": allocations,
                     "frees_total": frees, "allocated_bytes_total": allocated, "freed_bytes_total": freed})
        for row in rows:
            used[name] = used.get(name, 0) | row[4]
        for cpu, row in enumerate(rows[:cpus]):
            for figure, value in zip(("allocated_bytes", "freed_bytes", "allocations", "frees"), row):
                add(f"memstat_cpu_{figure}_total", value, allocator="malloc", type=name, cpu=str(cpu))
    types.finish()
    for name, mask in used.items():
        for number, size in enumerate(classes):
            if mask >> number & 1:
                add("memstat_type_size_class_used", 1, allocator="malloc", type=name, size=str(size))


def zones(sysctls, add, cpus):
    stream = sysctls.values["vm.zone_stats"]
    _, slots, count, _ = struct.unpack_from("<4I", stream)
    types, records = Types(add, "uma"), []
    at = 16
    for _ in range(count):
        (raw, _, size, rsize, _, limit, pages, keg_free, zone_free, _, flags, allocs, frees, fails, sleeps, xdomain) = ZONE.unpack_from(stream, at)
        name = text_of(raw)
        rows = [struct.unpack_from("<3Q", stream, at + ZONE.size + cpu * CPU_SIZE) for cpu in range(slots)]
        at += ZONE.size + slots * CPU_SIZE
        frees += sum(row[1] for row in rows)
        allocs = max(allocs + sum(row[0] for row in rows), frees)
        owns_keg = rsize != 0 and not flags & SECONDARY
        types(name, {"bytes": (allocs - frees) * size, "objects": allocs - frees, "allocations_total": allocs, "frees_total": frees,
                     "failures_total": fails, "sleeps_total": sleeps, "cross_domain_frees_total": xdomain, "zone_free_objects": zone_free,
                     "free_objects": sum(row[2] for row in rows) + zone_free + (keg_free if owns_keg else 0),
                     "keg_free_objects": keg_free if owns_keg else None, "held_bytes": pages * sysctls.page_size if owns_keg else None},
              {"object_size_bytes": size, "object_footprint_bytes": rsize or None}, {"limit_objects": limit, "limit_bytes": limit * size})
        for cpu, row in enumerate(rows[:cpus]):
            for metric, value in zip(("allocations_total", "frees_total", "free_objects"), row):
                add(f"memstat_cpu_{metric}", value, allocator="uma", type=name, cpu=str(cpu))
        records.append((name, flags & SECONDARY, rsize, zone_free, keg_free))
    types.finish()
    zone_tree(sysctls, add, records)


def zone_tree(sysctls, add, records):
    """vm.uma.NAME: of zones of one name, the stream has the youngest first, which has the highest number behind its name."""
    # Recordings of memstatd have no sizes.
    nodes = {name.split(".")[2] for name in sysctls.values if re.match(r"vm\.uma\.[^.]+\.(?:size|limit\.max_items|keg\.name)$", name)}
    domains = {int(match[1]) for name in sysctls.values if (match := re.match(r"vm\.uma\.[^.]+\.(?:keg\.)?domain\.(\d+)\.", name))}
    if not nodes:
        return
    types, left, wide = Types(add, "uma"), {}, {}
    for name, *_ in records:
        left[name] = left.get(name, 0) + 1
    for name, is_secondary, rsize, zone_free, keg_free in records:
        left[name] -= 1
        node = re.sub(r"[./\\ -]", "_", name) + (f"_{left[name]}" if left[name] else "")
        if node not in nodes:
            continue

        def number(leaf, node=node):
            return sysctls(f"vm.uma.{node}.{leaf}")

        has_keg = rsize != 0 and not is_secondary
        pages = {domain: number(f"keg.domain.{domain}.pages") for domain in domains} if has_keg else {}
        limit = number("limit.max_items")
        figures = {"sleepers": number("limit.sleepers") if limit else None}
        if pages and None not in pages.values() and number("keg.ppera"):
            figures["slabs"] = sum(pages.values()) // number("keg.ppera")
        utilization = number("keg.efficiency") if has_keg else None
        types(name, figures, {"slab_utilization_ratio": None if utilization is None else utilization / 100})
        wide.setdefault(name, []).append(limit)
        for domain in domains:
            labels = {"allocator": "uma", "type": name, "node": str(domain)}
            zone_items, keg_items = number(f"domain.{domain}.nitems") or 0, number(f"keg.domain.{domain}.free_items") or 0
            if len(domains) == 1:  # with one domain the stream has them, too, from a moment earlier
                zone_items, keg_items = zone_free, keg_free
            add("memstat_node_free_objects", zone_items + (keg_items if has_keg else 0), **labels)
            add("memstat_node_held_bytes", (pages.get(domain) or 0) * sysctls.page_size, **labels)
    types.finish()
    for name, limits in wide.items():  # the stream has the lower 32 bits of a limit, the tree all 64
        if all(limits):
            add.values["memstat_type_limit_objects", (("allocator", "uma"), ("type", name))] = sum(limits)


def sysv(sysctls, add):
    """Arrays of struct shmid_kernel, semid_kernel and msqid_kernel of a 64-bit kernel; allocated ones have a bit in the mode, queues room."""
    arrays = {}
    for name, size in (("shmsegs", 104), ("sema", 80), ("msqids", 120)):
        content = sysctls.values.get(f"kern.ipc.{name}")
        if content is not None and len(content) % size == 0:
            arrays[name] = [content[at:at + size] for at in range(0, len(content), size)]

    def at(code, one, offset):
        return struct.unpack_from(code, one, offset)[0]

    if "shmsegs" in arrays:
        used = [one for one in arrays["shmsegs"] if at("<H", one, 16) & 0o4000]
        pages = sysctls("kern.ipc.shmall")
        add.type("table", "sysv_shm", objects=len(used), bytes=sum(at("<Q", one, 32) for one in used),
                 limit_objects=sysctls("kern.ipc.shmmni") or None, limit_bytes=pages * sysctls.page_size if pages else None)
        add("memstat_sysv_shm_unattached_objects", sum(at("<i", one, 48) == 0 for one in used))
    if "sema" in arrays:
        used = [one for one in arrays["sema"] if at("<H", one, 16) & 0o1000]
        add.type("table", "sysv_sem", objects=len(used), limit_objects=sysctls("kern.ipc.semmni") or None)
        add.type("table", "sysv_semaphores", objects=sum(at("<H", one, 40) for one in used), limit_objects=sysctls("kern.ipc.semmns") or None)
    if "msqids" in arrays:
        used = [one for one in arrays["msqids"] if at("<Q", one, 64)]
        add.type("table", "sysv_msg", objects=len(used), bytes=sum(at("<Q", one, 48) for one in used),
                 limit_objects=sysctls("kern.ipc.msgmni") or None)
        add.type("table", "sysv_messages", objects=sum(at("<Q", one, 56) for one in used), limit_objects=sysctls("kern.ipc.msgtql") or None)


def tables(sysctls, add):
    for name, (used, limit, free, failures, sleeps, allocations) in TABLES.items():
        number, bound, spare = sysctls(used), sysctls(limit), sysctls(free)
        if number is None or used == limit and spare is None:
            continue
        kept_back = {"files": 1, "processes": 2, "threads": 1}.get(name, 0)
        add.type("table", name, objects=max(0, number - (spare or 0)), free_objects=spare, limit_objects=bound - kept_back if bound else None,
                 failures_total=sysctls(failures), sleeps_total=sysctls(sleeps), allocations_total=sysctls(allocations))
        if bound and kept_back:
            add("memstat_table_soft_limit_objects", bound - {"files": bound // 20 + 1, "processes": 12, "threads": 101}[name], type=name)
    for name, (used, limit, free, failures, allocations) in BYTES_TABLES.items():
        number = sysctls(used)
        if number is not None:
            add.type("table", name, bytes=number - (sysctls(free) or 0), limit_bytes=sysctls(limit) or None, failures_total=sysctls(failures),
                     allocations_total=sysctls(allocations))
    sysv(sysctls, add)
    add.type("table", "process_threads", limit_objects=sysctls("kern.threads.max_threads_per_proc") or None,
             failures_total=sysctls("kern.threads.max_threads_hits"))
    add.type("table", "accept_queues", limit_objects=sysctls("kern.ipc.soacceptqueue") or None)
    add.type("table", "socket_buffers", limit_bytes=sysctls("kern.ipc.maxsockbuf") or None)
    for kind in ("piperesizefail", "pipefragretry"):
        add("memstat_table_events_total", sysctls(f"kern.ipc.{kind}"), type="pipe_buffers", kind=kind)
    reserved = sysctls("vm.swap_reserved")
    if reserved is not None:
        is_limited = (sysctls("vm.overcommit") or 0) & 5 == 1
        add.type("table", "swap_reservations", bytes=reserved, limit_bytes=(sysctls("vm.swap_total") or None) if is_limited else None)
    wired, most = sysctls("vm.stats.vm.v_user_wire_count"), sysctls("vm.max_user_wired")
    if wired is not None:
        add.type("table", "user_wired", objects=wired, bytes=wired * sysctls.page_size, limit_objects=most or None,
                 limit_bytes=most * sysctls.page_size if most else None, object_size_bytes=sysctls.page_size)


def pages(sysctls, add):
    count = {name: sysctls(f"vm.stats.vm.v_{name}") for name in
             ("page_count", "free_count", "wire_count", "active_count", "inactive_count", "laundry_count", "cache_count", "user_wire_count")}
    size = sysctls.page_size

    def queue(name, number):
        is_free = name.endswith("free")
        add.type("page", name, bytes=None if is_free else number * size, objects=None if is_free else number, held_bytes=number * size,
                 free_objects=number if is_free else None, object_size_bytes=size)

    domains = sorted({int(match[1]) for name in sysctls.values if (match := re.match(r"vm\.domain\.(\d+)\.stats\.", name))})
    scanned = dict.fromkeys(SCANS, 0)
    unswappable = 0
    for domain in domains:
        stats = f"vm.domain.{domain}.stats."
        for name in QUEUES:
            number = sysctls(stats + ("free_count" if name == "free" else name))
            if number is not None:
                queue(f"domain {domain} {name}", number)
                unswappable += number if name == "unswappable" else 0
        add("memstat_page_daemon_wanted_pages", sysctls(f"vm.domain.{domain}.pidctrl.output"), node=str(domain))
        for leaf, zone, watermark in WATERMARKS:
            add("memstat_zone_watermark_bytes", sysctls.pages(stats + leaf), node=str(domain), zone=zone, watermark=watermark)
        for name, leaf in SCANS.items():
            scanned[name] += sysctls(stats + leaf) or 0
    queue("wired", count["wire_count"])
    for name, number in scanned.items():
        add("memstat_reclaim_scanned_pages_total", number, by=name)
    add("memstat_zone_watermark_bytes", sysctls.pages("vm.stats.vm.v_pageout_free_min"), node="all", zone="free", watermark="pageout_min")
    add("memstat_zone_watermark_bytes", sysctls.pages("vm.stats.vm.v_interrupt_free_min"), node="all", zone="free", watermark="interrupt_min")
    parts = {name: (count[name + "_count"] or 0) * size for name in ("active", "inactive", "laundry", "cache")}
    parts |= {"unswappable": unswappable * size, "set_aside": sysctls.pages("vm.stats.page.nofreeq_size"), "kmem": sysctls("vm.uma_kmem_total"),
              "page_tables": sysctls.pages("vm.pmap.kernel_pt_page_count") + sysctls.pages("vm.pmap.user_pt_page_count"),
              "pv_entries": sysctls.pages("vm.pmap.pv_page_count"), "buffers": sysctls("vfs.bufspace") - sysctls("vfs.bufmallocspace"),
              "user_wired": count["user_wire_count"] * size}
    held = sum(parts[name] for name in ("kmem", "page_tables", "pv_entries", "buffers", "user_wired"))
    parts["wired_other"] = max(0, count["wire_count"] * size - held)
    # Locked pages that are still in the active queue count as locked only.
    twice = sum(parts.values()) - (count["page_count"] - count["free_count"]) * size
    parts["active"] -= max(0, min(twice, count["user_wire_count"] * size, parts["active"]))
    for name, number in parts.items():
        add("memstat_accounted_bytes", number, part=name)
    total = count["page_count"] * size
    add("memstat_unaccounted_bytes", total - count["free_count"] * size - sum(parts.values()))
    add("memstat_memory_total_bytes", total)
    arc = [sysctls(f"kstat.zfs.misc.arcstats.{leaf}") for leaf in ("size", "c", "c_min")]
    for value, name in zip(arc, ("", "target_", "min_")):
        add(f"memstat_zfs_arc_{name}bytes", value)
    add("memstat_memory_available_bytes", (count["free_count"] + count["inactive_count"] + (count["cache_count"] or 0)) * size +
        (0 if None in arc else max(0, min(arc[:2]) - arc[2])))
    add("memstat_page_frees_total", sysctls("vm.stats.vm.v_tfree"))
    add("memstat_reclaimed_pages_total", sysctls("vm.stats.vm.v_dfree"), by="page_daemon")
    for kind, name in PAGE_EVENTS.items():
        add("memstat_page_events_total", sysctls(name), kind=kind)
    for pager in ("swap", "vnode"):
        for direction in ("in", "out"):
            add("memstat_paged_pages_total", sysctls(f"vm.stats.vm.v_{pager}pgs{direction}"), pager=pager, direction=direction)


# Places in struct tcpstat (sys/netinet/tcp_var.h) of 15.0, which has 125 counters; of 13.0, which has 113, they are one lower.
TCP = {"tcps_rcvreassfull": 33, "tcps_listendrop": 63, "tcps_sc_dropped": 68, "tcps_sc_bucketoverflow": 70, "tcps_sc_cacheoverflow": 71,
       "tcps_sc_zonefail": 77, "tcps_sc_sendcookie": 78}
TCP_STATES = "closed listen syn_sent syn_received established close_wait fin_wait_1 closing last_ack fin_wait_2 time_wait".split()


def tcp(sysctls, add):
    counters = [number for number, in struct.iter_unpack("<Q", sysctls.values["net.inet.tcp.stats"])]
    for kind, place in TCP.items():
        if len(counters) in (113, 125):
            add("memstat_socket_events_total", counters[place - (len(counters) == 113)], type="TCP", kind=kind)
    for state, (count,) in zip(TCP_STATES, struct.iter_unpack("<q", sysctls.values["net.inet.tcp.states"])):
        add("memstat_tcp_connections", max(0, count), state=state)


def memory(sysctls, add):
    """Free blocks as sysctl_vm_phys_free() prints them, and devices of struct xswdev of 32 bytes."""
    size = sysctls.page_size
    for domain, lists in re.findall(r"DOMAIN (\d+):\n(.*?)(?=\nDOMAIN|\Z)", sysctls.text("vm.phys_free"), re.S):
        for number, rows in re.findall(r"FREE LIST (\d+):\n(.*?)(?=\nFREE LIST|\Z)", lists, re.S):
            largest = 0
            for order, pools in re.findall(r"^ *(\d+) \( *\d+K\)((?: *\| *\d+)+)", rows, re.M):
                blocks = sum(map(int, re.findall(r"\d+", pools)))
                add("memstat_buddy_free_blocks", blocks, node=domain, zone=number, order=order)
                largest = max(largest, blocks and size << int(order))
            add("memstat_zone_largest_free_block_bytes", largest, node=domain, zone=number)
    devices = [struct.unpack_from("<ii", content, 20) for name, content in sorted(sysctls.values.items()) if name.startswith("vm.swap_info.")]
    for device, (blocks, used) in enumerate(devices):
        add("memstat_swap_device_bytes", blocks * size, device=str(device))
        add("memstat_swap_device_used_bytes", used * size, device=str(device))
    add("memstat_swap_total_bytes", sum(blocks for blocks, _ in devices) * size)
    add("memstat_swap_free_bytes", sum(blocks - used for blocks, used in devices) * size)


def expect(sysctls, add, release):
    cpus = sysctls("kern.smp.maxid") + 1
    for name, source, rule in (("kern.malloc_stats", "freebsd_malloc", lambda: malloc(sysctls, add, cpus)),
                               ("vm.zone_stats", "freebsd_uma", lambda: zones(sysctls, add, cpus)),
                               ("vm.stats.vm.v_page_count", "freebsd_vm", lambda: pages(sysctls, add)),
                               ("vm.phys_free", "freebsd_memory", lambda: memory(sysctls, add)),
                               ("net.inet.tcp.stats", "freebsd_tcp", lambda: tcp(sysctls, add)),
                               ("kern.maxfiles", "freebsd_table", lambda: tables(sysctls, add))):
        if name in sysctls.values:
            rule()
            add("memstat_source_up", 1, source=source)
    add("memstat_kernel_info", 1, os="freebsd", release=release)
    boot = sysctls.values.get("kern.boottime")
    if boot:
        add("memstat_boot_timestamp_seconds", struct.unpack_from("<q", boot)[0])
