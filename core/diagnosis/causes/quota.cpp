// SPDX-License-Identifier: BSD-2-Clause
// Exhausted user quotas.
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::quota {
namespace {

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& used : evidence.samples("memstat_table_user_used_ratio")) {
    if (used.labels[0] != "keys" || used.value < 0.8) continue;
    const bool is_full = used.value >= kFullShare;
    Finding& finding = add_finding(
        found, cause, is_full ? Severity::kNow : Severity::kNotable, is_full ? Certainty::kLikely : Certainty::kPossible,
        "A user has " + percent_text(used.value) + " of the quota of kernel keys (" + std::string(used.labels[1]) + ")");
    finding.fact({.text = percent_text(used.value) + " of the " + std::string(used.labels[1]) + " of keys",
                  .source = std::string(used.metric),
                  .value = used.value,
                  .limit = 1});
    finding.is_about("table", "keys")
        .leads_to("Containers do not start: \"disk quota exceeded\".")
        .then("cat /proc/key-users")
        .then("sysctl kernel.keys.maxkeys kernel.keys.maxbytes");
  }
}

constexpr std::string_view kNeeds[] = {"memstat_table_user_used_ratio"};
constexpr std::array kCauses{Cause{.name = "key_quota_full",
                                   .looks_for = "A user's quota of kernel keys is used up.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .runbook = "MemstatUserQuota",
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::quota
