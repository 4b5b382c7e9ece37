// SPDX-License-Identifier: BSD-2-Clause
// Control group metrics that the daemon reads too.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kMemcgKernelBytes =
    gauge_metric("memstat_memcg_kernel_bytes", Tier::kDefault,
                 "Bytes of kernel memory that a control group and its children use now: slab, page tables, stacks, "
                 "sockets and others.",
                 {"group"});

inline constexpr SystemMetric kMemcgReclaimableBytes =
    gauge_metric("memstat_memcg_reclaimable_kernel_bytes", Tier::kDefault,
                 "Bytes of memstat_memcg_kernel_bytes that the kernel can reclaim when memory is short, "
                 "such as cached directory entries.",
                 {"group"});

inline constexpr SystemMetric kMemcgAnonymousBytes =
    gauge_metric("memstat_memcg_anonymous_bytes", Tier::kDefault,
                 "Bytes of program memory that a control group and its children use now and that no file backs.", {"group"});

inline constexpr SystemMetric kMemcgTasks = gauge_metric(
    "memstat_memcg_tasks", Tier::kDefault, "Threads of all processes of a control group and its children now.", {"group"});

inline constexpr SystemMetric kMemcgTasksLimit =
    gauge_metric("memstat_memcg_tasks_limit", Tier::kDefault,
                 "Threads that the control group and its children may have; absent when not set.", {"group"});

}  // namespace memstat
