// SPDX-License-Identifier: BSD-2-Clause
// Metrics of bounded tables that sources of more than one system report.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kTableSoftLimit{
    .facts =
        {.name = "memstat_table_soft_limit_objects",
         .kind = MetricKind::kGauge,
         .tier = Tier::kDefault,
         .help =
             "Entries above which the kernel evicts some, or refuses users without privilege, before the table is full."},
    .labels = {"type"},
};

}  // namespace memstat
