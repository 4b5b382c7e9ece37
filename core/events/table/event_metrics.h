// SPDX-License-Identifier: BSD-2-Clause
// Metrics that more than one source of events yields.
#pragma once

#include <array>
#include <cstddef>

#include "core/events/bpf/sizes.h"
#include "core/model/system_metric.h"

namespace memstat::events {

inline constexpr SystemMetric kLostEvents{
    .facts = {.name = "memstat_events_lost_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help =
                  "Events of the kernel that memstatd could not count since it attached: no room for one more type "
                  "(unplaced; malloc_unplaced: of malloc(9)), an event during another on its CPU (missed: of slab caches, "
                  "vm_missed: of others), a page fault whose end was not seen, because it failed or its CPU came "
                  "online later (untimed), or no room in DTrace's buffers (malloc_dropped)."},
    .labels = {"reason"}};

/// 8 B to 1 GiB, each twice the one before, as memstat_size_bucket() has them.
inline constexpr auto kSizeBounds = [] {
  std::array<double, MEMSTAT_SIZES - 1> bounds{};
  double bound = 8;
  for (std::size_t i = 0; i < bounds.size(); ++i, bound *= 2) bounds[i] = bound;
  return bounds;
}();
inline constexpr HistogramBuckets kSizeBuckets{.bounds = kSizeBounds, .is_native = true, .schema = 0, .first_index = 3};

inline constexpr SystemMetric kAllocationSizes{
    .facts = {.name = "memstat_allocation_size_bytes",
              .kind = MetricKind::kHistogram,
              .tier = Tier::kFull,
              .help = "Allocations since memstatd attached to their events, by what was asked for: from slab caches and by "
                      "kmalloc (slab), of pages, per-CPU memory and vmalloc. Needs events.mode full.",
              .unit = "bytes"},
    .labels = {"allocator"},
    .buckets = &kSizeBuckets};

inline constexpr SystemMetric kGfpAllocations{
    .facts = {.name = "memstat_gfp_allocations_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help =
                  "Allocations from slab caches and by kmalloc (slab) and of pages (page) that got memory, since memstatd "
                  "attached to their events, by what the caller let the kernel do for it (its GFP flags): dma; without "
                  "waiting: atomic (may have the reserve), nowait, other (wakes not even kswapd); waiting, but: noio, "
                  "nofs; user (for a program), kernel. Needs option gfp_classes of the source."},
    .labels = {"allocator", "class"}};

inline constexpr SystemMetric kGfpFailures{
    .facts = {.name = "memstat_gfp_failures_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Those that got none, by the same classes. Needs option gfp_classes of the source."},
    .labels = {"allocator", "class"}};

/// 2^-22 s to 16 s, each twice the one before, as memstat_time_bucket() has them.
inline constexpr auto kTimeBounds = [] {
  std::array<double, MEMSTAT_TIMES - 1> bounds{};
  double bound = 1.0 / (1U << 22U);
  for (std::size_t i = 0; i < bounds.size(); ++i, bound *= 2) bounds[i] = bound;
  return bounds;
}();
inline constexpr HistogramBuckets kTimeBuckets{.bounds = kTimeBounds, .is_native = true, .schema = 0, .first_index = -22};

inline constexpr SystemMetric kPageFaultTimes{
    .facts = {.name = "memstat_page_fault_seconds",
              .kind = MetricKind::kHistogram,
              .tier = Tier::kFull,
              .help =
                  "How long page faults took since memstatd attached to their events, waiting included, by how they ended "
                  "(minor, major, oom, sigbus). Needs events.mode full. What this kernel or its policy does not give is "
                  "absent, and the status page says why.",
              .unit = "seconds"},
    .labels = {"kind"},
    .buckets = &kTimeBuckets};

inline constexpr SystemMetric kEventsCost{
    .facts = {.name = "memstat_events_cost_seconds_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "CPU time that counting events of the kernel took since memstatd attached to them: their number times "
                      "what one takes, which was measured then, or what the kernel measured, if that is more.",
              .unit = "seconds",
              .format = ValueFormat::kDouble},
    .labels = {"source"}};

inline constexpr SystemMetric kEventsSampled{
    .facts = {.name = "memstat_events_sampled_seconds_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help =
                  "Time in which a part of the events was counted, and counters of the source grew by estimates, to keep "
                  "events.budget.",
              .unit = "seconds",
              .format = ValueFormat::kDouble},
    .labels = {"source"}};

inline constexpr SystemMetric kEventsCounted{
    .facts = {.name = "memstat_events_counted_ratio",
              .kind = MetricKind::kGauge,
              .tier = Tier::kDefault,
              .help =
                  "Part of the time whose events are counted now: 1: all; less: the rest is estimated from it; 0: memstatd "
                  "detached from them, because they took more than events.budget, until its helper process attaches again.",
              .unit = "ratio",
              .format = ValueFormat::kDouble},
    .labels = {"source"}};

inline constexpr SystemMetric kEventsBudget{
    .facts = {.name = "memstat_events_budget_ratio",
              .kind = MetricKind::kGauge,
              .tier = Tier::kFull,
              .help = "Part of one CPU that counting events may take, of all sources together, on the average of a minute.",
              .unit = "ratio",
              .format = ValueFormat::kDouble},
    .labels = {"source"}};

inline constexpr SystemMetric kVmEvents{
    .facts = {.name = "memstat_vm_events_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Events of the kernel's memory management since memstatd attached to them. What this kernel or its "
                      "policy does not give is absent, and the status page says why."},
    .labels = {"event"}};

inline constexpr SystemMetric kVmEventBytes{
    .facts = {.name = "memstat_vm_event_bytes_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kFull,
              .help = "Bytes that these events were about, of those that have a size, since memstatd attached to them.",
              .unit = "bytes"},
    .labels = {"event"}};

}  // namespace memstat::events
