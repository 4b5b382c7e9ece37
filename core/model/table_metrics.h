// SPDX-License-Identifier: BSD-2-Clause
// Metrics of bounded tables that sources of several systems report.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kTableSoftLimit = gauge_metric(
    "memstat_table_soft_limit_objects", Tier::kDefault,
    "Entries above which the kernel evicts some, or refuses users without privilege, before the table is full.", {"type"});

}  // namespace memstat
