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
                   "(unplaced; malloc_unplaced: of malloc(9)), an event during another on its CPU (missed: of slab "
                   "caches, vm_missed: of others), a page fault whose end was not seen, because it failed or its CPU "
                   "came online later (untimed), or no room in DTrace's buffers (malloc_dropped).",
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
                     "Allocations since memstatd attached to their events, by requested size: from slab caches and by "
                     "kmalloc (slab), of pages, per-CPU memory and vmalloc. Needs events.mode full.",
                     kSizeBuckets, {"allocator"});

inline constexpr SystemMetric kGfpAllocations = counter_metric(
    "memstat_gfp_allocations_total", Tier::kDefault,
    "Successful allocations from slab caches and by kmalloc (slab) and of pages (page), since memstatd attached to their "
    "events, by GFP class: dma; without sleeping: atomic (may use reserves), nowait, other (does not even wake kswapd); "
    "sleeping, but: noio, nofs; user (for a process), kernel. Needs option gfp_classes of the source.",
    {"allocator", "class"});

inline constexpr SystemMetric kGfpFailures = counter_metric(
    "memstat_gfp_failures_total", Tier::kDefault,
    "Failed allocations since memstatd attached to their events, by GFP class. Needs option gfp_classes of the source.",
    {"allocator", "class"});

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
    "Duration of page faults since memstatd attached to their events, including waiting, by outcome (minor, major, "
    "oom, sigbus). Needs events.mode full. Outcomes that this kernel or its policy does not provide are absent, and "
    "the status page shows why.",
    kTimeBuckets, {"kind"});

inline constexpr SystemMetric kEventsCost = counter_metric(
    "memstat_events_cost_seconds_total", Tier::kDefault,
    "CPU time for counting kernel events since memstatd attached to them: their number times the cost of one, as "
    "measured at that time; or the kernel's measurement, if that is more.",
    {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kEventsSampled =
    counter_metric("memstat_events_sampled_seconds_total", Tier::kDefault,
                   "Time in which events were sampled, and the source's counters were estimates, to stay within "
                   "events.budget.",
                   {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kEventsCounted =
    gauge_metric("memstat_events_counted_ratio", Tier::kDefault,
                 "Sampling ratio: 1 counts every event; 0 means that memstatd has detached, because events.budget was "
                 "exceeded, until its helper process attaches again.",
                 {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kEventsBudget =
    gauge_metric("memstat_events_budget_ratio", Tier::kFull,
                 "Maximum share of one CPU for counting events, for all sources together, averaged over a minute.",
                 {"source"}, ValueFormat::kDouble);

inline constexpr SystemMetric kVmEvents = counter_metric(
    "memstat_vm_events_total", Tier::kDefault,
    "Events of the kernel's memory management since memstatd attached to them. Events that this kernel or its policy "
    "does not provide are absent, and the status page shows why.",
    {"event"});

inline constexpr SystemMetric kVmEventBytes = counter_metric(
    "memstat_vm_event_bytes_total", Tier::kFull,
    "Bytes of the events of memstat_vm_events_total that have a size, since memstatd attached to them.", {"event"});

}  // namespace memstat::events
