// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metric_catalogue.h"

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

constexpr MetricDescriptor kCatalogue[] = {
    type_metric("memstat_type_bytes", "bytes", kGauge, Tier::kMinimal, Figure::kBytes,
                "Bytes in use now, as of the last poll (malloc: memalloced - memfreed; uma: items in use x requested size; "
                "slab: active_objs x objsize; vmalloc: size of the areas without guard pages, more than they hold "
                "where they map memory of others)."),
    {"memstat_unlisted_bytes",
     "Bytes in use now of the types of the allocator that are not listed, because of min_bytes or series_limit.", "bytes",
     kGauge, MetricScope::kAllocator, Tier::kMinimal, kUnsigned, kSum,
     static_cast<std::uint8_t>(AllocatorFigure::kUnlistedBytes)},
    type_metric("memstat_type_objects", "", kGauge, Tier::kMinimal, Figure::kObjects,
                "Objects in use now, as of the last poll (malloc, uma: allocations - frees; slab: active_objs; vmalloc: "
                "areas)."),
    type_metric("memstat_type_failures_total", "", kCounter, Tier::kMinimal, Figure::kFailures,
                "Allocations that failed, since first seen (uma: uth_fails). The bucket zones of uma fail routinely."),
    type_metric("memstat_type_limit_objects", "", kGauge, Tier::kMinimal, Figure::kLimitObjects,
                "Most objects allowed, cached ones included; absent when unlimited (uma: uth_limit, or the configuration).",
                kUnsigned, kSumOfAll),
    type_metric("memstat_type_limit_bytes", "bytes", kGauge, Tier::kMinimal, Figure::kLimitBytes,
                "Most bytes allowed; absent when unlimited (uma: uth_limit x requested size, or the configuration).",
                kUnsigned, kSumOfAll),
    type_metric(
        "memstat_type_limit_hits_total", "", kCounter, Tier::kMinimal, Figure::kLimitHits,
        "Times that the limit was felt since memstatd started: waits and failures, or upward crossings where the kernel "
        "counts neither.",
        kUnsigned, kSum, CountedSince::kFirstSight),
    type_metric("memstat_type_held_bytes", "bytes", kGauge, Tier::kDefault, Figure::kHeldBytes,
                "Bytes taken from the system now, free objects and padding included (uma: uth_pages x page size; slab: "
                "num_slabs x pagesperslab x page size; vmalloc: pages x page size)."),
    type_metric("memstat_type_free_objects", "", kGauge, Tier::kDefault, Figure::kFreeObjects,
                "Objects cached for reuse now (uma: CPU caches + zone + keg; slab: num_objs - active_objs; vmalloc: "
                "areas freed but not yet unmapped)."),
    type_metric("memstat_type_allocations_total", "", kCounter, Tier::kDefault, Figure::kAllocations,
                "Allocations since boot (malloc: mts_numallocs; uma: uth_allocs + ups_allocs)."),
    type_metric("memstat_type_frees_total", "", kCounter, Tier::kDefault, Figure::kFrees,
                "Frees since boot (malloc: mts_numfrees; uma: uth_frees + ups_frees)."),
    type_metric("memstat_type_sleeps_total", "", kCounter, Tier::kDefault, Figure::kSleeps,
                "Allocations that waited at the limit, since boot (uma: uth_sleeps)."),
    type_metric("memstat_type_delta_bytes", "bytes", kGauge, Tier::kDefault, Figure::kDeltaBytes,
                "Change of the bytes in use from the poll before to the last poll; absent at first sight.", kSigned),
    type_metric(
        "memstat_type_growth_bytes_per_second", "", kGauge, Tier::kDefault, Figure::kGrowth,
        "Bytes gained a second over the growth window of the configuration, or since first seen when that is shorter.",
        kDouble),
    type_metric("memstat_type_object_footprint_bytes", "bytes", kGauge, Tier::kDefault, Figure::kFootprint,
                "Bytes that one object takes, padding included (uma: uth_rsize; slab: objsize).", kUnsigned, kSameOrNone),
    type_metric("memstat_type_delta_objects", "", kGauge, Tier::kFull, Figure::kDeltaObjects,
                "Change of the objects in use from the poll before to the last poll; absent at first sight.", kSigned),
    type_metric("memstat_type_zone_free_objects", "", kGauge, Tier::kFull, Figure::kZoneFreeObjects,
                "Objects cached in the zone now, CPU caches not included (uma: uth_zone_free)."),
    type_metric("memstat_type_keg_free_objects", "", kGauge, Tier::kFull, Figure::kKegFreeObjects,
                "Objects free in the keg's slabs now (uma: uth_keg_free; absent for secondary and cache zones)."),
    type_metric("memstat_type_allocated_bytes_total", "bytes", kCounter, Tier::kFull, Figure::kAllocatedBytes,
                "Bytes allocated since boot, rounded up to size classes (malloc: mts_memalloced)."),
    type_metric("memstat_type_freed_bytes_total", "bytes", kCounter, Tier::kFull, Figure::kFreedBytes,
                "Bytes freed since boot, rounded up to size classes (malloc: mts_memfreed)."),
    type_metric("memstat_type_sleepers", "", kGauge, Tier::kFull, Figure::kSleepers,
                "Threads waiting at the limit now (no source of this version has it)."),
    type_metric("memstat_type_cross_domain_frees_total", "", kCounter, Tier::kFull, Figure::kCrossDomainFrees,
                "Frees on another NUMA domain than the allocation's, since boot (uma: uth_xdomain)."),
    type_metric("memstat_type_object_size_bytes", "bytes", kGauge, Tier::kFull, Figure::kObjectSize,
                "Bytes that a caller gets with one object (uma: uth_size; slab: object_size of /sys/kernel/slab).",
                kUnsigned, kSameOrNone),
    type_metric("memstat_type_peak_bytes", "bytes", kGauge, Tier::kFull, Figure::kPeakBytes,
                "Most bytes in use seen at any poll since memstatd first saw the type."),
    type_metric("memstat_type_resets_total", "", kCounter, Tier::kFull, Figure::kResets,
                "Times that a counter of the type fell by more than unlocked reading explains, since memstatd started.",
                kUnsigned, kSum, CountedSince::kFirstSight),
    {"memstat_type_size_class_used",
     "1 for each size class that ever served the type, by its size in bytes (malloc: mts_size, vm.malloc.zone_sizes).", "",
     kGauge, MetricScope::kSizeClass, Tier::kFull, kUnsigned, kSum, static_cast<std::uint8_t>(Figure::kSizeClasses)},
    cpu_metric("memstat_cpu_allocated_bytes_total", "bytes", kCounter, CpuFigure::kAllocatedBytes,
               "Bytes allocated on this CPU since boot (malloc: mts_memalloced)."),
    cpu_metric("memstat_cpu_freed_bytes_total", "bytes", kCounter, CpuFigure::kFreedBytes,
               "Bytes freed on this CPU since boot (malloc: mts_memfreed)."),
    cpu_metric("memstat_cpu_allocations_total", "", kCounter, CpuFigure::kAllocations,
               "Allocations on this CPU since boot (malloc: mts_numallocs; uma: ups_allocs)."),
    cpu_metric("memstat_cpu_frees_total", "", kCounter, CpuFigure::kFrees,
               "Frees on this CPU since boot (malloc: mts_numfrees; uma: ups_frees)."),
    cpu_metric("memstat_cpu_free_objects", "", kGauge, CpuFigure::kFreeObjects,
               "Objects cached by this CPU now (uma: ups_cache_free)."),
};

}  // namespace

std::span<const MetricDescriptor> metric_catalogue() { return kCatalogue; }

std::string_view to_string(MetricKind kind) { return kind == MetricKind::kCounter ? "counter" : "gauge"; }

std::string_view to_string(MetricScope scope) {
  switch (scope) {
    case MetricScope::kType: return "type";
    case MetricScope::kCpu: return "cpu";
    case MetricScope::kSizeClass: return "size_class";
    case MetricScope::kAllocator: return "allocator";
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
