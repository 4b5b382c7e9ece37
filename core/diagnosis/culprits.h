// SPDX-License-Identifier: BSD-2-Clause
// Names the holders behind a finding, from the inspection that its cause requests.
#pragma once

#include "core/diagnosis/diagnose.h"

namespace memstat {

/// Adds the largest holders to each finding whose cause requests an inspection that was made, with their amounts as facts.
/// The command for the inspection becomes the first of the next steps, whether it was made or not.
void name_culprits(const Evidence& evidence, Findings& findings);

/// The inspections that causes of these findings request, most urgent first, without duplicates; and those without which a
/// cause cannot be checked at all.
std::vector<std::string_view> questions_of(const Findings& findings);

}  // namespace memstat
