// SPDX-License-Identifier: BSD-2-Clause
// What changed between two states of a kernel: who grew.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// A line a type whose bytes, objects or failures differ: allocator, name, bytes before and after, how many more bytes and
/// objects there are, and how many more failures. What grew most first, what shrank most last. A type that one of the lists
/// does not have is "-" there and counts as 0. Types of one name are told apart by their ordinals.
std::vector<TableRow> diff_rows(std::span<const TypeRow> before, std::span<const TypeRow> after, bool is_human);

/// The same as JSON; what is unknown has no key.
std::string diff_json(std::span<const TypeRow> before, std::span<const TypeRow> after);

}  // namespace memstat::ctl
