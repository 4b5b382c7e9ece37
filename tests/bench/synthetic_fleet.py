# SPDX-License-Identifier: BSD-2-Clause
"""Synthetic fleets for fleet_draws.py: the memory of hundreds of hosts of several roles over days, made from a seed."""
import bisect
import collections
import json
import math
import random
import time

MIB, GIB = 1 << 20, 1 << 30
MINUTE, HOUR = 1 / 60, 1.0  # all times are in hours before (negative) the end of the history
END = int(time.time()) // 86400 * 86400 - 2 * 86400  # midnight of the day before yesterday
OWN_PAST = 24  # hours
KINDS = ("slab", "vmalloc", "socket", "unaccounted")

# name: share of the hosts, memory in GiB, amplitude of the day's wave, hour of its top, noise of the load
Role = collections.namedtuple("Role", "share memory wave top noise")
ROLES = {
    "web": Role(34, (16, 32, 64), 0.45, 15, 0.08),
    "db": Role(10, (256, 512, 768, 1024), 0.15, 14, 0.06),
    "cache": Role(8, (64, 128, 256), 0.3, 16, 0.05),
    "build": Role(10, (32, 64, 128), 0.5, 13, 0.2),
    "node": Role(20, (64, 128, 256, 384), 0.25, 15, 0.1),
    "store": Role(8, (128, 256, 512), 0.1, 2, 0.05),
    "router": Role(4, (8, 16, 32), 0.5, 20, 0.06),
    "small": Role(6, (8, 16), 0.05, 12, 0.04)}
ZONES = ((0.5, 1), (0.35, -6), (0.15, 8))  # share of the hosts, hours from UTC

# MiB at 64 GiB; the exponent of the memory; how far it follows the load; deviation of the logarithm's walk; the walk; is a cache; roles, or all
Kind = collections.namedtuple("Kind", "base power load noise walk cache roles", defaults=("",))
SLABS = {
    "dentry": Kind(400, 0.9, 0.15, 0.08, "slow", True),
    "ext4_inode_cache": Kind(600, 0.9, 0.1, 0.08, "slow", True, "web build node small router"),
    "xfs_inode": Kind(700, 0.9, 0.1, 0.07, "slow", True, "db cache store"),
    "buffer_head": Kind(60, 0.8, 0.1, 0.1, "slow", True, "web build node small"),
    "radix_tree_node": Kind(300, 0.9, 0.05, 0.06, "slow", True),
    "inode_cache": Kind(25, 0.3, 0.05, 0.03, "slow", False),
    "proc_inode_cache": Kind(30, 0.4, 0.3, 0.15, "churn", True),
    "sock_inode_cache": Kind(10, 0.5, 0.6, 0.1, "churn", False),
    "shmem_inode_cache": Kind(6, 0.3, 0.1, 0.04, "slow", False),
    "kernfs_node_cache": Kind(25, 0.3, 0.0, 0.02, "slow", False),
    "filp": Kind(14, 0.6, 0.6, 0.1, "churn", False),
    "vm_area_struct": Kind(40, 0.6, 0.4, 0.08, "churn", False),
    "anon_vma": Kind(14, 0.6, 0.4, 0.08, "churn", False),
    "task_struct": Kind(22, 0.5, 0.4, 0.06, "churn", False),
    "maple_node": Kind(20, 0.6, 0.3, 0.07, "churn", False),
    "kmalloc-64": Kind(30, 0.6, 0.05, 0.03, "slow", False),
    "kmalloc-128": Kind(20, 0.6, 0.05, 0.04, "slow", False),
    "kmalloc-256": Kind(30, 0.6, 0.1, 0.05, "slow", False),
    "kmalloc-512": Kind(60, 0.6, 0.2, 0.06, "slow", False),
    "kmalloc-1k": Kind(60, 0.6, 0.3, 0.08, "churn", False),
    "kmalloc-2k": Kind(80, 0.6, 0.4, 0.1, "churn", False),
    "kmalloc-4k": Kind(60, 0.6, 0.3, 0.12, "churn", False),
    "kmalloc-cg-1k": Kind(15, 0.6, 0.4, 0.1, "churn", False),
    "skbuff_head_cache": Kind(20, 0.5, 0.8, 0.2, "churn", False),
    "TCP": Kind(20, 0.6, 0.8, 0.12, "churn", False),
    "nf_conntrack": Kind(30, 0.5, 0.9, 0.15, "churn", False, "web node router")}
