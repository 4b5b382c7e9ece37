// SPDX-License-Identifier: BSD-2-Clause
// Which metrics of a snapshot are on a page.
#pragma once

#include "core/model/metric.h"

namespace memstat {

/// Which metrics are rendered, and how. Thread safety: a plain value.
struct RenderOptions {
  Tier tier = Tier::kDefault;
  bool types = true;          ///< Those whose tier says so. False: the page /metrics/percpu.
  bool per_cpu = true;        ///< Those of scope kCpu, for the rows that have per-CPU figures.
  bool size_classes = false;  ///< Those of scope kSizeClass.
  /// OpenMetrics: a `_created` sample beside each counter and histogram whose start is known. Protobuf always has it, text
  /// never.
  bool created = false;
};

}  // namespace memstat
