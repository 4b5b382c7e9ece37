// SPDX-License-Identifier: BSD-2-Clause
// Finds the type named by a user.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {

/// The types named by "ALLOCATOR/TYPE" or a name; several if they share name and allocator. Pointers into the rows.
struct NamedType {
  std::vector<const TypeRow*> types;  ///< Empty if there is a problem, and only then.
  std::string problem;                ///< Unknown, with similar names; or ambiguous between allocators.
};
NamedType find_named_type(std::span<const TypeRow> rows, const std::string& word);

/// Reports an unknown type: as a problem, or, if some sources could not be read, as a part of what is missing.
void report_unknown_type(Report& report, const NamedType& named);

/// A view whose patterns also match the other names of merged slab caches.
ReportView with_merged_names(ReportView view, std::span<const TypeRow> rows);

/// "slab/dentry".
std::string full_name(const TypeRow& type);

/// The sum of a figure over these types; empty if one of them does not have it, or for no types.
std::optional<std::uint64_t> sum_of(const std::vector<const TypeRow*>& types, const Column& column);

}  // namespace memstat::ctl
