// SPDX-License-Identifier: BSD-2-Clause
// Every memory type, the largest first.
#pragma once

#include <span>

#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// A row a type: allocator, name, what it has in use, holds and has free, failures, and the limit that is met first.
ReportTable types_table(std::span<const TypeRow> types);

/// Reads --from once and reports `make(types)` of it; with nothing to report, why.
Report report_of_types(const CommandLine& options, ReportTable (*make)(std::span<const TypeRow>), const char* why_empty);

}  // namespace memstat::ctl
