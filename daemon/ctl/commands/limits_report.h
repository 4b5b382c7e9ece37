// SPDX-License-Identifier: BSD-2-Clause
// What failed and what is near its limit, nearest first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// A line a type that has a limit or failed: allocator, name, part of the limit that is used, what counts against it, the
/// limit, what it is a limit of ("objects", "bytes"), failures since boot. What is at its limit first. Bucket zones of
/// uma(9), which fail routinely, are in it only where they have a limit.
std::vector<TableRow> limits_rows(std::span<const TypeRow> types, bool is_human);

/// The same as JSON; what is unknown has no key.
std::string limits_json(std::span<const TypeRow> types);

}  // namespace memstat::ctl
