#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The expected page for slab caches, vmalloc areas, call sites, control groups, processes, sockets and tables."""
import re

from kernel_files import placed

AREA_KINDS = ("ioremap", "dma-coherent", "sparse", "vmap", "vmalloc")
UNLIMITED = (1 << 63) - (1 << 20)  # version 1 of control groups prints 2^63 rounded down to a page
PARTS_2 = ("anon", "file", "kernel", "kernel_stack", "pagetables", "sec_pagetables", "percpu", "sock", "vmalloc", "shmem",
           "slab_reclaimable", "slab_unreclaimable", "slab", "file_dirty", "inactive_file")
TCP_EVENTS = ("PruneCalled", "RcvPruned", "OfoPruned", "ListenOverflows", "TCPReqQFullDoCookies", "TCPReqQFullDrop", "TCPRcvCollapsed", "TCPAbortFailed", "TCPMemoryPressures", "TCPBacklogDrop",
              "PFMemallocDrop", "TCPOFODrop", "TCPZeroWindowDrop", "TCPRcvQDrop", "TCPWqueueTooBig")
# Protocols whose memory is counted in the account of another: TCP's and UDP's.
SHARERS = ("TCPv6", "MPTCP", "MPTCPv6", "UDPv6", "UDP-Lite", "UDPLITEv6", "SCTPv6")


def slabs(reading, add, _):
    names, counted = [], {}
    for line in reading.lines("/proc/slabinfo")[2:]:
        head, _, tail = line.partition(" : slabdata ")
        name, active, objects, size, _, pages_per_slab = head.partition(" : ")[0].split()[:6]
        number = int(tail.split()[1])
        names.append(name)
        counted[name] = {"slabs": f"{number} N0={number}", "total_objects": f"{objects} N0={objects}"}
        directory = f"/sys/kernel/slab/{name}/"
        add.type("slab", name, bytes=int(active) * int(size), objects=int(active), object_footprint_bytes=int(size),
                 held_bytes=number * int(pages_per_slab) * reading.page_size, free_objects=int(objects) - int(active),
                 object_size_bytes=reading.number(directory + "object_size"))
    texts = {name: {file: reading.text(f"/sys/kernel/slab/{name}/{file}") for file in ("slabs", "partial", "cpu_slabs", "total_objects")}
             for name in names}
    # Of a machine with one node neither is recorded: slabinfo has both.
    if reading.text("/sys/devices/system/node/online").strip() == "0":
        texts = {name: text | counted[name] if text["partial"] and not text["slabs"] else text for name, text in texts.items()}
    if not any(text["slabs"] for text in texts.values()):
        return
    nodes = {node for text in texts.values() for node in placed(text["slabs"] or "0", "N")[1]}
    nodes = [str(int(node)) for node in nodes]
    has_cpu_slabs = any(placed(text["cpu_slabs"] or "0", "N")[0] for text in texts.values())
    # Kernels that count what moves between a sheaf and its slab have no count of allocations (6.18, 6.19).
    if not any(path.endswith("/alloc_cpu_sheaf") for path in reading.files):
        for name in names:
            slab_statistics(reading, name, add)
    for name, text in texts.items():
        if not text["slabs"]:
            continue
        labels = {"allocator": "slab", "type": name}
        number, on_nodes = placed(text["slabs"], "N")
        order = reading.number(f"/sys/kernel/slab/{name}/order")
        add("memstat_type_slabs", number, **labels)
        add("memstat_type_partial_slabs", placed(text["partial"], "N")[0], **labels)
        if has_cpu_slabs:  # kernels since 7.0 have the file, and 0 in all of them
            add("memstat_type_cpu_slabs", placed(text["cpu_slabs"], "N")[0], **labels)
        slots = placed(text["total_objects"], "N")[1]
        for node in nodes:
            if order is not None:
                add("memstat_node_held_bytes", on_nodes.get(node, 0) * reading.page_size << order, node=node, **labels)
            add("memstat_node_capacity_objects", slots.get(node, 0), node=node, **labels)


