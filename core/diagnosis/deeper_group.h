// SPDX-License-Identifier: BSD-2-Clause
// Control groups that memstatd does not list, below those that it does: of ten thousand it lists those that matter most.
#pragma once

#include "core/diagnosis/cause.h"

namespace memstat {

/// For each finding whose innermost named group is not where processes are: adds the groups below it that hold the most, as
/// far as inspections show it, or all that have processes if they are few.
void name_deeper_groups(const Evidence& evidence, Findings& findings);

}  // namespace memstat
