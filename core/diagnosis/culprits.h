// SPDX-License-Identifier: BSD-2-Clause
// Names who is behind a finding, from the inspection that its cause asks for.
#pragma once

#include "core/diagnosis/diagnose.h"

namespace memstat {

/// Adds the largest holders to each finding whose cause asks a question that was answered, with what they hold as a fact.
/// The command that asks it goes first among the next steps, answered or not.
void name_culprits(const Evidence& evidence, Findings& findings);

/// The questions that causes of these findings ask, most urgent first, none twice; and those without whose answer a cause
/// cannot be judged at all.
std::vector<std::string_view> questions_of(const Findings& findings);

}  // namespace memstat
