// SPDX-License-Identifier: BSD-2-Clause
// Metrics of bounded tables and of sockets that sources of several systems report.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kTableSoftLimit = gauge_metric(
    "memstat_table_soft_limit_objects", Tier::kDefault,
    "Entries above which the kernel evicts some, or refuses unprivileged users, before the table is full.", {"type"});

inline constexpr SystemMetric kTableEvents =
    counter_metric("memstat_table_events_total", Tier::kDefault,
                   "Events since boot caused by a full or nearly full table, by the kernel's name.", {"type", "kind"});

inline constexpr SystemMetric kSharedUnattached =
    gauge_metric("memstat_sysv_shm_unattached_objects", Tier::kDefault,
                 "System V shared memory segments now that no process has attached.");

inline constexpr SystemMetric kSharedResident =
    gauge_metric("memstat_sysv_shm_held_bytes", Tier::kDefault,
                 "Bytes that System V shared memory segments hold now, by where: in memory or in swap.", {"in"});

inline constexpr SystemMetric kSharedUnattachedBytes =
    gauge_metric("memstat_sysv_shm_unattached_bytes", Tier::kDefault,
                 "Bytes of memory and swap now that System V shared memory segments hold without an attached process.");

inline constexpr SystemMetric kSocketEvents = counter_metric(
    "memstat_socket_events_total", Tier::kDefault,
    "Protocol events since boot caused by lack of memory or full queues, by the kernel's name.", {"type", "kind"});

}  // namespace memstat