VMALLOCS = {
    "kernel_clone": Kind(28, 0.5, 0.4, 0.06, "churn", False),
    "alloc_large_system_hash": Kind(24, 1.0, 0.0, 0.0, "", False),
    "load_module": Kind(28, 0.1, 0.0, 0.0, "", False),
    "bpf_prog_pack_alloc": Kind(6, 0.1, 0.0, 0.0, "", False),
    "bpf_map_area_alloc": Kind(40, 0.3, 0.0, 0.005, "slow", False, "node web router cache"),
    "pcpu_create_chunk": Kind(30, 0.5, 0.0, 0.0, "", False),
    "xt_alloc_table_info": Kind(4, 0.2, 0.0, 0.0, "", False, "node router web")}
OTHERS = {
    ("socket", "TCP"): Kind(30, 0.5, 1.0, 0.3, "churn", False),
    ("socket", "UDP"): Kind(4, 0.3, 0.6, 0.4, "churn", False),
    ("percpu", "percpu"): Kind(45, 0.5, 0.05, 0.01, "slow", False)}
PARTS = {
    "page_tables": Kind(150, 0.8, 0.4, 0.07, "churn", False),
    "secondary_page_tables": Kind(3, 0.5, 0.0, 0.02, "slow", False, "node build"),
    "kernel_stacks": Kind(24, 0.5, 0.4, 0.06, "churn", False),
    "anonymous": Kind(20000, 1.0, 0.15, 0.05, "slow", False),
    "page_cache": Kind(25000, 1.0, 0.05, 0.06, "slow", True)}
RARE_VMALLOCS = ("ttm_pool_alloc", "qla2x00_mem_alloc", "nvme_alloc_queue", "drm_gem_vmap", "vmci_queue_alloc", "mlx5_alloc_cmd")
# How busy a role is with a type, where it differs much.
BUSY = {("router", "nf_conntrack"): 6, ("router", "skbuff_head_cache"): 3, ("web", "TCP"): 2, ("cache", "TCP"): 3, ("db", "page_tables"): 4,
        ("node", "kernfs_node_cache"): 3, ("node", "percpu"): 4, ("node", "bpf_map_area_alloc"): 3, ("store", "xfs_inode"): 4, ("store", "dentry"): 3,
        ("build", "dentry"): 2, ("build", "ext4_inode_cache"): 2, ("node", "kmalloc-cg-1k"): 4, ("small", "dentry"): 0.6}
LEAKY_SLABS = ("kmalloc-64", "kmalloc-128", "kmalloc-256", "kmalloc-512", "kmalloc-1k", "kmalloc-2k", "kmalloc-4k", "kmalloc-cg-1k", "dentry", "filp",
               "skbuff_head_cache", "task_struct", "nf_conntrack", "sock_inode_cache", "vm_area_struct", "anon_vma", "proc_inode_cache",
               "kernfs_node_cache", "inode_cache", "radix_tree_node", "shmem_inode_cache", "maple_node", "TCP")
LEAKY_VMALLOCS = ("kernel_clone", "bpf_map_area_alloc", "bpf_prog_pack_alloc", "xt_alloc_table_info", "load_module", "pcpu_create_chunk")
DEPLOYED = ("page_tables", "filp", "vm_area_struct", "task_struct", "anon_vma", "kmalloc-256", "kmalloc-512", "kmalloc-1k", "kmalloc-2k",
            "bpf_map_area_alloc", "percpu", "socket TCP", "TCP", "anonymous", "kernel_clone", "sock_inode_cache")
