// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/urgent.h"

#include <algorithm>
#include <string_view>

#include "core/diagnosis/logged_kills.h"

namespace memstat {
namespace {

constexpr std::string_view kRequested = "kill_requested";

double counted_at_poll(const Evidence& evidence, std::string_view metric) {
  const MetricEvidence* const kills = evidence.sample(metric);
  return kills == nullptr ? 0 : kills->change.last;
}

std::string_view cause_of(const KillEvidence& kill) {
  if (kill.is_requested) return kRequested;
  if (kill.constraint == "cpuset" || kill.constraint == "memory_policy") return "numa_bound_oom";
  return kill.is_of_group ? "cgroup_oom_kill" : "machine_oom_kill";
}

bool is_about_group(const Finding& finding, std::string_view group) {
  return !finding.about.empty() && finding.about.front().type == group;
}

/// Kills that somebody requested are always past, since nothing continues.
bool is_new(const Finding& finding) { return !finding.is_past || finding.cause == kRequested; }

/// The finding of that cause, about the group at its limit if there are several; the end if there is none.
Findings::const_iterator finding_of(const KillEvidence& kill, const Findings& findings) {
  const auto is_of_cause = [&](const Finding& one) { return is_new(one) && one.cause == cause_of(kill); };
  const auto exact = std::find_if(findings.begin(), findings.end(), [&](const Finding& one) {
    return is_of_cause(one) && is_about_group(one, kill.limit_group);
  });
  return exact != findings.end() ? exact : std::find_if(findings.begin(), findings.end(), is_of_cause);
}

/// The first one whose cause ends so.
Findings::const_iterator finding_of(std::string_view end, const Findings& findings) {
  return std::find_if(findings.begin(), findings.end(),
                      [&](const Finding& one) { return is_new(one) && one.cause.ends_with(end); });
}

}  // namespace

void add_new_kills(const Evidence& evidence, const Findings& findings, std::vector<std::size_t>& indexes) {
  const auto add = [&](Findings::const_iterator found) {
    if (found == findings.end()) return false;
    const auto index = static_cast<std::size_t>(found - findings.begin());
    if (std::find(indexes.begin(), indexes.end(), index) == indexes.end()) indexes.push_back(index);
    return true;
  };
  if (counted_at_poll(evidence, "memstat_program_kills_total") > 0) add(finding_of("program_kill", findings));
  double kills = counted_at_poll(evidence, "memstat_oom_kills_total");
  if (kills <= 0) return;
  bool is_added = false;
  for (auto kill = evidence.kills.rbegin(); kill != evidence.kills.rend() && kills > 0; ++kill, --kills) {
    if (kill->seconds_ago.value_or(0) > evidence.poll_seconds + kLogSlackSeconds) break;
    if (add(finding_of(*kill, findings))) is_added = true;
  }
  if (!is_added) add(finding_of("_oom_kill", findings));
}

std::vector<std::string> groups_in_danger(const Evidence& evidence, const Findings& findings) {
  std::vector<std::string> groups;
  const auto add = [&](std::string_view group) {
    if (groups.size() < kMaxGroupsInDanger && std::find(groups.begin(), groups.end(), group) == groups.end())
      groups.emplace_back(group);
  };
  for (const Finding& finding : findings) {
    for (const Finding::About& one : finding.about) {
      if (one.allocator == to_string(Allocator::kMemcg)) add(one.type);
    }
  }
  std::vector<const TypeEvidence*> limited;
  for (const TypeEvidence& type : evidence.types) {
    if (type.allocator == Allocator::kMemcg && type.bytes && type.limit_bytes.value_or(0) > 0) limited.push_back(&type);
  }
  const auto share_of = [](const TypeEvidence* type) { return *type->bytes / *type->limit_bytes; };
  std::stable_sort(limited.begin(), limited.end(),
                   [&](const TypeEvidence* a, const TypeEvidence* b) { return share_of(a) > share_of(b); });
  for (const TypeEvidence* const type : limited) add(type->name);
  return groups;
}

}  // namespace memstat
