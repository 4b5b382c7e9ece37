// SPDX-License-Identifier: BSD-2-Clause
// Who makes Linux's slab caches grow: control group, program and function.
#pragma once

#include <vector>

#include "core/events/slab/slab_origins.h"
#include "daemon/ctl/output/report_table.h"

namespace memstat::ctl {

/// What grew between the two, each with what it grew by.
std::vector<events::SlabOrigin> grown_origins(const std::vector<events::SlabOrigin>& before,
                                              std::vector<events::SlabOrigin> after);

/// A row an origin, most bytes first, with its share of what its cache was given.
ReportTable origins_table(std::vector<events::SlabOrigin> origins);

}  // namespace memstat::ctl