RESTARTED = {"page_tables", "filp", "vm_area_struct", "anon_vma", "task_struct", "sock_inode_cache", "TCP", "socket TCP", "anonymous", "kernel_clone",
             "maple_node", "kernel_stacks"}
RECLAIMABLE = {"dentry", "ext4_inode_cache", "xfs_inode", "buffer_head", "radix_tree_node", "inode_cache", "proc_inode_cache", "sock_inode_cache",
               "shmem_inode_cache"}
# What grows with a leak of TCP sockets, as a share of its rate.
COMPANIONS = {("slab", "TCP"): 0.2, ("slab", "sock_inode_cache"): 0.08, ("slab", "filp"): 0.03}


def walk(rng, length, parts):
    """Deviation 1, from parts of (weight, hours of correlation); 2 minutes apart."""
    total = [0.0] * length
    scale = math.sqrt(sum(weight * weight for weight, _ in parts))
    for weight, hours in parts:
        keep = math.exp(-2 * MINUTE / hours) if hours else 0.0
        push, value, gauss = math.sqrt(1 - keep * keep) * weight / scale, 0.0, rng.gauss
        for place in range(length):
            value = value * keep + gauss(0, push)
            total[place] += value
    return total


class Walks:
    """Long walks of which each series takes a piece."""
    length = 300000

    def __init__(self):
        rng = random.Random(4711)
        self.of = {"slow": walk(rng, self.length, ((0.9, 12), (0.35, 1), (0.08, 0))),
                   "churn": walk(rng, self.length, ((0.6, 4), (0.75, 0.5), (0.2, 0))),
                   "load": walk(rng, self.length, ((0.8, 1.5), (0.4, 0.2)))}

    def take(self, rng, name, grid):
        """As long as the grid, with its steps."""
        whole = self.of[name]
        start = rng.randrange(self.length - grid.coarse * 5 - grid.fine)
        middle = start + grid.coarse * 5
        return whole[start:middle:5] + whole[middle:middle + grid.fine]


class Grid:
    """Times of the samples: each 10 minutes, and each 2 minutes in the last hours."""

    def __init__(self, hours, fine_hours):
        self.coarse, self.fine = round((hours - fine_hours) * 6), round(fine_hours * 30) + 1
        self.times = [-hours + place / 6 for place in range(self.coarse)] + [-fine_hours + place / 30 for place in range(self.fine)]

    def place(self, hour):
        """The first sample then or later."""
        return bisect.bisect_left(self.times, hour - 1e-6)


