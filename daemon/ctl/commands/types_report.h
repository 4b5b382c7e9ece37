// SPDX-License-Identifier: BSD-2-Clause
// Every memory type of every allocator, the largest first: our own report, for all kernels.
#pragma once

#include <span>
#include <string>

#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// A line a type: allocator, name, bytes and objects in use, bytes held (free objects included), free objects, failures,
/// limit (objects). "-": the kernel does not have the figure, or there is no limit. Amounts that come out below 0, because
/// counters were read a moment apart, are shown as 0.
std::string types_text(std::span<const TypeRow> types, bool is_human);

/// The same as comma-separated values, amounts as whole numbers.
std::string types_csv(std::span<const TypeRow> types);

/// The same as JSON; a figure that the kernel does not have has no key. Figures by NUMA node are in a list,
/// `nodes`, where the kernel has them.
std::string types_json(std::span<const TypeRow> types);

}  // namespace memstat::ctl