def cpus_of_zones(reading):
    return sorted({cpu for zone in reading.zones() for cpu in zone["cpus"]})


def slab_statistics(reading, name, add):
    """Of kernels with CONFIG_SLUB_STATS."""
    for what, files in (("allocations", ("alloc_fastpath", "alloc_slowpath")), ("frees", ("free_fastpath", "free_slowpath", "free_rcu_sheaf"))):
        for file in files:
            text = reading.text(f"/sys/kernel/slab/{name}/{file}")
            if text:
                total, on_cpus = placed(text, "C")
                add(f"memstat_type_{what}_total", total, allocator="slab", type=name)
                for cpu in re.findall(r"^cpu(\d+) ", reading.text("/proc/stat"), re.M) or cpus_of_zones(reading):
                    add(f"memstat_cpu_{what}_total", on_cpus.get(cpu, 0), allocator="slab", type=name, cpu=cpu)


def areas(reading, add, _):
    """A line of /proc/vmallocinfo: range, size with the guard page, caller, words."""
    lines = reading.lines("/proc/vmallocinfo")
    nodes = [int(node) for node in re.findall(r" N(\d+)=\d+", reading.text("/proc/vmallocinfo"))]
    for line in lines:
        words = line.split()
        size, rest = int(words[1]), words[2:]
        if "unpurged" in rest[:1] or rest[:2] == ["unpurged", "vm_area"]:
            add.type("vmalloc", "unknown (unpurged)", bytes=0, objects=0, free_objects=1, address_space_bytes=size)
            for node in set(nodes):
                add("memstat_node_held_bytes", 0, allocator="vmalloc", type="unknown (unpurged)", node=str(node))
            continue
        caller = re.match(r"0x\S+-0x\S+\s+\d+ ([^\s+]+)\+0x\S+(?: \[([^\]\s]+)[^\]]*\])?", line)
        name = caller[1] + (f" [{caller[2]}]" if caller[2] else "") if caller else "unknown"
        pages = int((re.search(r" pages=(\d+)", line) or [0, 0])[1])
        kind = next((kind for kind in AREA_KINDS if kind in rest), "vm_map_ram" if "vm_map_ram" in rest else "other")
        if kind == "vmalloc" and not pages and name == "pcpu_get_vm_areas":
            kind = "percpu"
        if kind != "vmalloc":
            name += f" ({kind})"
        usable = size - (reading.page_size if kind not in ("percpu", "vm_map_ram") else 0)
        add.type("vmalloc", name, bytes=pages * reading.page_size, objects=1, address_space_bytes=max(usable, pages * reading.page_size))
        here = {int(node): int(count) for node, count in re.findall(r" N(\d+)=(\d+)", line)}
        for node in set(nodes):
            add("memstat_node_held_bytes", here.get(node, 0) * reading.page_size, allocator="vmalloc", type=name, node=str(node))


def call_sites(reading, add, _):
    sites = {}
    for line in reading.lines("/proc/allocinfo"):
        match = re.match(r"\s*(-?\d+)\s+(-?\d+) (\S+):(\d+) (?:\[(\S+)\] )?func:(\S+)", line)
        if match:
            name = match[6] + (f" [{match[5]}]" if match[5] else "")
            size, calls = sites.get(name, (0, 0))
            sites[name] = size + max(0, int(match[1])), calls + max(0, int(match[2]))
    for name, (size, calls) in sites.items():
        add.type("call_site", name, bytes=size, objects=calls)


