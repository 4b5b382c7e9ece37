// SPDX-License-Identifier: BSD-2-Clause
// Metrics of sockets that sources of several systems report.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kSocketEvents = counter_metric(
    "memstat_socket_events_total", Tier::kDefault,
    "Protocol events since boot caused by lack of memory or full queues, by the kernel's name.", {"type", "kind"});

}  // namespace memstat
