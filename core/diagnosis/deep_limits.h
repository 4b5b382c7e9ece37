// SPDX-License-Identifier: BSD-2-Clause
// Limits of control groups that the poll does not read, because they are too deep or in another hierarchy.
#pragma once

#include <string_view>

#include "core/diagnosis/cause.h"

namespace memstat {

/// The inspection that reads them.
inline constexpr std::string_view kGroupLimits = "who/group-limits";

/// A limit, and its words in findings.
struct DeepLimit {
  std::string_view row;       ///< the name of its rows in the answer
  std::string_view headline;  ///< follows the group's name, and precedes the amounts if the limit is a number
  std::string_view effect;
  std::string_view file;
  Severity reached;  ///< if all of it is used, or it has no number
  bool is_bytes = false;
};

/// Adds a finding for each such group of which the evidence has no `metric`.
void add_deep_limits(const Evidence& evidence, const Cause& cause, const DeepLimit& limit, std::string_view metric,
                     Findings& found);

}  // namespace memstat
