// SPDX-License-Identifier: BSD-2-Clause
// Settings that you may want to change. Add yours to the mixin:
//   (import 'mixin.libsonnet') + { _config+:: { clusterLabels: ['datacenter'], memoryLow: 0.15 } }
{
  _config+:: {
    // Matchers for every query, such as 'job="memstatd"'. Not needed, because metric names begin with memstat_.
    selector: '',
    // Targets that must answer. /metrics/percpu is excluded, because it answers 400 if `per_cpu` is not configured.
    upSelector: 'job=~".*memstat.*",job!~".*per-?cpu.*"',
    // Labels that distinguish hosts with the same `instance`. Labels that a target does not have are harmless.
    clusterLabels: ['cluster', 'site'],

    // The share of a job's hosts, and their minimum number, from which an outage is not about single hosts.
    hostsDown: 0.25,
    fewestHostsDown: 3,
    // Maximum difference in seconds between a host's clock and that of Prometheus.
    clockDifference: 60,

    // The longest scrape interval for all rules is 2m, because rates over five minutes need two samples. Up to 5m, findings and
    // the alerts on available memory and pressure still work.

    // Evaluation intervals: of rules for which a person is waiting; of alerts that wait for some minutes, or that stay until
    // a reboot; of tables, of what the kernel holds and of what memstatd cannot read, whose alerts wait for a quarter of an
    // hour (less than 5m, because Prometheus keeps a result that long); of rules that look back over hours and days (10m or
    // less, because their results are searched for in the last 15 minutes); and of those over weeks.
    interval: '1m',
    soonInterval: '2m',
    tablesInterval: '4m',
    slowInterval: '10m',
    weeksInterval: '30m',

    // Where you publish runbooks.md; if empty, alerts link to the memstatd of their host, which serves its runbooks. The address
    // of Grafana, without a slash at the end; if empty, alerts have no link to it.
    runbookBase: '',
    grafanaBase: '',

    // For this long a finding of a host that does not answer still fires.
    findingKept: '2h',

    // Share of the memory that is available to programs, and the number of bytes that suffices on a large machine.
    memoryLow: 0.10,
    memoryVeryLow: 0.05,
    memoryLowMost: 17179869184,
    memoryVeryLowMost: 8589934592,
    // Share of the memory that the kernel may hold while less than `kernelShareAvailable` is available.
    kernelShare: 0.40,
    kernelShareAvailable: 0.25,
    // Share of the time in which all tasks with work waited for memory.
    pressure: 0.10,
    pressureHigh: 0.40,
    // Share of the time in which at least one task waited for memory.
    pressureSome: 0.50,
    // Share of the memory that is read again each minute soon after its reclaim, or moves to swap and back.
    thrashing: 0.02,
    // Share of the time in which all tasks of a control group that hits its limit wait for memory.
    groupPressure: 0.20,
    // Allocations per second that reclaim memory themselves.
    stalls: 10,
    // Allocations per second that move pages themselves to get contiguous memory.
    compactionStalls: 50,

    // Leaks, as shares of the memory: in the last hour; in the last hour if yesterday is unknown; in the last day, and in a
    // quarter of it; in each of the last three days. Types below `leakSmallest` are not followed.
    leakHour: 0.02,
    leakHourWithoutYesterday: 0.05,
    leakDay: 0.01,
    leakQuarterOfDay: 0.0015,
    leakEachOfThreeDays: 0.0025,
    leakSmallest: 0.002,
    // In the last week, with a quarter of it in each half; and the number of bytes that suffices on a large machine.
    leakWeek: 0.01,
    leakWeekMost: 209715200,
    // Kernel memory must grow by this share of the memory before its exhaustion is predicted: in one hour, and in three.
    exhaustionHour: 0.02,
    exhaustionThreeHours: 0.03,
    // Negative directory entries as a share of the memory, at 192 bytes each.
    negativeDentries: 0.05,

    // Shares of a limit.
    nearLimit: 0.90,
    atLimit: 0.95,
    fileHandles: 0.92,
    // Types that use a smaller share of their limit are in no alert on limits. The others are recorded, and examined over
    // hours. Must be less than 0.5 and than every share above.
    limitFollowed: 0.25,
    userQuota: 0.90,
    // Per minute.
    failures: 6,
    waits: 6,
    // Kernel memory of a control group as a share of its limit, and its growth while its programs do not grow, in an hour
    // and in a day: each with its period in seconds (a multiple of 4) and how long it must last before the alert fires.
    groupKernelShare: 0.5,
    groupKernelGrowth: 0.05,
    groupKernelGrowthSeconds: 3600,
    groupKernelGrowthWait: '20m',
    groupKernelDay: 0.02,
    groupKernelDaySeconds: 86400,
    groupKernelDayWait: '1h',

    // Allocators whose memory also belongs to another allocator or to a program. They are in no ranking and cannot leak.
    overlapping: 'memcg|process|page|table|zswap|call_site|hugetlb|cma',
    // Also excluded from rankings by size: socket memory is in slabs and pages, malloc types are in the zones malloc-... of
    // uma(9), and mbuf_packet consists of items of other zones.
    notRanked: self.overlapping + '|socket',
    notRankedTypes: 'malloc-[0-9]+.*|mbuf_packet|pcpu_get_vm_areas',
    // Pools that are meant to be full, so that their limit raises no alert.
    fullByDesign: 'memcg|hugetlb|zswap',
    fullByDesignTypes: 'buffer_(space|headers)|tcp_time_wait|vnodes',
    // Zones of uma(9) without which an allocation still succeeds: buckets, the cache of pages, tags that have a reserve.
    failsRoutinely: '[0-9]+ Bucket|vm pgcache|vmem btag',
    // Caches that the kernel reclaims on demand. They leak only if they grow although memory is short.
    reclaimable: 'dentry|buffer_head|radix_tree_node|xarray_node|ext4_extent_status|xfs_(buf|ili)|.*inode.*|.*[vz]node.*|VNODE.*|.*VFS Cache|vm_page.*|vm pgcache|BUF TRIE|solaris|abd_chunk.*|arc_.*|dbuf.*|dmu_.*|dnode.*|sa_cache|zio_.*',
    // Parts of the memory account that do not belong to the kernel, and parts of the kernel's that it can reclaim.
    notKernel: 'anonymous|page_cache|shared|buffers|swap_cache|detached|active|inactive|laundry|cache|unswappable|user_wired|set_aside|hugetlb|cma|balloon|hardware_corrupted',
    kernelReclaimable: 'slab_reclaimable|kernel_misc|arc',
    // Caches of ZFS on FreeBSD, which the kernel can reclaim.
    zfsCaches: 'abd_chunk.*|arc_.*|zio_(data_)?buf.*',
  },
}
