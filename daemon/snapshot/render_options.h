// SPDX-License-Identifier: BSD-2-Clause
// Options for rendering a snapshot.
#pragma once

#include "core/model/metric.h"

namespace memstat {

/// Selects the metrics to render, and their form.
struct RenderOptions {
  Tier tier = Tier::kDefault;
  bool types = true;          ///< Metrics of the selected tier. False for the page /metrics/percpu.
  bool per_cpu = true;        ///< Metrics of scope kCpu, for rows with per-CPU figures.
  bool size_classes = false;  ///< Metrics of scope kSizeClass.
  /// OpenMetrics: write a `_created` sample for each counter and histogram with a known start. Protobuf always has the
  /// start, text never.
  bool created = false;
};

}  // namespace memstat