def groups(reading, add, _):
    # The root of version 2 has memory.stat without memory.current: it is the machine, which other metrics show.
    paths = [path for path in reading.files if re.match(r"/sys/fs/cgroup(/.*)?/memory\.(current|usage_in_bytes)$", path)]
    if not paths:
        return
    version_1 = any(path.endswith("usage_in_bytes") for path in paths)
    root = "/sys/fs/cgroup/memory" if version_1 and "/sys/fs/cgroup/memory/memory.stat" in reading else "/sys/fs/cgroup"
    for directory in sorted({path.rpartition("/")[0] for path in paths}):
        name = directory.removeprefix(root) or "/"

        def number(file, unlimited=None, directory=directory):
            text = reading.text(f"{directory}/{file}").strip()
            return int(text) if text.isdigit() else unlimited if text == "max" else None

        def events(file, directory=directory):
            if file == "memory.pressure":
                return reading.pressure(f"{directory}/{file}")
            return reading.keyed(f"{directory}/{file}")

        (group_1 if version_1 else group_2)(name, number, events, add)
        container = re.search(r"/(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?$", name)
        pod = re.search(r"[/-]pod([0-9a-f]{8}([-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(\.slice)?(/[^/]*)?$", name)
        if container or (pod and not pod[4]):
            runtime = re.search(r"/(cri-containerd|crio|docker|libpod)-[0-9a-f]{64}(\.scope)?$", name)
            names = {"cri-containerd": "containerd", "crio": "cri-o", "libpod": "podman", "docker": "docker"}
            add("memstat_memcg_container", 1, group=name, pod_uid=pod[1].replace("_", "-") if pod else "",
                container_id=container[1] if container else "", runtime=names[runtime[1]] if runtime else "")
    add("memstat_memcg_groups_left_out", 0)
    add("memstat_memcg_left_out_bytes", 0)


def pods(reading, add, _):
    for name in {path.split("/")[0] for path in reading.below("/var/log/pods/")}:
        space, pod, uid = name.split("_")
        add("memstat_pod", 1, pod_uid=uid, namespace=space, pod=pod)


def group_2(name, number, events, add):
    happened = events("memory.events")
    for event in ("low", "high", "max", "oom", "oom_kill", "oom_group_kill", "sock_throttled"):
        if event in happened:
            add("memstat_memcg_events_total", happened[event], group=name, event=event)
    waits = happened["high"] + happened["max"] if "max" in happened else None
    add.type("memcg", name, bytes=number("memory.current"), limit_bytes=number("memory.max"), sleeps_total=waits,
             failures_total=happened.get("oom"))
    add("memstat_memcg_high_bytes", number("memory.high"), group=name)
    if number("memory.max", "max") != "max" or number("memory.high", "max") != "max":
        add("memstat_memcg_peak_bytes", number("memory.peak"), group=name)
    add("memstat_memcg_tasks", number("pids.current"), group=name)
    add("memstat_memcg_tasks_limit", number("pids.max"), group=name)
    slow_2(name, number, events, add)
    parts = events("memory.stat")
    for part in PARTS_2:
        add("memstat_memcg_part_bytes", parts.get(part), group=name, part=part)
    for kind in ("anon", "file"):
        add("memstat_memcg_refaulted_pages_total", parts.get(f"workingset_refault_{kind}"), group=name, kind=kind)
    kinds = [parts[part] for part in ("kernel_stack", "pagetables", "sec_pagetables", "percpu", "vmalloc", "slab") if part in parts]
    kernel = parts.get("kernel", sum(kinds) if kinds else None)
    if kernel is not None:
        add("memstat_memcg_kernel_bytes", kernel + parts.get("sock", 0), group=name)
    add("memstat_memcg_reclaimable_kernel_bytes", parts.get("slab_reclaimable"), group=name)
    add("memstat_memcg_anonymous_bytes", parts.get("anon"), group=name)


