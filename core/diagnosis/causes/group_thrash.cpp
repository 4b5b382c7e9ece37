// SPDX-License-Identifier: BSD-2-Clause
// Control groups of Linux that read back pages that were just reclaimed.
#include <algorithm>
#include <array>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::group_thrash {
namespace {

constexpr Charge kSomeStalled{kGroupStalls, "some", "seconds of stalls for memory"};

/// A program that waits for a slow disk need not wait long in total.
constexpr double kFeltShare = 0.01;
/// A backup with a small limit waits as well, but rarely for this much of the time.
constexpr double kLostShare = 0.2;

bool is_thrashing(const Evidence& evidence, std::string_view group) {
  const double pages = charged_to(evidence, group, kReadAgain, Holds::kGainedLately) +
                       charged_to(evidence, group, kSwappedIn, Holds::kGainedLately);
  const double stalled = charged_to(evidence, group, kSomeStalled, Holds::kGainedLately);
  // A slow disk limits the rate, but not the time for which programs wait.
  const double share = evidence.time_share(stalled);
  return share > 0.1 && evidence.rate(pages) > (share > 0.3 ? 20 : 100);
}

/// The groups above a thrashing group have the same counts.
bool has_thrashing_child(const Evidence& evidence, std::string_view group) {
  for (const MetricEvidence& other : evidence.samples(kGroupStalls)) {
    const std::string_view name = other.labels[0];
    if (is_below(name, group) && other.labels[1] == kSomeStalled.part && is_thrashing(evidence, name)) return true;
  }
  return false;
}

constexpr std::string_view kHigh = "memstat_memcg_high_bytes";

/// Whether the group or one above it has a limit of memory.
bool is_limited(const Evidence& evidence, std::string_view group) {
  const auto has_limit = [&](const TypeEvidence& type) {
    return type.allocator == Allocator::kMemcg && type.limit_bytes && is_within(group, type.name);
  };
  const auto samples = evidence.samples(kHigh);
  return std::any_of(evidence.types.begin(), evidence.types.end(), has_limit) ||
         std::any_of(samples.begin(), samples.end(), [&](const auto& high) { return is_within(group, high.labels[0]); });
}

/// Whether the machine is short of memory, so that groups without a limit read back pages for that reason.
bool is_machine_short(const Evidence& evidence) {
  return evidence.available_bytes && evidence.share(*evidence.available_bytes) < 0.15;
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& one : evidence.samples(kGroupStalls)) {
    const std::string_view group = one.labels[0];
    if (one.labels[1] != kSomeStalled.part || group == "/" || evidence.rate(one.change.recent) <= 0.1) continue;
    if (!is_thrashing(evidence, group) || has_thrashing_child(evidence, group)) continue;
    if (has_stopped_waiting(evidence, group, kFeltShare)) continue;
    if (is_machine_short(evidence) && !is_limited(evidence, group)) continue;
    const double pages = charged_to(evidence, group, kReadAgain, Holds::kGainedLately) +
                         charged_to(evidence, group, kSwappedIn, Holds::kGainedLately);
    const double full = evidence.rate(charged_to(evidence, group, kStalled, Holds::kGainedLately));
    const double some = evidence.rate(one.change.recent);
    const Severity severity = full > kLostShare   ? Severity::kNow
                              : some > kLostShare ? Severity::kWasteful
                                                  : Severity::kNotable;
    Finding& finding = add_finding(found, cause, severity, Certainty::kLikely,
                                   "Control group " + short_name(group, 36) + " reads back " +
                                       count_text(evidence.rate(pages)) + " pages a second that were reclaimed");
    finding.fact({.text = "its programs waited for memory " + percent_text(some) + " of " +
                          duration_words(evidence.recent_seconds) + ", all of them " + percent_text(full),
                  .source = std::string(kGroupStalls),
                  .value = some,
                  .limit = 0.1,
                  .window_seconds = evidence.recent_seconds});
    finding.is_about("memcg", group).by("group", group).leads_to("It needs more memory than its limit allows.");
    finding.then("cat " + group_file(evidence, group, "/memory.max") + " " +
                 group_file(evidence, group, "/memory.pressure"));
  }
}

constexpr std::string_view kNeeds[] = {kGroupStalls, kGroupRefaults};
constexpr std::string_view kUses[] = {kHigh};
constexpr std::string_view kExplains[] = {"reclaim_thrash", "memory_stalls", "direct_reclaim", "swap_thrash"};
constexpr std::string_view kGroupSymptoms[] = {"cgroup_full"};
constexpr std::array kCauses{
    Cause{.name = "cgroup_thrash",
          .looks_for = "A control group is so short of memory that it reads the same pages again and again.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kNeeds,
          .uses = kUses,
          .explains = kExplains,
          .explains_of_group = kGroupSymptoms,
          .runbook = "MemstatControlGroupAtLimit",
          .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::group_thrash
