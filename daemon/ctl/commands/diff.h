// SPDX-License-Identifier: BSD-2-Clause
// What changed between two states of a kernel: who grew.
#pragma once

#include <span>

#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// A row a type whose bytes, objects or failures differ: what grew most first, what shrank most last. A type that one of the
/// lists does not have counts as 0 there.
ReportTable diff_table(std::span<const TypeRow> before, std::span<const TypeRow> after);

}  // namespace memstat::ctl