class Host:
    """What one host is and what happens to it; `events` says why a type moved, for the report."""

    def __init__(self, fleet, number):
        rng = self.rng = fleet.rng
        self.number, self.name = number, f"host{number}:8947"
        self.role = rng.choices(list(ROLES), [role.share for role in ROLES.values()])[0]
        self.zone = rng.choices(range(3), [share for share, _ in ZONES])[0]
        self.memory = rng.choice(ROLES[self.role].memory) * GIB
        self.variant = rng.randrange(3)
        self.release = "6.1.0-28-amd64" if rng.random() < 0.55 else "6.12.57+deb13-amd64"
        self.steps, self.events, self.leaks = [], [], []
        self.begin, self.end, self.boots = -fleet.hours, 0.0, []
        self.uptime = rng.uniform(5 * 24, 150 * 24)
        self.upgraded = None
        days = fleet.hours / 24
        chance = rng.random()
        if chance < 0.012 * days:
            self.boots.append(rng.uniform(-fleet.hours, 0))
            self.note("reboot", self.boots[0], 8)
        elif chance < 0.022 * days:
            self.begin = rng.uniform(-fleet.hours, -0.1)
            self.boots.append(self.begin - 3 * MINUTE)
            self.note("joined", self.begin, 8)
        elif chance < 0.032 * days:
            self.end = rng.uniform(-fleet.hours, 0)
        self.tau = math.exp(rng.uniform(math.log(0.5), math.log(8)))
        self.restarts = [rng.uniform(-fleet.hours, 0) for _ in range(poisson(rng, 0.15 * days))]
        self.hot = [(rng.uniform(-fleet.hours, 0), rng.uniform(20, 120) * MINUTE, rng.uniform(0.2, 0.7)) for _ in range(poisson(rng, 0.15 * days))]
        for moment in self.restarts:
            self.note("process restart", moment, 1.5)
        for moment, length, _ in self.hot:
            self.note("hot host", moment, length + 0.5)
        self.job = (rng.randrange(60), rng.randint(4, 15), rng.uniform(0.05, 0.5)) if rng.random() < 0.35 else None
        self.nights = []  # hour of the day in UTC, hours it takes, growth of the caches, hours it stays
        local = ZONES[self.zone][1]
        if self.role in ("db", "store") or rng.random() < 0.4:
            self.nights.append(((rng.uniform(0, 5) - local) % 24, rng.uniform(0.5, 2.5), rng.uniform(0.1, 1.0), rng.uniform(4, 12)))
        if rng.random() < 0.5:
            self.nights.append(((6.42 + rng.gauss(0, 0.05) - local) % 24, rng.uniform(0.1, 0.5), rng.uniform(0.05, 0.4), rng.uniform(3, 10)))
        for hour, length, _, _ in self.nights:
            since = (fleet.end_of_day - hour) % 24
            self.note("backup or cron", -since, length + 0.2, "cache")
        self.rotates = self.role in ("web", "node", "router")
        self.saw = (rng.uniform(3, 20), rng.random(), rng.uniform(0.1, 0.45)) if self.role in ("build", "store") and rng.random() < 0.3 else None
        if self.saw:
            self.note("sawtooth", -fleet.hours, fleet.hours, "cache")
        for _ in range(poisson(rng, 0.12 * days)):  # a setting changed: a table or a map has another size
            self.step(rng.choice(("bpf_map_area_alloc", "xt_alloc_table_info", "pcpu_create_chunk", "percpu", "bpf_prog_pack_alloc")),
                      rng.uniform(-fleet.hours, 0), abs(rng.gauss(0, 0.4)), 0, "setting")

    def note(self, what, start, length, types=""):
        self.events.append((what, start, start + length, types))

    def step(self, name, moment, size, ramp, what):
        self.steps.append((name, moment, size, ramp))
        self.note(what, moment, ramp + 0.1, name)


def poisson(rng, mean):
    limit, count, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count


