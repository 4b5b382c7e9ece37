// SPDX-License-Identifier: BSD-2-Clause
// Inspections for a person who waits.
#pragma once

#include <string>

#include "core/inspect/inspection.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {

/// Limits for a person who waits, and is shown how far it is.
InspectionBounds bounds_with(Progress& progress, const Inspection& inspection, std::int64_t max_wall_ns = kPatienceNs);

/// The missing parts of the answer, in one line for display; "": none.
std::string missing_of(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay);

}  // namespace memstat::ctl
