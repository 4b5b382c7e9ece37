// SPDX-License-Identifier: BSD-2-Clause
// The metric of the sources that read a kernel's log.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kKernelLogEvents =
    counter_metric("memstat_kernel_log_events_total", Tier::kDefault,
                   "Kernel log lines that report a kill, a failed allocation, a full table or a memory error, since boot as "
                   "far as the log goes back, by event.",
                   {"event"});

}  // namespace memstat
