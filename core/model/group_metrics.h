// SPDX-License-Identifier: BSD-2-Clause
// Metrics of control groups that the daemon itself reads, too.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kMemcgKernelBytes{
    .facts = {.name = "memstat_memcg_kernel_bytes",
              .kind = MetricKind::kGauge,
              .tier = Tier::kDefault,
              .help = "Bytes of kernel memory that a control group and its children use now: slab, page tables, stacks, "
                      "sockets and others.",
              .unit = "bytes"},
    .labels = {"group"},
};

inline constexpr SystemMetric kMemcgReclaimableBytes{
    .facts = {.name = "memstat_memcg_reclaimable_kernel_bytes",
              .kind = MetricKind::kGauge,
              .tier = Tier::kDefault,
              .help = "Bytes of memstat_memcg_kernel_bytes that the kernel can reclaim when memory is short, "
                      "such as cached directory entries.",
              .unit = "bytes"},
    .labels = {"group"},
};

inline constexpr SystemMetric kMemcgAnonymousBytes{
    .facts = {.name = "memstat_memcg_anonymous_bytes",
              .kind = MetricKind::kGauge,
              .tier = Tier::kDefault,
              .help = "Bytes of program memory that a control group and its children use now and that no file backs.",
              .unit = "bytes"},
    .labels = {"group"},
};

}  // namespace memstat