class Fleet:
    """One draw: the hosts, what they do, and their series."""

    def __init__(self, kind, seed, hosts, walks):
        self.kind, self.seed, self.walks = kind, seed, walks
        self.rng = rng = random.Random(f"{kind}-{seed}")
        self.cluster = f"{kind}-{seed}"
        self.is_upgrade = kind in ("upgrade", "restart")
        self.hours = 84 if self.is_upgrade else 29
        self.grid = Grid(self.hours, 2 if self.is_upgrade else 8)
        self.end_of_day = (seed - 1) % 10 * 2.4 if kind == "calm" else rng.uniform(0, 24)  # the hour of the day of the end
        self.end = END + round(self.end_of_day * 3600)
        self.hosts = [Host(self, number) for number in range(hosts)]
        self.deployments()
        self.shift = None
        if rng.random() < 0.15 * self.hours / 29:
            role, length = rng.choice(("web", "cache", "node", "router")), rng.uniform(0.5, 4)
            self.shift = (role, rng.randrange(3), rng.uniform(-self.hours, 0), length, rng.uniform(0.15, 0.5))
            for host in self.hosts:
                if (host.role, host.zone) == self.shift[:2]:
                    host.note("traffic moved", self.shift[2], length + 0.3)
        self.rare = {}
        for host in rng.sample(self.hosts, hosts // 12):
            self.rare[host.number] = rng.choice(RARE_VMALLOCS)
        self.leaking, self.changed, self.leak = {}, {}, None
        if kind in ("late", "early"):
            self.plant(max(1, hosts // 100))
        if self.is_upgrade:
            self.upgrade()
        self.loads()

    def deployments(self):
        """About four a day, of which three in ten are canaries."""
        rng = self.rng
        for _ in range(poisson(rng, 4 * self.hours / 24)):
            role, start = rng.choice(list(ROLES)), rng.uniform(-self.hours, 0)
            hosts = [host for host in self.hosts if host.role == role]
            is_canary = rng.random() < 0.3
            if is_canary:
                hosts = rng.sample(hosts, min(len(hosts), rng.randint(2, 6)))
            length = 0.1 if is_canary else rng.uniform(10, 90) * MINUTE
            sizes = {name: rng.uniform(0.05, 0.5) * rng.choice((1, 1, 1, 1, -1)) for name in rng.sample(DEPLOYED, rng.randint(1, 3))}
            for host in hosts:
                moment = start + rng.random() * length
                for name, size in sizes.items():
                    host.step(name, moment, size * rng.uniform(0.7, 1.3), rng.uniform(0, 6) * MINUTE, "canary" if is_canary else "deployment")

    def plant(self, count):
        rng = self.rng
        if self.kind == "late":
            starts = [-3.0] * count
        else:
            starts = [rng.uniform(-20, -6) for _ in range(count)]
        for start in starts:
            def is_steady(host, start=start):
                return (host.number not in self.leaking and host.begin < start - 1 and host.end == 0
                        and not any(boot > start - 1 for boot in host.boots))
            host = rng.choice([host for host in self.hosts if is_steady(host)])
            allocator = rng.choice(KINDS)
            name = self.leaky_type(host, allocator)
            leak = {"host": host.name, "allocator": allocator, "type": name, "start": start, "role": host.role, "memory": host.memory >> 30,
                    "rate": math.exp(rng.uniform(math.log(8), math.log(120))), "is_bursty": rng.random() < 0.4}
            host.leaks.append(leak)
            self.leaking[host.number] = leak

    def leaky_type(self, host, allocator):
        rng = self.rng
        if allocator == "slab":
            return rng.choice([name for name in LEAKY_SLABS if not SLABS[name].roles or host.role in SLABS[name].roles.split()])
        if allocator == "vmalloc":
            if rng.random() < 0.15:
                return self.rare.setdefault(host.number, rng.choice(RARE_VMALLOCS))
            return rng.choice([name for name in LEAKY_VMALLOCS if not VMALLOCS[name].roles or host.role in VMALLOCS[name].roles.split()])
        return rng.choice(("TCP", "TCP", "TCP", "UDP")) if allocator == "socket" else "unaccounted"

    def upgrade(self):
        """Half of the hosts boot 6.12.63 one after the other, 70 to 24 hours before the end. Some types have another size there."""
        rng = self.rng
        allocator = rng.choice(KINDS)
        names = {"slab": [name for name in LEAKY_SLABS if not SLABS[name].roles], "vmalloc": [n for n in LEAKY_VMALLOCS if not VMALLOCS[n].roles],
                 "socket": ["TCP"], "unaccounted": ["unaccounted"]}[allocator]
        self.leak = {"allocator": allocator, "type": rng.choice(names), "rate": math.exp(rng.uniform(math.log(8), math.log(60)))}
        self.changed = {name: rng.uniform(-0.25, 0.25) for name in rng.sample(list(SLABS), 3)}
        for host in rng.sample(self.hosts, len(self.hosts) // 2):
            moment = rng.uniform(-70, -24)
            if host.begin > moment - 1 or host.end < moment + 1:
                continue
            host.upgraded = moment
            host.boots = sorted(host.boots + [moment])
            host.note("upgrade", moment, 8)
            for name, size in self.changed.items():
                host.steps.append((name, moment, size, 0))
            if self.kind == "upgrade":
                rate = self.leak["rate"] * math.exp(rng.gauss(0, 0.4))
                host.leaks.append({**self.leak, "host": host.name, "start": moment, "rate": rate, "is_bursty": rng.random() < 0.4})

    def loads(self):
        """The logarithm of the load of each role, zone and variant of a host: the wave of the day and what these hosts share."""
        self.load = {}
        for name, role in ROLES.items():
            for zone, (_, local) in enumerate(ZONES):
                shared = self.walks.take(self.rng, "load", self.grid)
                for variant in range(3):
                    wave = []
                    for moment, common in zip(self.grid.times, shared):
                        turn = (self.end_of_day + moment + local - role.top + (variant - 1) * 0.7) * math.pi / 12
                        value = role.wave * (math.cos(turn) + 0.25 * math.cos(2 * turn + 0.8)) + 0.03 * common
                        if self.shift and self.shift[:2] == (name, zone) and 0 < moment - self.shift[2] < self.shift[3]:
                            since = moment - self.shift[2]
                            value += self.shift[4] * min(1, since / 0.15, (self.shift[3] - since) / 0.15)
                        wave.append(value)
                    self.load[name, zone, variant] = wave

    def host_load(self, host):
        rng, role = self.rng, ROLES[host.role]
        scale, noise = math.exp(rng.gauss(0, 0.2)), role.noise * math.exp(rng.gauss(0, 0.4))
        load = [scale * wave + noise * own
                for wave, own in zip(self.load[host.role, host.zone, host.variant], self.walks.take(rng, "load", self.grid))]
        for start, length, size in host.hot:
            for place in range(self.grid.place(start), self.grid.place(start + length)):
                since = self.grid.times[place] - start
                load[place] += size * min(1, since / 0.2, (length - since) / 0.2)
        if host.job:
            minute, length, size = host.job
            for place, moment in enumerate(self.grid.times):
                if ((self.end_of_day + moment) * 60 - minute) % 60 < length:
                    load[place] += size
        return load

    def night(self, host):
        """What backups and cron add to the caches of a host, as a share of their size, or nothing."""
        if not host.nights:
            return None
        total = [0.0] * len(self.grid.times)
        for hour, length, size, stay in host.nights:
            for place, moment in enumerate(self.grid.times):
                since = (self.end_of_day + moment - hour) % 24
                rest = size * math.exp(-(24 - length) / stay)
                total[place] += rest + (size - rest) * since / length if since < length else size * math.exp(-(since - length) / stay)
        return total

    def leaked(self, leak):
        """Bytes that the leak has taken by then."""
        total, past, rng, sums = 0.0, leak["start"], self.rng, []
        for moment in self.grid.times:
            if moment > past:
                part = leak["rate"] * MIB * (moment - past)
                if leak["is_bursty"]:
                    part = part * rng.expovariate(1) / 0.7 if rng.random() < 0.7 else 0.0
                total += part
                past = moment
            sums.append(total)
        return sums

    def values(self, host, name, kind, load, caches):
        """Bytes of one type of one host, or None if this role has none."""
        if kind.roles and host.role not in kind.roles.split():
            return None
        rng, times, grid = self.rng, self.grid.times, self.grid
        plain = name.removeprefix("socket ")
        base = kind.base * MIB * (host.memory / (64 * GIB)) ** kind.power * BUSY.get((host.role, plain), 1) * math.exp(rng.gauss(0, 0.35))
        if name in ("anonymous", "page_cache"):
            base = min(base, 0.45 * host.memory)
        if kind.walk:
            size, follows, exp = kind.noise * math.exp(rng.gauss(0, 0.5)), kind.load * math.exp(rng.gauss(0, 0.2)), math.exp
            made = [base * exp(follows * busy + size * own) for busy, own in zip(load, self.walks.take(rng, kind.walk, grid))]
        else:
            made = [base] * len(times)
        if kind.cache and caches:
            scale = base * rng.uniform(0.4, 1.0)
            made = [value + scale * more for value, more in zip(made, caches)]
        if kind.cache and host.saw and name in ("dentry", "ext4_inode_cache", "xfs_inode"):
            period, phase, size = host.saw
            made = [value * math.exp(size * ((moment / period + phase) % 1)) for value, moment in zip(made, times)]
        if kind.cache and rng.random() < 0.2:
            trend = rng.uniform(0.01, 0.1) / 24
            made = [value * (1 + trend * moment) for value, moment in zip(made, times)]
        if kind.cache and host.rotates:
            for place, moment in enumerate(times):
                since = (self.end_of_day + moment + ZONES[host.zone][1]) % 24
                if since < 2:
                    made[place] *= 0.97 + 0.015 * since
        steps = [step for step in host.steps if step[0] == name]
        for _ in range(poisson(rng, 0.15 * self.hours / 24) if kind.walk else 0):
            moment = rng.uniform(-self.hours, 0)
            steps.append((name, moment, rng.gauss(0, 0.12), 0))
            host.note("jump", moment, 0.1, name)
        for _, moment, size, ramp in steps:
            factor = math.exp(size)
            for place in range(grid.place(moment), len(times)):
                since = times[place] - moment
                made[place] *= factor if since >= ramp or ramp <= 0 else math.exp(size * since / ramp)
        for boot in host.boots:
            least, tau = (0.04, host.tau) if kind.cache else (0.3, 0.2) if kind.walk else (1, 1)
            for place in range(grid.place(boot) if least < 1 else len(times), len(times)):
                made[place] *= 1 - (1 - least) * math.exp(-(times[place] - boot) / tau)
        if name in RESTARTED:
            for moment in host.restarts:
                least, tau = rng.uniform(0.4, 0.9), rng.uniform(3, 25) * MINUTE
                for place in range(grid.place(moment), grid.place(moment + 3)):
                    made[place] *= 1 - (1 - least) * math.exp(-(times[place] - moment) / tau)
        return made

    def series(self, host):
        """[(name, labels, values or one value, the first sample, the one after the last)] of a host."""
        grid, rng = self.grid, self.rng
        load, caches = self.host_load(host), self.night(host)
        found = {}
        for name, kind in SLABS.items():
            found["slab", name] = self.values(host, name, kind, load, caches)
        for name, kind in VMALLOCS.items():
            found["vmalloc", name] = self.values(host, name, kind, load, caches)
        for (allocator, name), kind in OTHERS.items():
            found[allocator, name] = self.values(host, name if allocator != "socket" else "socket " + name, kind, load, caches)
        if host.number in self.rare:
            found["vmalloc", self.rare[host.number]] = [rng.uniform(0.1, 4) * MIB] * len(grid.times)
        for name, kind in PARTS.items():
            found["part", name] = self.values(host, name, kind, load, caches)
        size = host.memory / GIB
        base, wide = 0.006 * host.memory * math.exp(rng.gauss(0, 0.5)), 3 * MIB * (size / 64) ** 0.5 * math.exp(rng.gauss(0, 0.4))
        slow = 0.02 * math.exp(rng.gauss(0, 0.5))
        rest = [base * (1 + slow * drift + 0.05 * busy) + wide * fast for drift, fast, busy in zip(
            self.walks.take(rng, "slow", grid), self.walks.take(rng, "churn", grid), load)]
        found["unaccounted", "unaccounted"] = [max(0.0, value) for value in rest]
        taken = None
        for leak in host.leaks:
            taken = self.leaked(leak)
            key = (leak["allocator"], leak["type"])
            leak["base"] = found[key][grid.place(leak["start"])] / MIB
            found[key] = [value + more for value, more in zip(found[key], taken)]
            if key == ("socket", "TCP"):
                for other, share in COMPANIONS.items():
                    found[other] = [value + share * more for value, more in zip(found[other], taken)]
        found = {key: [int(value) & -4096 for value in made] for key, made in found.items() if made}
        sums = {"slab_reclaimable": [made for (allocator, name), made in found.items() if allocator == "slab" and name in RECLAIMABLE],
                "slab_unreclaimable": [made for (allocator, name), made in found.items() if allocator == "slab" and name not in RECLAIMABLE],
                "vmalloc": [made for (allocator, _), made in found.items() if allocator == "vmalloc"],
                "sockets": [found["socket", "TCP"], found["socket", "UDP"]], "percpu": [found["percpu", "percpu"]]}
        for name, parts in sums.items():
            found["part", name] = [sum(values) for values in zip(*parts)]
        begin, end = grid.place(host.begin), grid.place(host.end) if host.end else len(grid.times)
        rows = []
        for (allocator, name), made in found.items():
            if allocator == "part":
                rows.append(("memstat_accounted_bytes", {"part": name}, made, begin, end))
            elif allocator == "unaccounted":
                rows.append(("memstat_unaccounted_bytes", {}, made, begin, end))
            else:
                rows.append(("memstat_type_bytes", {"allocator": allocator, "type": name}, made, begin, end))
        level, wave = host.memory * rng.uniform(0.2, 0.6), self.walks.take(rng, "slow", grid)
        taken = taken or [0] * len(grid.times)
        rows.append(("memstat_memory_available_bytes", {}, [int(max(0.02 * host.memory, level * (1 + 0.04 * own - 0.05 * busy) - more)) & -4096
                                                           for own, busy, more in zip(wave, load, taken)], begin, end))
        rows.append(("memstat_memory_total_bytes", {}, host.memory - 900 * MIB, begin, end))
        boots = [self.end - int(host.uptime * 3600) - self.hours * 3600] + [self.end + int(boot * 3600) for boot in host.boots]
        places = [begin] + [max(begin, grid.place(boot)) for boot in host.boots] + [end]
        started = [boots[0]] * len(grid.times)
        for boot, place in zip(boots[1:], places[1:]):
            started[place:] = [boot] * (len(grid.times) - place)
        rows.append(("memstat_boot_timestamp_seconds", {}, started, begin, end))
        change = grid.place(host.upgraded) if host.upgraded is not None else end
        rows.append(("memstat_kernel_info", {"os": "linux", "release": host.release}, 1, begin, min(change, end)))
        if change < end:
            rows.append(("memstat_kernel_info", {"os": "linux", "release": "6.12.63+deb13-amd64"}, 1, change, end))
            if self.is_upgrade:
                fresh = [int(rng.uniform(8, 12) * MIB * math.exp(0.5 * busy)) & -4096 for busy in load]
                rows.append(("memstat_type_bytes", {"allocator": "slab", "type": "skbuff_small_head"}, fresh, change, end))
        return rows, found

    def lines(self, host, rows):
        """Lines of VictoriaMetrics' import. A host that boots is not scraped for 4 minutes, and one scrape in 500 fails."""
        rng, grid = self.rng, self.grid
        late = rng.randrange(120)
        stamps = [f"{self.end - late + round(moment * 3600)}000" for moment in grid.times]
        lost = {place for place in range(len(stamps)) if rng.random() < 0.002}
        for boot in host.boots:
            lost.update(range(grid.place(boot), grid.place(boot + 4 * MINUTE)))
        for name, labels, made, begin, end in rows:
            if begin >= end:
                continue
            text = [str(made)] * (end - begin) if isinstance(made, int) else list(map(str, made[begin:end]))
            times = stamps[begin:end]
            for place in sorted(lost, reverse=True):
                if begin <= place < end:
                    del text[place - begin], times[place - begin]
            metric = {"__name__": name, **labels, "instance": host.name, "job": "memstatd", "cluster": self.cluster}
            yield f'{{"metric":{json.dumps(metric)},"values":[{",".join(text)}],"timestamps":[{",".join(times)}]}}\n'
