// SPDX-License-Identifier: BSD-2-Clause
// What you may want to change. Put it on top of the mixin:
//   (import 'mixin.libsonnet') + { _config+:: { clusterLabels: ['datacenter'], memoryLow: 0.15 } }
{
  _config+:: {
    // Matchers that every query carries, such as 'job="memstatd"'. Names of metrics begin with memstat_, so none is needed.
    selector: '',
    // Which targets must answer. /metrics/percpu answers 400 where `per_cpu` is not configured, so it is not asked.
    upSelector: 'job=~".*memstat.*",job!~".*per-?cpu.*"',
    // Labels of targets that tell hosts of the same `instance` apart; those that a target does not have do no harm.
    clusterLabels: ['cluster', 'site'],

    // The part of a job's hosts that is not one host's trouble any more, and how many it must be.
    hostsDown: 0.25,
    fewestHostsDown: 3,
    // Seconds that a host's clock may differ from that of Prometheus.
    clockDifference: 60,

    // How often rules are computed: those that a person waits for; those of alerts that wait some minutes, or of what stays until the
    // machine is booted; those of tables that are alerts only when they stay full for a quarter of an hour, of what the kernel holds and of
    // what memstatd cannot read (less than 5m, for so long Prometheus shows a result); and those that look back over hours and days
    // (10m or less: their results are looked for 15 minutes back).
    interval: '1m',
    soonInterval: '2m',
    tablesInterval: '4m',
    slowInterval: '10m',
    weeksInterval: '30m',

    // Where the runbooks are: as they are installed, or where you publish them. Where Grafana is, without a slash at the end; alerts have no
    // link to it where this is empty.
    runbookBase: 'file:///usr/share/memstatd/dashboards/runbooks.md',
    grafanaBase: '',

    // Part of all memory that programs can still get.
    memoryLow: 0.10,
    memoryVeryLow: 0.05,
    // Part of all memory that the kernel itself may take while less than `kernelShareAvailable` is available.
    kernelShare: 0.40,
    kernelShareAvailable: 0.25,
    // Part of the time in which no task with work could go on for lack of memory.
    pressure: 0.10,
    pressureHigh: 0.40,
    // The same of the time in which at least one task waited for memory.
    pressureSome: 0.50,
    // Allocations a second that have to reclaim memory themselves.
    stalls: 10,
    // And of those that move pages themselves to get contiguous memory.
    compactionStalls: 50,

    // Leaks, in parts of all memory: of the last hour; of the last hour where yesterday is not known; of the last day, and of
    // a quarter of it; of each of the last three days. Types below `leakSmallest` are not followed.
    leakHour: 0.02,
    leakHourWithoutYesterday: 0.05,
    leakDay: 0.01,
    leakQuarterOfDay: 0.0015,
    leakEachOfThreeDays: 0.0025,
    leakSmallest: 0.002,
    // Of the last week, with a quarter of it in each half; and the bytes that are enough on a large machine.
    leakWeek: 0.01,
    leakWeekMost: 209715200,
    // Kernel memory has to grow by that part of all memory before anything is foretold: in an hour, and in three.
    exhaustionHour: 0.02,
    exhaustionThreeHours: 0.03,
    // Negative directory entries, as a part of all memory, at 192 bytes each.
    negativeDentries: 0.05,

    // Part of a limit.
    nearLimit: 0.90,
    atLimit: 0.95,
    fileHandles: 0.92,
    // Types that use less of their limit are in no alert on limits: the others are written down, and looked at hours back. Less than
    // 0.5 and all parts of a limit above.
    limitFollowed: 0.25,
    userQuota: 0.90,
    // A minute.
    failures: 6,
    waits: 6,
    // Kernel memory of a control group, as a part of its limit; its growth while programs do not grow, in an hour and in a day, with
    // how long these are in seconds (multiples of 4) and how long it must go on before it is told.
    groupKernelShare: 0.5,
    groupKernelGrowth: 0.05,
    groupKernelGrowthSeconds: 3600,
    groupKernelGrowthWait: '20m',
    groupKernelDay: 0.02,
    groupKernelDaySeconds: 86400,
    groupKernelDayWait: '1h',

    // Allocators whose memory is another's, or a program's: in no ranking and no leak.
    overlapping: 'memcg|process|page|table|zswap|call_site|hugetlb|cma',
    // In rankings of types by size neither are these: memory of sockets is in slabs and pages, that of malloc types in zones of
    // uma(9) called malloc-..., and mbuf_packet is made of other zones' items.
    notRanked: self.overlapping + '|socket',
    notRankedTypes: 'malloc-[0-9]+.*|mbuf_packet|pcpu_get_vm_areas',
    // Pools that are meant to be full: at their limit, all is well.
    fullByDesign: 'memcg|hugetlb|zswap',
    fullByDesignTypes: 'buffer_(space|headers)|tcp_time_wait',
    // uma(9)'s bucket zones: an allocation that finds no bucket goes without one.
    failsRoutinely: '[0-9]+ Bucket',
    // Caches that the kernel gives back on demand: they leak only when they grow although memory is short.
    reclaimable: 'dentry|buffer_head|radix_tree_node|xarray_node|ext4_extent_status|xfs_(buf|ili)|.*inode.*|.*[vz]node.*|VNODE.*|.*VFS Cache|vm_page.*|vm pgcache|BUF TRIE|solaris|abd_chunk.*|arc_.*|dbuf.*|dmu_.*|dnode.*|sa_cache|zio_.*',
    // Parts of the accounts that are not the kernel's own, and those of the kernel's that it gives back on demand.
    notKernel: 'anonymous|page_cache|shared|buffers|swap_cache|detached|active|inactive|laundry|cache|unswappable|user_wired|set_aside|hugetlb|cma|balloon|hardware_corrupted',
    kernelReclaimable: 'slab_reclaimable|kernel_misc',
    // What FreeBSD's ZFS caches: kernel memory that it gives back.
    zfsCaches: 'abd_chunk.*|arc_.*|zio_(data_)?buf.*',
  },
}
