// SPDX-License-Identifier: BSD-2-Clause
// Control groups of Linux at their swap limit.
#include <algorithm>
#include <array>

#include "core/diagnosis/deep_limits.h"
#include "core/diagnosis/ended.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::group_swap {
namespace {

constexpr std::string_view kLimit = "memstat_memcg_swap_limit_bytes";
constexpr std::string_view kEvents = "memstat_memcg_swap_events_total";

/// Events of a group include those of all groups below it, even of groups too deep to be read.
void look_below(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto events = evidence.samples(kEvents);
  const auto is_refused = [](const MetricEvidence& one) { return one.labels[1] == "max" && one.change.recent > 0; };
  for (const MetricEvidence& one : events) {
    const std::string_view group = one.labels[0];
    if (!is_refused(one) || evidence.value(kLimit, group)) continue;
    if (evidence.value(kGroupSwap, group).value_or(0) <= 0) continue;  // swap is disabled for them
    const bool is_read = std::any_of(events.begin(), events.end(), [&](const MetricEvidence& other) {
      return is_refused(other) && is_below(other.labels[0], group);
    });
    if (is_read || ended(evidence, one.change)) continue;
    Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kLikely,
                                   "A group below " + short_name(group, 36) + " has used up its swap limit");
    finding.fact({.text = counted(one.change.recent, "page") + " could not be swapped out within the limit in " +
                          duration_words(evidence.recent_seconds),
                  .source = std::string(kEvents),
                  .value = one.change.recent,
                  .window_seconds = evidence.recent_seconds});
    finding.is_about("memcg", group).by("group", group);
    finding.leads_to("At its memory limit the kernel will kill one of its processes.");
    finding.then("grep . $(find " + group_file(evidence, group, "") + " -name memory.swap.max) | grep -v max$");
  }
}

constexpr DeepLimit kDeepSwap{.row = "swap",
                              .headline = " is at its swap limit: ",
                              .effect = "At its memory limit the kernel will kill one of its processes.",
                              .file = "/sys/fs/cgroup/memory.swap.max",
                              .reached = Severity::kNotable,
                              .is_bytes = true};

/// A limit of 0 means that the administrator disabled swap for the group.
void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  look_below(evidence, cause, found);
  add_deep_limits(evidence, cause, kDeepSwap, kLimit, found);
  for (const MetricEvidence& limit : evidence.samples(kLimit)) {
    if (limit.value <= 0) continue;
    const std::string_view group = limit.labels[0];
    const double used = evidence.value(kGroupSwap, group).value_or(0);
    double refused = 0;
    for (const MetricEvidence& one : evidence.samples(kEvents)) {
      if (one.labels[0] == group && one.labels[1] == "max") refused += one.change.recent;
    }
    if (used < kFullShare * limit.value && (refused <= 0 || used < kNearShare * limit.value)) continue;
    Finding& finding =
        add_finding(found, cause, refused > 0 ? Severity::kWasteful : Severity::kNotable,
                    refused > 0 ? Certainty::kConfirmed : Certainty::kPossible,
                    "Control group " + short_name(group, 36) + " has used up its swap limit: " + bytes_text(used) + " of " +
                        bytes_text(limit.value));
    finding.fact({.text = counted(refused, "page") + " could not be swapped out within the limit in " +
                          duration_words(evidence.recent_seconds),
                  .source = std::string(kEvents),
                  .value = refused,
                  .limit = limit.value,
                  .window_seconds = evidence.recent_seconds});
    finding.bytes = used;
    finding.is_about("memcg", group)
        .by("group", group)
        .leads_to("Its memory can no longer be swapped out. At its memory limit the kernel will kill one of its processes.");
    finding.then("cat " + group_file(evidence, group, "/memory.swap.max"));
  }
}

constexpr std::string_view kNeeds[] = {kLimit, kGroupSwap};
constexpr std::string_view kUses[] = {kEvents, kGroupLimits};
constexpr std::string_view kExplains[] = {"cgroup_full", "cgroup_growth"};
constexpr std::array kCauses{Cause{.name = "cgroup_swap_full",
                                   .looks_for = "A control group has used all the swap that it may use.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .uses = kUses,
                                   .explains_of_group = kExplains,
                                   .runbook = "MemstatControlGroupAtLimit",
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::group_swap
