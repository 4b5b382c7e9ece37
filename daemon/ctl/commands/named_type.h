// SPDX-License-Identifier: BSD-2-Clause
// The type that a user means by a word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/ctl/source/type_figures.h"
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// The types that "ALLOCATOR/TYPE" or a name means: several when they have the same name and allocator. Pointers into the
/// rows. Thread safety: a plain value.
struct NamedType {
  std::vector<const TypeRow*> types;  ///< Empty exactly when there is a problem.
  std::string problem;                ///< Unknown, with the names nearest to it; or of several allocators.
};
NamedType find_named_type(std::span<const TypeRow> rows, const std::string& word);

/// Makes the report say that there is no such type: a problem, or, where the type may be in what could not be read, part of
/// what is missing.
void report_unknown_type(Report& report, const NamedType& named);

/// A view whose patterns also find the rows that they match by another name of a merged slab cache.
ReportView with_merged_names(ReportView view, std::span<const TypeRow> rows);

/// "slab/dentry" of a type.
std::string full_name(const TypeRow& type);

/// The sum of a figure of these types; nothing when one does not have it, and of no types.
std::optional<std::uint64_t> sum_of(const std::vector<const TypeRow*>& types, const Column& column);

}  // namespace memstat::ctl
