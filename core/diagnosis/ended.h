// SPDX-License-Identifier: BSD-2-Clause
// Failures that a counter still shows as recent, but that have stopped.
#pragma once

#include <optional>

#include "core/diagnosis/cause.h"

namespace memstat {

/// Seconds since a failure was last counted, if it has stopped: a third of the recent time, and at least two minutes, passed
/// without another. Nothing: it continues, or may continue.
std::optional<double> ended(const Evidence& evidence, const Count& count);

/// The same for those samples of a metric that `is_wanted` accepts: the time since any of them last increased.
template <typename Wanted>
std::optional<double> ended(const Evidence& evidence, std::string_view metric, Wanted is_wanted) {
  std::optional<double> least;
  for (const MetricEvidence& one : evidence.samples(metric)) {
    if (one.change.recent <= 0 || !is_wanted(one)) continue;
    const auto ago = ended(evidence, one.change);
    if (!ago) return std::nullopt;
    if (!least || *ago < *least) least = ago;
  }
  return least;
}

/// Whether a failure was counted recently, but not at the last two polls. It may go on, yet what is full now comes first.
bool has_paused(const Evidence& evidence, const Count& count);

/// The same for those samples of a metric that `is_wanted` accepts.
template <typename Wanted>
bool has_paused(const Evidence& evidence, std::string_view metric, Wanted is_wanted) {
  bool is_any = false;
  for (const MetricEvidence& one : evidence.samples(metric)) {
    if (one.change.recent <= 0 || !is_wanted(one)) continue;
    if (!has_paused(evidence, one.change)) return false;
    is_any = true;
  }
  return is_any;
}

/// ", the last one 5 min ago"; "" without seconds.
std::string last_time_text(const std::optional<double>& ago);

/// Marks a finding about refused requests as ended, if it has: the reason after ": " in its headline is replaced by the time
/// of the last one, and the finding is at most notable.
void mark_ended(const std::optional<double>& ago, Finding& finding);

}  // namespace memstat
