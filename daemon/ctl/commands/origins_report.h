// SPDX-License-Identifier: BSD-2-Clause
// Who makes a slab cache grow: control group, program and function.
#pragma once

#include <string>
#include <vector>

#include "core/events/slab/slab_origins.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// What came between two moments. An origin that was not listed before, or was forgotten meanwhile, has come since; what did
/// not grow is left out.
std::vector<events::SlabOrigin> grown_origins(const std::vector<events::SlabOrigin>& before,
                                              std::vector<events::SlabOrigin> after);

/// A line an origin, those with most bytes first, `limit` at most, below a header: cache, control group, program, function,
/// allocations, their bytes, and their share of all bytes of that cache in `origins`. "-": not known.
std::vector<TableRow> origins_rows(std::vector<events::SlabOrigin> origins, std::size_t limit, bool is_human);

/// The same as JSON.
std::string origins_json(std::vector<events::SlabOrigin> origins, std::size_t limit);

/// Watches this machine's kernel for `seconds`, or says what a capture or a running memstatd has counted.
Report origins_report(const CommandLine& options);

}  // namespace memstat::ctl
