// SPDX-License-Identifier: BSD-2-Clause
// Refused requests and reached limits of types without a cause of their own. Ranked last, and explained by any finding about
// the same allocator.
#include <algorithm>
#include <array>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::refusals {
namespace {

/// Refusals of a control group are part of reclaim or kills, a full pool of huge pages may be intended, and each table has
/// a cause for its limit.
constexpr bool is_judged_elsewhere(Allocator allocator) {
  return allocator == Allocator::kMemcg || allocator == Allocator::kHugetlb;
}

std::string name_of(const TypeEvidence& type) {
  return std::string(to_string(type.allocator)) + " " + short_name(type.name, 36);
}

void finish(const TypeEvidence& type, std::string_view effect, Finding& finding) {
  finding.is_about(to_string(type.allocator), type.name)
      .leads_to(effect)
      .then("memstatctl show " + shell_word(std::string(to_string(type.allocator)) + "/" + std::string(type.name)))
      .then("memstatctl limits");
}

void look_at_refusals(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const TypeEvidence& type : evidence.types) {
    if (is_judged_elsewhere(type.allocator) || type.failures.recent <= 0) continue;
    constexpr double kFew = 5;  // healthy machines have some
    if (type.failures.recent < kFew && type.limit_used.value_or(0) < kNearShare) continue;
    Finding& finding =
        add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                    name_of(type) + " refused " + counted(type.failures.recent, "request") + " in " +
                        duration_words(evidence.recent_seconds) + last_time_text(ended(evidence, type.failures)));
    finding.fact({.text = counted(type.failures.total, "refusal") + " since boot",
                  .source = std::string(to_string(type.allocator)) + "/" + std::string(type.name),
                  .value = type.failures.recent,
                  .window_seconds = evidence.recent_seconds});
    if (const auto state = limit_state(evidence, type)) {
      finding.fact({.text = used_words(*state) + " in use",
                    .source = std::string(to_string(type.allocator)) + "/" + std::string(type.name),
                    .value = state->used,
                    .limit = state->limit});
    }
    finish(type, "A program or a part of the kernel did not get what it requested.", finding);
  }
}

void look_at_limits(const Evidence& evidence, const Cause& cause, Findings& found) {
  constexpr double kShare = 0.95;
  for (const TypeEvidence& type : evidence.types) {
    const bool is_known = is_judged_elsewhere(type.allocator) || type.allocator == Allocator::kTable;
    constexpr double kRounding = 1e-3;
    if ((is_known && !type.is_limit_configured) || type.limit_used.value_or(1) < kShare - kRounding) continue;
    const auto state = limit_state(evidence, type);
    if (!state || state->share < kShare) continue;
    Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                   name_of(type) + " has reached its limit: " + used_words(*state));
    finding.fact({.text = type.is_limit_configured ? "a limit of memstatd's configuration" : "a limit of the kernel",
                  .source = std::string(to_string(type.allocator)) + "/" + std::string(type.name),
                  .value = state->used,
                  .limit = state->limit});
    finish(type, type.is_limit_configured ? "It is larger than expected." : "Further requests are refused, or wait.",
           finding);
  }
}

constexpr std::array kCauses{Cause{.name = "requests_refused",
                                   .looks_for = "A type refused requests, and no other cause explains it.",
                                   .system = CauseSystem::kLinux,
                                   .watches = Watches::kChange,
                                   .is_general = true,
                                   .look = look_at_refusals},
                             Cause{.name = "limit_reached",
                                   .looks_for = "A type is at its limit, and no other cause explains it.",
                                   .system = CauseSystem::kLinux,
                                   .is_general = true,
                                   .look = look_at_limits}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::refusals
