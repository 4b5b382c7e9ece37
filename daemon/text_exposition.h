// SPDX-License-Identifier: BSD-2-Clause
// Prometheus text format 0.0.4 of a snapshot.
#pragma once

#include "daemon/snapshot.h"

namespace memstat {

/// Which metrics are rendered.
struct RenderOptions {
  Tier tier = Tier::kDefault;
  bool per_cpu = true;        ///< Those of scope kCpu, for the rows that have per-CPU figures.
  bool size_classes = false;  ///< Those of scope kSizeClass.
};

/// Renders into snapshot.text and sets snapshot.series. Families are contiguous, in the order of the catalogue; one without
/// samples is left out. Steady state: no allocation.
void render_text(const RenderOptions& options, Snapshot& snapshot);

}  // namespace memstat