def slow_2(name, number, events, add):
    """What memstatd reads of a part of the groups each time."""
    local = events("memory.events.local")
    for event in ("low", "high", "max", "oom", "oom_kill", "oom_group_kill"):
        add("memstat_memcg_local_events_total", local.get(event), group=name, event=event)
    for kind, value in events("memory.pressure").items():
        add("memstat_memcg_pressure_stall_seconds_total", value, group=name, kind=kind)
    add("memstat_memcg_swap_bytes", number("memory.swap.current"), group=name)
    add("memstat_memcg_swap_limit_bytes", number("memory.swap.max"), group=name)
    for event, count in events("memory.swap.events").items():
        add("memstat_memcg_swap_events_total", count, group=name, event=event)
    add("memstat_memcg_dying_descendants", events("cgroup.stat").get("nr_dying_descendants"), group=name)


def group_1(name, number, events, add):
    limit = number("memory.limit_in_bytes")
    if limit is None or limit < UNLIMITED:
        add("memstat_memcg_peak_bytes", number("memory.max_usage_in_bytes"), group=name)
    kills = events("memory.oom_control").get("oom_kill")
    add("memstat_memcg_oom_waiting", events("memory.oom_control").get("under_oom"), group=name)
    add("memstat_memcg_kernel_limit_hits_total", number("memory.kmem.failcnt"), group=name)
    add("memstat_memcg_memory_and_swap_bytes", number("memory.memsw.usage_in_bytes"), group=name)
    both = number("memory.memsw.limit_in_bytes")
    add("memstat_memcg_memory_and_swap_limit_bytes", both if both is not None and both < UNLIMITED else None, group=name)
    add("memstat_memcg_swap_events_total", number("memory.memsw.failcnt"), group=name, event="max")
    hits = number("memory.failcnt")
    add.type("memcg", name, bytes=number("memory.usage_in_bytes"), limit_bytes=limit if limit and limit < UNLIMITED else None,
             sleeps_total=hits, failures_total=kills)
    add("memstat_memcg_events_total", hits, group=name, event="max")
    add("memstat_memcg_events_total", kills, group=name, event="oom_kill")
    parts = events("memory.stat")
    kernel, sockets = number("memory.kmem.usage_in_bytes"), number("memory.kmem.tcp.usage_in_bytes")
    for part, value in (("file", parts.get("total_cache")), ("anon", parts.get("total_rss")), ("shmem", parts.get("total_shmem")),
                        ("file_dirty", parts.get("total_dirty")), ("inactive_file", parts.get("total_inactive_file")),
                        ("kernel", kernel), ("sock", sockets)):
        add("memstat_memcg_part_bytes", value, group=name, part=part)
    for kind in ("anon", "file"):
        add("memstat_memcg_refaulted_pages_total", parts.get(f"total_workingset_refault_{kind}"), group=name, kind=kind)
    if kernel is not None:
        add("memstat_memcg_kernel_bytes", kernel + (sockets or 0), group=name)
    add("memstat_memcg_anonymous_bytes", parts.get("total_rss"), group=name)


def processes(reading, add, options):
    if not options.get("processes"):
        return
    sums = {}
    for path, text in reading.files.items():
        match = re.fullmatch(r"/proc/(\d+)/statm", path)
        comm = reading.text(f"/proc/{match[1]}/comm").rstrip("\n") if match else ""
        if comm:
            numbers = list(map(int, text.split()))
            sums[comm] = [a + b for a, b in zip(sums.get(comm, [0] * 8), [1] + numbers)]
    for name, (count, size, resident, shared, text, _, data, _) in sums.items():
        if not resident:
            continue  # kernel threads have no memory of their own, and are not listed
        add.type("process", name, bytes=resident * reading.page_size, objects=count, address_space_bytes=size * reading.page_size)
        for part, pages in (("shared", shared), ("text", text), ("data", data)):
            add("memstat_process_part_bytes", pages * reading.page_size, type=name, part=part)
    if sums:
        add("memstat_processes_left_out", 0)
        add("memstat_process_names_left_out", 0)


