// SPDX-License-Identifier: BSD-2-Clause
// What failed, and what is near its limit.
#pragma once

#include <span>

#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// A row a type that has a limit or has failed: nearest first, then what failed most. Of bucket zones, which fail routinely,
/// those with a limit only.
ReportTable limits_table(std::span<const TypeRow> types);

}  // namespace memstat::ctl
