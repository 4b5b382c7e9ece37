// SPDX-License-Identifier: BSD-2-Clause
// What an incident of the last poll is about.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/diagnosis/cause.h"

namespace memstat {

/// Adds the indexes of the findings about kills that the kernel or a program counted at the last poll, unless they are in
/// `indexes`. The log says which finding a kill belongs to: an earlier kill of another kind, which is still recent, has a
/// finding, too.
void add_new_kills(const Evidence& evidence, const Findings& findings, std::vector<std::size_t>& indexes);

/// The control groups of findings, and those that use most of their limits, at most kMaxGroupsInDanger.
inline constexpr std::size_t kMaxGroupsInDanger = 32;
std::vector<std::string> groups_in_danger(const Evidence& evidence, const Findings& findings);

}  // namespace memstat
