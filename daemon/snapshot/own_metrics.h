// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own metrics in one table: telemetry sets their values, memstatctl explain describes them.
#pragma once

#include <span>
#include <string_view>

#include "core/model/metric.h"

namespace memstat {

/// Texts as in MetricDescriptor.
struct OwnMetric {
  std::string_view name;
  MetricKind kind;
  std::string_view help;
};

/// Sorted by name.
std::span<const OwnMetric> own_metrics();

/// The help of one of them; "" for an unknown name.
std::string_view help_of_own_metric(std::string_view name);

}  // namespace memstat
