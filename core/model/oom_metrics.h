// SPDX-License-Identifier: BSD-2-Clause
// Metrics of running out of memory that the daemon itself reads, too.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kOomKills{
    .facts = {.name = "memstat_oom_kills_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kMinimal,
              .help =
                  "Processes that the kernel killed since boot because memory ran out, including those in control groups."},
};

}  // namespace memstat
