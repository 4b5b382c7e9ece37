// SPDX-License-Identifier: BSD-2-Clause
// Metrics that more than one source of events yields.
#pragma once

#include "core/model/system_metric.h"

namespace memstat::events {

inline constexpr SystemMetric kLostEvents{
    .facts = {.name = "memstat_events_lost_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Events of the kernel that memstatd could not count since it attached: no room for one more type "
                      "(unplaced), or an event during another on its CPU (missed: of slab caches, vm_missed: of others)."},
    .labels = {"reason"}};

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
