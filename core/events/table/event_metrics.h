// SPDX-License-Identifier: BSD-2-Clause
// Metrics that more than one source of events yields.
#pragma once

#include <array>
#include <cstddef>

#include "core/events/bpf/sizes.h"
#include "core/model/system_metric.h"

namespace memstat::events {

inline constexpr SystemMetric kLostEvents =
    counter_metric("memstat_events_lost_total", Tier::kDefault,
                   "Events of the kernel that memstatd could not count since it attached: no room for one more type "
                   "(unplaced; malloc_unplaced: of malloc(9)), an event during another on its CPU (missed: of slab caches, "
                   "vm_missed: of others), a page fault whose end was not seen, because it failed or its CPU came "
                   "online later (untimed), or no room in DTrace's buffers (malloc_dropped).",
                   {"reason"});

/// 8 B to 1 GiB in powers of two, as in memstat_size_bucket().
inline constexpr auto kSizeBounds = [] {
  std::array<double, MEMSTAT_SIZES - 1> bounds{};
  double bound = 8;
  for (std::size_t i = 0; i < bounds.size(); ++i, bound *= 2) bounds[i] = bound;
  return bounds;
}();
inline constexpr HistogramBuckets kSizeBuckets{.bounds = kSizeBounds, .is_native = true, .schema = 0, .first_index = 3};

inline constexpr SystemMetric kAllocationSizes =
    histogram_metric("memstat_allocation_size_bytes", Tier::kFull,
                     "Allocations since memstatd attached to their events, by what was asked for: from slab caches and by "
                     "kmalloc (slab), of pages, per-CPU memory and vmalloc. Needs events.mode full.",
                     kSizeBuckets, {"allocator"});

inline constexpr SystemMetric kGfpAllocations =
    counter_metric("memstat_gfp_allocations_total", Tier::kDefault,
                   "Allocations from slab caches and by kmalloc (slab) and of pages (page) that got memory, since memstatd "
                   "attached to their events, by what the caller let the kernel do for it (its GFP flags): dma; without "
                   "waiting: atomic (may have the reserve), nowait, other (wakes not even kswapd); waiting, but: noio, "
                   "nofs; user (for a program), kernel. Needs option gfp_classes of the source.",
                   {"allocator", "class"});

inline constexpr SystemMetric kGfpFailures = counter_metric(
    "memstat_gfp_failures_total", Tier::kDefault,
    "Those that got none, by the same classes. Needs option gfp_classes of the source.", {"allocator", "class"});

/// 2^-22 s to 16 s in powers of two, as in memstat_time_bucket().
inline constexpr auto kTimeBounds = [] {
  std::array<double, MEMSTAT_TIMES - 1> bounds{};
  double bound = 1.0 / (1U << 22U);
  for (std::size_t i = 0; i < bounds.size(); ++i, bound *= 2) bounds[i] = bound;
  return bounds;
}();
inline constexpr HistogramBuckets kTimeBuckets{.bounds = kTimeBounds, .is_native = true, .schema = 0, .first_index = -22};

inline constexpr SystemMetric kPageFaultTimes = histogram_metric(
    "memstat_page_fault_seconds", Tier::kFull,
    "How long page faults took since memstatd attached to their events, waiting included, by how they ended "
    "(minor, major, oom, sigbus). Needs events.mode full. What this kernel or its policy does not give is "
    "absent, and the status page says why.",
    kTimeBuckets, {"kind"});

inline constexpr SystemMetric kEventsCost =
    counter_metric("memstat_events_cost_seconds_total", Tier::kDefault,
                   "CPU time that counting events of the kernel took since memstatd attached to them: their number times "
                   "what one takes, which was measured then, or what the kernel measured, if that is more.",
                   {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kEventsSampled =
    counter_metric("memstat_events_sampled_seconds_total", Tier::kDefault,
                   "Time in which a part of the events was counted, and counters of the source grew by estimates, to keep "
                   "events.budget.",
                   {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kEventsCounted =
    gauge_metric("memstat_events_counted_ratio", Tier::kDefault,
                 "Part of the time whose events are counted now: 1: all; less: the rest is estimated from it; 0: memstatd "
                 "detached from them, because they took more than events.budget, until its helper process attaches again.",
                 {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kEventsBudget =
    gauge_metric("memstat_events_budget_ratio", Tier::kFull,
                 "Part of one CPU that counting events may take, of all sources together, on the average of a minute.",
                 {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kVmEvents =
    counter_metric("memstat_vm_events_total", Tier::kDefault,
                   "Events of the kernel's memory management since memstatd attached to them. What this kernel or its "
                   "policy does not give is absent, and the status page says why.",
                   {"event"});

inline constexpr SystemMetric kVmEventBytes = counter_metric(
    "memstat_vm_event_bytes_total", Tier::kFull,
    "Bytes that these events were about, of those that have a size, since memstatd attached to them.", {"event"});

}  // namespace memstat::events