def sockets(reading, add, _):
    tcp = reading.paired("/proc/net/netstat", "TcpExt")
    udp = {"UDP": reading.paired("/proc/net/snmp", "Udp"), "UDP-Lite": reading.paired("/proc/net/snmp", "UdpLite")}
    six = reading.keyed("/proc/net/snmp6")
    for name, prefix in (("UDPv6", "Udp6"), ("UDPLITEv6", "UdpLite6")):
        udp[name] = {key.removeprefix(prefix): value for key, value in six.items() if key.startswith(prefix)}
    for kind in TCP_EVENTS:
        add("memstat_socket_events_total", tcp.get(kind), type="TCP", kind=kind)
    for name, counters in udp.items():
        for kind in ("RcvbufErrors", "SndbufErrors"):
            add("memstat_socket_events_total", counters.get(kind), type=name, kind=kind)
    if "TCPMemoryPressuresChrono" in tcp:
        add("memstat_socket_pressure_seconds_total", tcp["TCPMemoryPressuresChrono"] / 1000, type="TCP")
    udp_failures = [counters["MemErrors"] for counters in udp.values() if "MemErrors" in counters]
    failures = {"TCP": tcp.get("TCPAbortOnMemory"), "UDP": sum(udp_failures) if udp_failures else None}
    for name in ("packet", "netlink"):
        lines = reading.lines(f"/proc/net/{name}")
        for column, metric in (("Rmem", "memstat_socket_queued_bytes"), ("Drops", "memstat_socket_dropped_messages")):
            if lines and column in lines[0].split():
                add(metric, sum(int(line.split()[lines[0].split().index(column)]) for line in lines[1:]), type=name.upper())
    allocated = re.search(r"^TCP:.* alloc (\d+)", reading.text("/proc/net/sockstat"), re.M)
    add("memstat_socket_allocated_objects", int(allocated[1]) if allocated else None, type="TCP")
    limits = {"TCP": "/proc/sys/net/ipv4/tcp_mem", "UDP": "/proc/sys/net/ipv4/udp_mem", "SCTP": "/proc/sys/net/sctp/sctp_mem"}
    for line in reading.lines("/proc/net/protocols")[1:]:
        name, size, count, memory, press = line.split()[:5]
        own = reading.words(limits.get(name, ""))
        add.type("socket", name, object_size_bytes=int(size), objects=int(count) if int(count) >= 0 else None,
                 bytes=int(memory) * reading.page_size if int(memory) >= 0 and name not in SHARERS else None,
                 limit_bytes=int(own[0 if name == "UDP" else 2]) * reading.page_size if own else None,
                 failures_total=failures.get(name))
        if own and name != "UDP":  # which has no state of pressure: above the first number it refuses
            add("memstat_socket_pressure_threshold_bytes", int(own[1]) * reading.page_size, type=name)
        if name in limits and press in ("yes", "no"):
            add("memstat_socket_memory_pressure", int(press == "yes"), type=name)
    for name, path, limit in (("FRAG", "/proc/net/sockstat", "/proc/sys/net/ipv4/ipfrag_high_thresh"),
                              ("FRAG6", "/proc/net/sockstat6", "/proc/sys/net/ipv6/ip6frag_high_thresh")):
        match = re.search(rf"^{name}: inuse (\d+) memory (\d+)", reading.text(path), re.M)
        if match:
            add.type("socket", name, objects=int(match[1]), bytes=int(match[2]), limit_bytes=reading.number(limit))


def bounded(limit):
    return limit if limit is not None and limit < (1 << 63) - 1 else None


