// SPDX-License-Identifier: BSD-2-Clause
// What changed between two states of a kernel: who grew.
#pragma once

#include <string>
#include <vector>

#include "core/include/memstat.h"
#include "daemon/ctl/cells.h"

namespace memstat::ctl {

/// A line a type whose bytes, objects or failures differ: allocator, name, bytes before and after, how many more bytes and
/// objects there are, and how many more failures. What grew most first, what shrank most last. A type that one of the lists
/// does not have is "-" there and counts as 0. Types of one name are told apart by their ordinals.
std::vector<TableRow> diff_rows(memory_type_list* before, memory_type_list* after, bool is_human);

/// The same as JSON; what is unknown has no key.
std::string diff_json(memory_type_list* before, memory_type_list* after);

}  // namespace memstat::ctl
