// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/parts.h"

#include "core/model/type_rules.h"

namespace memstat {

std::optional<LargestPart> largest_part(const Evidence& evidence) {
  std::optional<LargestPart> most;
  const auto compare = [&](const MetricEvidence& one, std::string_view name) {
    if (one.value <= (most ? most->bytes : 0)) return;
    most = LargestPart{.name = name, .metric = one.metric, .bytes = one.value, .recent = one.change.recent};
  };
  for (const MetricEvidence& part : evidence.samples("memstat_accounted_bytes")) {
    if (!is_cache_part(part.labels[0])) compare(part, part.labels[0]);
  }
  for (const MetricEvidence& unaccounted : evidence.samples(kUnaccountedMetric)) compare(unaccounted, "unaccounted");
  return most;
}

bool has_unaccounted_killed(const Evidence& evidence) {
  constexpr double kShort = 0.1;
  constexpr double kMuch = 0.25;
  if (evidence.moved("memstat_oom_kills_total") <= 0 || !evidence.available_bytes) return false;
  const auto part = largest_part(evidence);
  return part && part->name == "unaccounted" && evidence.share(part->bytes) >= kMuch &&
         evidence.share(*evidence.available_bytes) < kShort;
}

}  // namespace memstat
