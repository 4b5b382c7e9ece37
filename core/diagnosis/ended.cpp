// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/ended.h"

#include <algorithm>

#include "core/diagnosis/words.h"

namespace memstat {

std::optional<double> ended(const Evidence& evidence, const Count& count) {
  constexpr double kMinSeconds = 120;
  const bool has_ended = count.recent > 0 && count.still >= std::max(kMinSeconds, evidence.recent_seconds / 3);
  return has_ended ? std::optional(count.still) : std::nullopt;
}

bool has_paused(const Evidence& evidence, const Count& count) {
  return count.recent > 0 && evidence.poll_seconds > 0 && count.still >= 2 * evidence.poll_seconds;
}

std::string last_time_text(const std::optional<double>& ago) {
  return ago ? ", the last one " + duration_words(*ago) + " ago" : std::string();
}

void mark_ended(const std::optional<double>& ago, Finding& finding) {
  if (!ago) return;
  finding.severity = std::max(finding.severity, Severity::kNotable);
  finding.headline = finding.headline.substr(0, finding.headline.find(": ")) + last_time_text(ago);
}

}  // namespace memstat
