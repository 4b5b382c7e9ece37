// SPDX-License-Identifier: BSD-2-Clause
// Out-of-memory metrics that the daemon reads too.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kOomKills =
    counter_metric("memstat_oom_kills_total", Tier::kMinimal,
                   "Processes that the kernel killed since boot because memory ran out, including those in control groups.");

}  // namespace memstat