def tables(reading, add, _):
    number = reading.number
    if "/proc/sys/fs/file-nr" in reading:
        add.type("table", "files", objects=number("/proc/sys/fs/file-nr") - number("/proc/sys/fs/file-nr", 1),
                 limit_objects=bounded(number("/proc/sys/fs/file-nr", 2)))
    for name, file in (("inodes", "inode-state"), ("dentries", "dentry-state")):
        if f"/proc/sys/fs/{file}" not in reading:
            continue
        every, unused = number(f"/proc/sys/fs/{file}"), number(f"/proc/sys/fs/{file}", 1)
        add.type("table", name, objects=max(0, every - unused), free_objects=min(every, unused))
    add("memstat_negative_dentries", number("/proc/sys/fs/dentry-state", 4))
    groups = [line.split() for line in reading.lines("/proc/cgroups") if line[0] != "#"]
    for controller in ("memory", "other"):  # of version 1
        counts = [int(row[2]) for row in groups if row[1] != "0" and (row[0] == "memory") == (controller == "memory")]
        add("memstat_cgroup_hierarchy_groups", max(counts, default=None), controller=controller)
    if "/proc/sys/net/netfilter/nf_conntrack_count" in reading:
        rows = reading.columns("/proc/net/stat/nf_conntrack", 16)
        add.type("table", "conntrack", objects=rows[0]["entries"] if rows else number("/proc/sys/net/netfilter/nf_conntrack_count"),
                 limit_objects=number("/proc/sys/net/netfilter/nf_conntrack_max") or None,
                 failures_total=sum(row["drop"] for row in rows) if rows else None)
        for kind in ("insert_failed", "early_drop"):
            add("memstat_table_events_total", sum(row[kind] for row in rows) if rows else None, type="conntrack", kind=kind)
    for name, family in (("arp_cache", "ipv4"), ("ndisc_cache", "ipv6")):
        rows = reading.columns(f"/proc/net/stat/{name}", 16)
        if rows:
            hard, soft = (number(f"/proc/sys/net/{family}/neigh/default/gc_thresh{which}") for which in (3, 2))
            fulls = sum(row["table_fulls"] for row in rows) if "table_fulls" in rows[0] else None
            has_permanent = hard is not None and rows[0]["entries"] > hard and not fulls  # they do not count against a limit
            add.type("table", name, objects=rows[0]["entries"], limit_objects=None if has_permanent else hard, failures_total=fulls)
            add("memstat_table_soft_limit_objects", soft, type=name)
            for kind in ("forced_gc_runs", "unresolved_discards"):
                add("memstat_table_events_total", sum(row[kind] for row in rows) if kind in rows[0] else None, type=name, kind=kind)
    if "/proc/loadavg" in reading:
        limits = [number("/proc/sys/kernel/threads-max")]
        if limits[0] is not None and (pids := number("/proc/sys/kernel/pid_max")) is not None:
            limits.append(pids - 300 if pids > 300 else pids)  # numbers below 300 are assigned only once
        add.type("table", "threads", objects=int(reading.words("/proc/loadavg")[3].partition("/")[2]),
                 limit_objects=min((limit for limit in limits if limit is not None), default=None))
    other_tables(reading, add)


