// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/parts.h"

#include <algorithm>

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

double available_without_arc(const Evidence& evidence) {
  const double available = evidence.available_bytes.value_or(0);
  if (evidence.system != EvidenceSystem::kLinux) return available;
  const double size = evidence.value("memstat_zfs_arc_bytes").value_or(0);
  const double target = evidence.value("memstat_zfs_arc_target_bytes").value_or(size);
  const double released = std::max(std::min(size, target) - evidence.value("memstat_zfs_arc_min_bytes").value_or(0), 0.0);
  return std::max(available - released, 0.0);
}

double recent_kills(const Evidence& evidence) {
  constexpr std::string_view kCounter = "memstat_oom_kills_total";
  if (!evidence.samples(kCounter).empty()) return evidence.moved(kCounter);
  const MetricEvidence* const lines = evidence.sample("memstat_kernel_log_events_total", "oom_kill");
  return lines == nullptr ? 0 : lines->change.recent;
}

bool has_unaccounted_killed(const Evidence& evidence) {
  constexpr double kShort = 0.1;
  constexpr double kMuch = 0.25;
  if (recent_kills(evidence) <= 0 || !evidence.available_bytes) return false;
  const auto part = largest_part(evidence);
  return part && part->name == "unaccounted" && evidence.share(part->bytes) >= kMuch &&
         evidence.share(available_without_arc(evidence)) < kShort;
}

}  // namespace memstat
