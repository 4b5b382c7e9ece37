// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/logged_kills.h"

#include <algorithm>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/parts.h"

namespace memstat {

bool is_recent_kill(const Evidence& evidence, const KillEvidence& kill) {
  if (kill.seconds_ago) return *kill.seconds_ago <= evidence.recent_seconds + kLogSlackSeconds;
  return static_cast<double>(&evidence.kills.back() - &kill) < recent_kills(evidence);
}

bool is_requested(const Evidence& evidence, const KillEvidence& kill) {
  return kill.is_requested && is_recent_kill(evidence, kill);
}

bool is_in_unnamed_group(const Evidence& evidence, const KillEvidence& kill) {
  return kill.is_of_group && kill.limit_group.empty() && !kill.is_requested && is_recent_kill(evidence, kill);
}

const KillEvidence* last_victim(const Evidence& evidence, bool is_of_group, std::string_view group) {
  const KillEvidence* unnamed = nullptr;
  for (auto kill = evidence.kills.rbegin(); kill != evidence.kills.rend(); ++kill) {
    if (kill->is_of_group != is_of_group || kill->is_requested || !is_recent_kill(evidence, *kill)) continue;
    if (!kill->limit_group.empty() && is_within(kill->limit_group, group)) return &*kill;
    if (kill->limit_group.empty() && unnamed == nullptr) unnamed = &*kill;
  }
  return unnamed;
}

std::vector<std::string_view> logged_groups(const Evidence& evidence, std::string_view group) {
  std::vector<std::string_view> groups;
  for (auto kill = evidence.kills.rbegin(); kill != evidence.kills.rend(); ++kill) {
    if (!kill->is_of_group || kill->limit_group.size() <= 1 || !is_recent_kill(evidence, *kill)) continue;
    if (!is_within(kill->limit_group, group)) continue;
    if (std::find(groups.begin(), groups.end(), kill->limit_group) == groups.end()) groups.push_back(kill->limit_group);
  }
  return groups;
}

std::size_t requested_kills(const Evidence& evidence) {
  return static_cast<std::size_t>(std::count_if(evidence.kills.begin(), evidence.kills.end(),
                                                [&](const KillEvidence& kill) { return is_requested(evidence, kill); }));
}

double released_by_kills(const Evidence& evidence) {
  double released = 0;
  for (const KillEvidence& kill : evidence.kills) released += is_recent_kill(evidence, kill) ? kill.program_bytes : 0;
  return released;
}

}  // namespace memstat
