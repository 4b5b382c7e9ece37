// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/metric_catalogue.h"

namespace memstat {
namespace {

using enum MetricKind;
using enum FigureFormat;
using enum DuplicateRule;

constexpr MetricDescriptor type_metric(std::string_view name, std::string_view unit, MetricKind kind, Tier tier,
                                       Figure figure, std::string_view help, FigureFormat format = kUnsigned,
                                       DuplicateRule duplicates = kSum, CountedSince since = CountedSince::kBoot) {
  return {name, help, unit, kind, MetricScope::kType, tier, format, duplicates, static_cast<std::uint8_t>(figure), since};
}

constexpr MetricDescriptor cpu_metric(std::string_view name, std::string_view unit, MetricKind kind, CpuFigure figure,
                                      std::string_view help) {
  return {name, help, unit, kind, MetricScope::kCpu, Tier::kFull, kUnsigned, kSum, static_cast<std::uint8_t>(figure)};
}

constexpr MetricDescriptor node_metric(std::string_view name, std::string_view unit, NodeField figure,
                                       std::string_view help) {
  return {name, help, unit, kGauge, MetricScope::kNode, Tier::kFull, kUnsigned, kSum, static_cast<std::uint8_t>(figure)};
}

constexpr MetricDescriptor machine_metric(std::string_view name, std::string_view unit, MetricKind kind, Tier tier,
                                          Statistic statistic, std::string_view help, FigureFormat format = kUnsigned) {
  return {name, help, unit, kind, MetricScope::kMachine, tier, format, kSum, static_cast<std::uint8_t>(statistic)};
}

constexpr MetricDescriptor kCatalogue[] = {
    type_metric("memstat_type_bytes", "bytes", kGauge, Tier::kMinimal, Figure::kBytes,
                "Bytes in use now, as of the last poll."),
    {"memstat_unlisted_bytes",
     "Bytes in use now of the types of the allocator that are not listed, because of min_bytes, top or series_limit.",
     "bytes", kGauge, MetricScope::kAllocator, Tier::kMinimal, kUnsigned, kSum,
     static_cast<std::uint8_t>(AllocatorFigure::kUnlistedBytes)},
    type_metric("memstat_type_objects", "", kGauge, Tier::kMinimal, Figure::kObjects,
                "Objects in use now, as of the last poll."),
    type_metric("memstat_type_failures_total", "", kCounter, Tier::kMinimal, Figure::kFailures,
                "Allocations that failed, since first seen. The bucket zones of uma fail routinely."),
    type_metric(
        "memstat_type_limit_objects", "", kGauge, Tier::kMinimal, Figure::kLimitObjects,
        "Most objects allowed, cached ones included; absent when unlimited (the kernel's, or else the configuration's).",
        kUnsigned, kSumOfAll),
    type_metric("memstat_type_limit_bytes", "bytes", kGauge, Tier::kMinimal, Figure::kLimitBytes,
                "Most bytes allowed; absent when unlimited (the kernel's, or else the configuration's).", kUnsigned,
                kSumOfAll),
    type_metric(
        "memstat_type_limit_used_ratio", "ratio", kGauge, Tier::kMinimal, Figure::kLimitUsed,
        "How much of its limit the type uses, of the nearest where it has one of bytes and one of objects; 1 is all.",
        kDouble, kMost),
    type_metric("memstat_type_limit_configured", "", kGauge, Tier::kMinimal, Figure::kLimitConfigured,
                "1 for each type whose limit is the configuration's: the kernel does not enforce it.", kUnsigned,
                kSameOrNone),
    type_metric("memstat_type_limit_hits_total", "", kCounter, Tier::kMinimal, Figure::kLimitHits,
                "Times that the limit was felt since memstatd started: waits and failures, or upward crossings where the "
                "kernel counts neither.",
                kUnsigned, kSum, CountedSince::kFirstSight),
    type_metric("memstat_type_held_bytes", "bytes", kGauge, Tier::kDefault, Figure::kHeldBytes,
                "Bytes taken from the system now, free objects and padding included."),
    type_metric("memstat_type_free_objects", "", kGauge, Tier::kDefault, Figure::kFreeObjects,
                "Objects cached for reuse now."),
    type_metric("memstat_type_allocations_total", "", kCounter, Tier::kDefault, Figure::kAllocations,
                "Objects allocated since boot."),
    type_metric("memstat_type_frees_total", "", kCounter, Tier::kDefault, Figure::kFrees, "Objects freed since boot."),
    type_metric("memstat_type_sleeps_total", "", kCounter, Tier::kDefault, Figure::kSleeps,
                "Allocations that waited at the limit, since boot."),
    type_metric("memstat_type_delta_bytes", "bytes", kGauge, Tier::kDefault, Figure::kDeltaBytes,
                "Change of the bytes in use from the poll before to the last poll; absent at first sight.", kSigned),
    type_metric(
        "memstat_type_growth_bytes_per_second", "", kGauge, Tier::kDefault, Figure::kGrowth,
        "Bytes gained a second over the growth window of the configuration, or since first seen when that is shorter.",
        kDouble),
    type_metric("memstat_type_object_footprint_bytes", "bytes", kGauge, Tier::kDefault, Figure::kFootprint,
                "Bytes that one object takes, padding included.", kUnsigned, kSameOrNone),
    type_metric("memstat_type_delta_objects", "", kGauge, Tier::kFull, Figure::kDeltaObjects,
                "Change of the objects in use from the poll before to the last poll; absent at first sight.", kSigned),
    type_metric("memstat_type_zone_free_objects", "", kGauge, Tier::kFull, Figure::kZoneFreeObjects,
                "Objects cached in the zone now, CPU caches not included."),
    type_metric("memstat_type_keg_free_objects", "", kGauge, Tier::kDefault, Figure::kKegFreeObjects,
                "Objects free in the keg's slabs now."),
    type_metric("memstat_type_allocated_bytes_total", "bytes", kCounter, Tier::kFull, Figure::kAllocatedBytes,
                "Bytes allocated since boot, rounded up to size classes."),
    type_metric("memstat_type_freed_bytes_total", "bytes", kCounter, Tier::kFull, Figure::kFreedBytes,
                "Bytes freed since boot, rounded up to size classes."),
    type_metric("memstat_type_sleepers", "", kGauge, Tier::kFull, Figure::kSleepers, "Threads waiting at the limit now."),
    type_metric("memstat_type_cross_domain_frees_total", "", kCounter, Tier::kFull, Figure::kCrossDomainFrees,
                "Frees on another NUMA domain than the allocation's, since boot."),
    type_metric("memstat_type_object_size_bytes", "bytes", kGauge, Tier::kFull, Figure::kObjectSize,
                "Bytes that a caller gets with one object.", kUnsigned, kSameOrNone),
    type_metric("memstat_type_slabs", "", kGauge, Tier::kFull, Figure::kSlabs, "Slabs taken from the page allocator now."),
    type_metric("memstat_type_partial_slabs", "", kGauge, Tier::kFull, Figure::kPartialSlabs,
                "Slabs on the lists of those with free objects now."),
    type_metric("memstat_type_cpu_slabs", "", kGauge, Tier::kFull, Figure::kCpuSlabs,
                "Slabs that CPUs hold for their next allocations now."),
    type_metric("memstat_type_address_space_bytes", "bytes", kGauge, Tier::kFull, Figure::kAddressSpace,
                "Bytes of address space now, the kernel's or a process's own, whether memory is behind them or not."),
    type_metric("memstat_type_wide_limit_objects", "", kGauge, Tier::kFull, Figure::kWideLimitObjects,
                "Most objects allowed, with all 64 bits of the kernel's limit, of which others tell 32.", kUnsigned,
                kSumOfAll),
    type_metric("memstat_type_slab_efficiency_ratio", "ratio", kGauge, Tier::kFull, Figure::kSlabEfficiency,
                "Part of a slab's memory that its objects take, 0 to 1.", kDouble, kSameOrNone),
    type_metric("memstat_type_peak_bytes", "bytes", kGauge, Tier::kFull, Figure::kPeakBytes,
                "Most bytes in use seen at any poll since memstatd first saw the type."),
    type_metric("memstat_type_resets_total", "", kCounter, Tier::kFull, Figure::kResets,
                "Times that a counter of the type fell by more than unlocked reading explains, since memstatd started.",
                kUnsigned, kSum, CountedSince::kFirstSight),
    {"memstat_type_size_class_used", "1 for each size class that ever served the type, by its size in bytes.", "", kGauge,
     MetricScope::kSizeClass, Tier::kFull, kUnsigned, kSum, static_cast<std::uint8_t>(Figure::kSizeClasses)},
    cpu_metric("memstat_cpu_allocated_bytes_total", "bytes", kCounter, CpuFigure::kAllocatedBytes,
               "Bytes allocated on this CPU since boot."),
    cpu_metric("memstat_cpu_freed_bytes_total", "bytes", kCounter, CpuFigure::kFreedBytes,
               "Bytes freed on this CPU since boot."),
    cpu_metric("memstat_cpu_allocations_total", "", kCounter, CpuFigure::kAllocations,
               "Allocations on this CPU since boot."),
    cpu_metric("memstat_cpu_frees_total", "", kCounter, CpuFigure::kFrees, "Frees on this CPU since boot."),
    cpu_metric("memstat_cpu_free_objects", "", kGauge, CpuFigure::kFreeObjects, "Objects cached by this CPU now."),
    node_metric("memstat_node_held_bytes", "bytes", NodeField::kHeldBytes,
                "Bytes of this node's memory that the type takes from the system now."),
    node_metric("memstat_node_objects", "", NodeField::kCount, "Objects in use on this node now."),
    node_metric("memstat_node_free_objects", "", NodeField::kFree, "Objects cached for reuse on this node now."),
    node_metric("memstat_node_object_slots", "", NodeField::kSlots,
                "Objects that there is room for on this node now, in use or free."),
    {"memstat_type_detail", "1 for each type of which more is known than its name, such as file and line of a call site.",
     "", kGauge, MetricScope::kDetail, Tier::kFull, kUnsigned, kSameOrNone, 0},
    machine_metric("memstat_accounted_bytes", "bytes", kGauge, Tier::kMinimal, Statistic::kAccountedBytes,
                   "Bytes of memory now by what holds them; the parts are disjoint and may be stacked."),
    machine_metric("memstat_unaccounted_bytes", "bytes", kGauge, Tier::kMinimal, Statistic::kUnaccountedBytes,
                   "Bytes of memory now that are neither free nor in any of the accounted parts.", kSigned),
    machine_metric("memstat_memory_total_bytes", "bytes", kGauge, Tier::kMinimal, Statistic::kTotalBytes,
                   "Bytes of memory that the kernel manages now."),
    machine_metric("memstat_memory_available_bytes", "bytes", kGauge, Tier::kMinimal, Statistic::kAvailableBytes,
                   "Bytes of memory that programs can still get without paging, now, as the kernel estimates it."),
    machine_metric("memstat_accounted_part_missing", "", kGauge, Tier::kMinimal, Statistic::kPartMissing,
                   "1 for each part of the accounts that this kernel does not tell; its bytes are unaccounted."),
    machine_metric("memstat_zone_watermark_bytes", "bytes", kGauge, Tier::kDefault, Statistic::kZoneWatermarkBytes,
                   "Free memory of the zone at which reclaim wakes or stops (low, high, promo), or below which only "
                   "emergencies are served (min), now; no limit."),
    machine_metric("memstat_zone_largest_free_block_bytes", "bytes", kGauge, Tier::kDefault,
                   Statistic::kZoneLargestFreeBlock,
                   "Bytes of the largest free block of the zone now; 0 when nothing is free."),
    machine_metric("memstat_page_allocations_total", "", kCounter, Tier::kDefault, Statistic::kPageAllocations,
                   "Pages allocated since boot from the zones of that name, those of all nodes together."),
    machine_metric("memstat_page_frees_total", "", kCounter, Tier::kDefault, Statistic::kPageFrees,
                   "Pages freed since boot, in all zones together."),
    machine_metric(
        "memstat_page_allocation_failures_total", "", kCounter, Tier::kMinimal, Statistic::kPageAllocationFailures,
        "Allocations of huge or contiguous memory that failed since boot, by what wanted it; most have a fallback."),
    machine_metric("memstat_page_migration_failures_total", "", kCounter, Tier::kFull, Statistic::kPageMigrationFailures,
                   "Pages that could not be moved to another place since boot."),
    machine_metric("memstat_compaction_stalls_total", "", kCounter, Tier::kDefault, Statistic::kCompactionStalls,
                   "Allocations since boot that had to compact memory themselves before they went on."),
    machine_metric("memstat_compaction_failures_total", "", kCounter, Tier::kDefault, Statistic::kCompactionFailures,
                   "Allocations since boot that compacted memory themselves and still found no block."),
    machine_metric("memstat_compaction_successes_total", "", kCounter, Tier::kDefault, Statistic::kCompactionSuccesses,
                   "Allocations since boot that compacted memory themselves and found a block then."),
    machine_metric("memstat_numa_events_total", "", kCounter, Tier::kDefault, Statistic::kNumaEvents,
                   "Page allocations of any order since boot: on this node as wanted (hit), instead of on another (miss), "
                   "on another instead (foreign), and so on."),
    machine_metric("memstat_buddy_free_blocks", "", kGauge, Tier::kFull, Statistic::kBuddyFreeBlocks,
                   "Free blocks of 2^order pages in the zone now."),
    machine_metric("memstat_buddy_free_blocks_by_type", "", kGauge, Tier::kFull, Statistic::kBuddyFreeBlocksByType,
                   "Free blocks of 2^order pages in the zone now by migrate type; the kernel stops counting at 100000."),
    machine_metric("memstat_fragmentation_index", "", kGauge, Tier::kFull, Statistic::kFragmentationIndex,
                   "Why a request of 2^order pages would fail in the zone now: 0 for lack of memory up to 1 for "
                   "fragmentation, -1 when it would not.",
                   kDouble),
    machine_metric("memstat_unusable_free_ratio", "ratio", kGauge, Tier::kFull, Statistic::kUnusableFreeRatio,
                   "Part of the zone's free memory now that lies in blocks smaller than 2^order pages, 0 to 1.", kDouble),
    machine_metric("memstat_oom_kills_total", "", kCounter, Tier::kMinimal, Statistic::kOomKills,
                   "Processes that the kernel killed since boot because memory ran out, in control groups as well."),
    machine_metric(
        "memstat_allocation_stalls_total", "", kCounter, Tier::kMinimal, Statistic::kAllocationStalls,
        "Allocations since boot that had to reclaim memory themselves, by the highest zone that they could take."),
    machine_metric(
        "memstat_reclaim_throttles_total", "", kCounter, Tier::kDefault, Statistic::kReclaimThrottles,
        "Waits since boot of allocations for others to reclaim, because hardly anything was left below the min watermark."),
    machine_metric("memstat_node_reclaim_failures_total", "", kCounter, Tier::kDefault, Statistic::kNodeReclaimFailures,
                   "Reclaims since boot that were to keep an allocation on its node and freed too little."),
    machine_metric(
        "memstat_reclaim_scanned_pages_total", "", kCounter, Tier::kDefault, Statistic::kReclaimScannedPages,
        "Pages that reclaim looked at since boot: allocations that stalled (direct), the kernel's own thread (kswapd), or "
        "FreeBSD's page daemon by queue."),
    machine_metric(
        "memstat_reclaimed_pages_total", "", kCounter, Tier::kDefault, Statistic::kReclaimedPages,
        "Pages that reclaim freed since boot: allocations that stalled (direct), the kernel's own thread (kswapd), or "
        "FreeBSD's page daemon."),
    machine_metric("memstat_cache_drops_total", "", kCounter, Tier::kDefault, Statistic::kCacheDrops,
                   "Times since boot that somebody told the kernel to drop its caches."),
    machine_metric("memstat_pressure_stall_seconds_total", "seconds", kCounter, Tier::kDefault,
                   Statistic::kPressureStallSeconds,
                   "Time since boot during which some, or all, tasks that had work waited for memory.", kDouble),
    machine_metric("memstat_hugetlb_reserved_pages", "", kGauge, Tier::kDefault, Statistic::kHugetlbReserved,
                   "Free pages of the pool of huge pages that are promised to mappings now."),
    machine_metric("memstat_hugetlb_surplus_pages", "", kGauge, Tier::kDefault, Statistic::kHugetlbSurplus,
                   "Pages of the pool of huge pages beyond the size it was set to now."),
    machine_metric("memstat_memcg_part_bytes", "bytes", kGauge, Tier::kFull, Statistic::kMemcgPartBytes,
                   "Bytes of a control group and those below it now by kind; kernel contains kernel_stack, pagetables, "
                   "percpu, vmalloc and slab, and file contains shmem."),
    machine_metric("memstat_memcg_events_total", "", kCounter, Tier::kFull, Statistic::kMemcgEvents,
                   "Times that a control group met its low or high bound or its limit, was out of memory or lost a process "
                   "to that, since it was made."),
    machine_metric("memstat_memcg_high_bytes", "bytes", kGauge, Tier::kDefault, Statistic::kMemcgHighBytes,
                   "Bytes above which the kernel slows a control group down and takes memory back; absent without bound."),
    machine_metric("memstat_memcg_kernel_bytes", "bytes", kGauge, Tier::kDefault, Statistic::kMemcgKernelBytes,
                   "Bytes that the kernel took for a control group and those below it now: slab, page tables, stacks, "
                   "sockets and the like."),
    machine_metric("memstat_memcg_reclaimable_kernel_bytes", "bytes", kGauge, Tier::kDefault,
                   Statistic::kMemcgReclaimableBytes,
                   "What of memstat_memcg_kernel_bytes the kernel can take back when memory is short, such as cached "
                   "directory entries."),
    machine_metric("memstat_memcg_anonymous_bytes", "bytes", kGauge, Tier::kDefault, Statistic::kMemcgAnonymousBytes,
                   "Bytes of the programs of a control group and those below it now that are in no file."),
    machine_metric("memstat_memcg_groups_left_out", "", kGauge, Tier::kMinimal, Statistic::kMemcgGroupsLeftOut,
                   "Control groups that were seen at the last read but are not listed, because there are too many or they "
                   "may not be read."),
    machine_metric("memstat_socket_memory_pressure", "", kGauge, Tier::kDefault, Statistic::kSocketPressure,
                   "Whether the protocol saves memory now, because its sockets together have more than the threshold."),
    machine_metric("memstat_socket_pressure_threshold_bytes", "bytes", kGauge, Tier::kDefault,
                   Statistic::kSocketPressureBytes,
                   "Memory of all sockets of the protocol from which it begins to save some."),
    machine_metric("memstat_socket_pressure_seconds_total", "seconds", kCounter, Tier::kDefault,
                   Statistic::kSocketPressureSeconds,
                   "Time that the protocol saved memory since boot, counted when it ends.", kDouble),
    machine_metric("memstat_socket_events_total", "", kCounter, Tier::kDefault, Statistic::kSocketEvents,
                   "What lack of memory or full queues made the protocol do since boot, by the kernel's name of it."),
    machine_metric("memstat_table_soft_limit_objects", "", kGauge, Tier::kDefault, Statistic::kTableSoftLimit,
                   "Entries of the table at which the kernel evicts some, or refuses users without privilege, before it is "
                   "full."),
    machine_metric("memstat_table_user_limit_objects", "", kGauge, Tier::kDefault, Statistic::kTableUserLimit,
                   "Entries that each user may have in a table that the kernel bounds by user."),
    machine_metric("memstat_table_user_used_ratio", "ratio", kGauge, Tier::kDefault, Statistic::kTableUserUsedRatio,
                   "Part of its quota that the user has used who is nearest to it.", kDouble),
    machine_metric("memstat_table_events_total", "", kCounter, Tier::kDefault, Statistic::kTableEvents,
                   "What a table that was full, or nearly, made the kernel do since boot, by the kernel's name of it."),
    machine_metric("memstat_negative_dentries", "", kGauge, Tier::kDefault, Statistic::kNegativeDentries,
                   "Unused directory entries that only remember that there is no such file."),
    machine_metric("memstat_checker_bugs_total", "", kCounter, Tier::kDefault, Statistic::kCheckerBugs,
                   "Memory errors that the kernel's own checker found since boot."),
    machine_metric("memstat_checker_objects", "", kGauge, Tier::kFull, Statistic::kCheckerObjects,
                   "Objects that the kernel's own checker guards now."),
    machine_metric("memstat_checker_allocations_total", "", kCounter, Tier::kFull, Statistic::kCheckerAllocations,
                   "Allocations that the kernel's own checker guarded since boot."),
    machine_metric("memstat_checker_frees_total", "", kCounter, Tier::kFull, Statistic::kCheckerFrees,
                   "Objects that came back to the kernel's own checker since boot."),
    machine_metric("memstat_checker_skips_total", "", kCounter, Tier::kFull, Statistic::kCheckerSkips,
                   "Allocations that the kernel's own checker was to guard and could not since boot."),
    machine_metric("memstat_slab_debug_caches", "", kGauge, Tier::kDefault, Statistic::kSlabDebugCaches,
                   "Slab caches that have this debugging check on, when the source was started."),
    machine_metric("memstat_kernel_reports_total", "", kCounter, Tier::kDefault, Statistic::kKernelReports,
                   "Warnings (those of memory checkers among them) or oopses that the kernel printed since boot."),
    machine_metric("memstat_kernel_tainted", "", kGauge, Tier::kDefault, Statistic::kKernelTaint,
                   "Whether the kernel met a bad page or a machine check since boot."),
    machine_metric(
        "memstat_process_part_bytes", "bytes", kGauge, Tier::kDefault, Statistic::kProcessPartBytes,
        "Bytes now of the processes of that name: shared with files and others (part of what is resident), mapped "
        "program text, data and stack."),
    machine_metric("memstat_processes_left_out", "", kGauge, Tier::kMinimal, Statistic::kProcessesLeftOut,
                   "Processes that were listed at the last read but not looked at, because there are too many."),
    machine_metric(
        "memstat_page_events_total", "", kCounter, Tier::kDefault, Statistic::kPageEvents,
        "Times since boot that FreeBSD's page daemon was woken or fell short, that a page came back into use from "
        "the inactive queue, and the like, by kind."),
    machine_metric("memstat_paged_pages_total", "", kCounter, Tier::kDefault, Statistic::kPagedPages,
                   "Pages that a pager (swap, vnode) moved in from or out to disks since boot."),
};

}  // namespace

std::span<const MetricDescriptor> metric_catalogue() { return kCatalogue; }

std::span<const std::string_view> label_names(const MetricDescriptor& metric) {
  static constexpr std::string_view kCpu[] = {"allocator", "type", "cpu"};
  static constexpr std::string_view kSize[] = {"allocator", "type", "size"};
  static constexpr std::string_view kNode[] = {"allocator", "type", "node"};
  static constexpr std::string_view kDetail[] = {"allocator", "type", "detail"};
  switch (metric.scope) {
    case MetricScope::kType: return std::span(kCpu).first(2);
    case MetricScope::kCpu: return kCpu;
    case MetricScope::kSizeClass: return kSize;
    case MetricScope::kAllocator: return std::span(kCpu).first(1);
    case MetricScope::kNode: return kNode;
    case MetricScope::kMachine: return label_names(static_cast<Statistic>(metric.figure));
    case MetricScope::kDetail: return kDetail;
  }
  return {};
}

std::string_view to_string(MetricKind kind) {
  switch (kind) {
    case MetricKind::kGauge: return "gauge";
    case MetricKind::kCounter: return "counter";
    case MetricKind::kHistogram: return "histogram";
  }
  return {};
}

std::string_view to_string(MetricScope scope) {
  switch (scope) {
    case MetricScope::kType: return "type";
    case MetricScope::kCpu: return "cpu";
    case MetricScope::kSizeClass: return "size_class";
    case MetricScope::kAllocator: return "allocator";
    case MetricScope::kNode: return "node";
    case MetricScope::kMachine: return "machine";
    case MetricScope::kDetail: return "detail";
  }
  return "unknown";
}

std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::kMinimal: return "minimal";
    case Tier::kDefault: return "default";
    case Tier::kFull: return "full";
  }
  return "unknown";
}

}  // namespace memstat