def other_tables(reading, add):
    number = reading.number
    users = [line.split() for line in reading.lines("/proc/key-users")]
    if "/proc/key-users" in reading:
        quotas = [tuple(map(int, word.split("/"))) for user in users for word in user[3:5]]
        add.type("table", "keys", objects=sum(int(user[2].split("/")[0]) for user in users), bytes=sum(used for used, _ in quotas[1::2]))
        for kind, of_kind in (("count", quotas[0::2]), ("bytes", quotas[1::2])):
            add("memstat_table_user_used_ratio", max((used / limit if limit else 0 for used, limit in of_kind), default=0), type="keys", kind=kind)
    if "/proc/sys/fs/aio-nr" in reading:
        add.type("table", "aio_events", objects=number("/proc/sys/fs/aio-nr"), limit_objects=number("/proc/sys/fs/aio-max-nr"))
    if "/proc/sys/kernel/pty/nr" in reading:
        add.type("table", "ptys", objects=number("/proc/sys/kernel/pty/nr"), limit_objects=number("/proc/sys/kernel/pty/max") - 1)
    if "/proc/sysvipc/shm" in reading:
        shm, sem, msg = (reading.columns(f"/proc/sysvipc/{kind}", 10) for kind in ("shm", "sem", "msg"))
        all_pages = number("/proc/sys/kernel/shmall") * reading.page_size
        add.type("table", "sysv_shm", objects=len(shm), bytes=sum(row["size"] for row in shm), limit_bytes=bounded(all_pages),
                 limit_objects=number("/proc/sys/kernel/shmmni"))
        if "rss" in (reading.lines("/proc/sysvipc/shm") or [""])[0].split():
            add("memstat_sysv_shm_held_bytes", sum(row["rss"] for row in shm), **{"in": "memory"})
            add("memstat_sysv_shm_held_bytes", sum(row["swap"] for row in shm), **{"in": "swap"})
            idle = [row for row in shm if row["nattch"] == 0]
            add("memstat_sysv_shm_unattached_objects", len(idle))
            add("memstat_sysv_shm_unattached_bytes", sum(row["rss"] + row["swap"] for row in idle))
        add.type("table", "sysv_sem", objects=len(sem), limit_objects=number("/proc/sys/kernel/sem", 3))
        add.type("table", "sysv_semaphores", objects=sum(row["nsems"] for row in sem), limit_objects=number("/proc/sys/kernel/sem", 1))
        add.type("table", "sysv_msg", objects=len(msg), bytes=sum(row["cbytes"] for row in msg),
                 limit_objects=number("/proc/sys/kernel/msgmni"))
    match = re.search(r"^TCP: .*\borphan (\d+) tw (\d+)", reading.text("/proc/net/sockstat"), re.M)
    if match:
        most = number("/proc/sys/net/ipv4/tcp_max_orphans")
        add.type("table", "tcp_orphans", objects=int(match[1]), limit_objects=most)
        add("memstat_table_soft_limit_objects", None if most is None else most // 4, type="tcp_orphans")
        add.type("table", "tcp_time_wait", objects=int(match[2]), limit_objects=number("/proc/sys/net/ipv4/tcp_max_tw_buckets"),
                 failures_total=reading.paired("/proc/net/netstat", "TcpExt").get("TCPTimeWaitOverflow"))
    single_limits(reading, add)
    for name, file in (("epoll_watches", "epoll/max_user_watches"), ("inotify_watches", "inotify/max_user_watches"),
                       ("inotify_instances", "inotify/max_user_instances"), ("fanotify_marks", "fanotify/max_user_marks"),
                       ("fanotify_groups", "fanotify/max_user_groups")):
        add("memstat_table_user_limit_objects", number(f"/proc/sys/fs/{file}"), type=name)


def single_limits(reading, add):
    """Limits of each process, listener or socket, and the commit limit, which the kernel applies in mode 2 only (mm/util.c)."""
    number = reading.number
    if number("/proc/sys/vm/overcommit_memory") == 2:
        add.type("table", "committed", bytes=reading.meminfo().get("Committed_AS"), limit_bytes=reading.meminfo().get("CommitLimit"))
    if "/proc/sys/net/core/somaxconn" in reading and "/proc/net/netstat" in reading:
        add.type("table", "accept_queues", limit_objects=number("/proc/sys/net/core/somaxconn"),
                 failures_total=reading.paired("/proc/net/netstat", "TcpExt").get("ListenOverflows"))
    add.type("table", "process_maps", limit_objects=number("/proc/sys/vm/max_map_count"))
    add.type("table", "socket_receive_buffers", limit_bytes=number("/proc/sys/net/core/rmem_max"))
    add.type("table", "socket_send_buffers", limit_bytes=number("/proc/sys/net/core/wmem_max"))


# The rules, and the file without which a rule expects nothing.
RULES = ((slabs, "/proc/slabinfo"), (areas, "/proc/vmallocinfo"), (call_sites, "/proc/allocinfo"), (groups, None), (pods, None), (processes, None),
         (sockets, "/proc/net/protocols"), (tables, None))
