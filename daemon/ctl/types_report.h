// SPDX-License-Identifier: BSD-2-Clause
// Every memory type of every allocator, the largest first: our own report, for all kernels.
#pragma once

#include <string>

#include "core/include/memstat.h"

namespace memstat::ctl {

/// The word for an ALLOCATOR_* that users know; "allocator-N" for a number that has none.
std::string allocator_name(int allocator);

/// A line a type: allocator, name, bytes and objects in use, bytes held (free objects included), free objects, failures,
/// limit (objects). "-": the kernel does not have the figure, or there is no limit. Amounts that come out below 0, because
/// counters were read a moment apart, are shown as 0.
std::string types_text(memory_type_list* list, bool is_human);

/// The same as comma-separated values, amounts as whole numbers.
std::string types_csv(memory_type_list* list);

/// The same as JSON; a figure that the kernel does not have has no key. Figures by NUMA node are in a list,
/// `nodes`, where the kernel has them.
std::string types_json(memory_type_list* list);

}  // namespace memstat::ctl
