// SPDX-License-Identifier: BSD-2-Clause
// Evaluates every cause, ranks the findings, and omits those that another finding explains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/diagnosis/cause.h"

namespace memstat {

/// Why a cause could not be checked.
struct NotChecked {
  std::string cause;
  std::string why;
};

struct Diagnosis {
  Findings findings;                   ///< Most urgent first.
  std::vector<std::string> ruled_out;  ///< Causes that the evidence contradicts.
  std::vector<NotChecked> not_checked;
  PartialView view = {};  ///< What cannot be seen of the machine, so that causes are not checked.
  double watched_seconds = 0;
  std::size_t polls = 0;
};

/// Maximum number of findings; the least urgent of more are dropped.
inline constexpr std::size_t kMaxFindings = 1000;

/// Only findings, ranked; does not allocate if there are none. Clears `found` first.
void find_causes(const Evidence& evidence, Findings& found);

/// Adds the holders that inspections name, and their commands to the next steps.
void complete_findings(const Evidence& evidence, Findings& findings);

/// The complete diagnosis. Allocates.
Diagnosis diagnose(const Evidence& evidence);

}  // namespace memstat
