// SPDX-License-Identifier: BSD-2-Clause
// The metrics of memstatd itself, in one table: telemetry gives them their values, memstatctl explain says what they are.
#pragma once

#include <span>
#include <string_view>

#include "core/model/metric.h"

namespace memstat {

/// One of them. Texts as in MetricDescriptor.
struct OwnMetric {
  std::string_view name;
  MetricKind kind;
  std::string_view help;
};

/// All of them, by name. Thread safety: safe; lives as long as the program.
std::span<const OwnMetric> own_metrics();

/// The help of one of them; "" for a name that is none.
std::string_view help_of_own_metric(std::string_view name);

}  // namespace memstat
