// SPDX-License-Identifier: BSD-2-Clause
// Exhausted user quotas.
#include <algorithm>
#include <array>
#include <cstdint>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::quota {
namespace {

/// The user who is closest to that quota ("count", "bytes"); nullptr: unknown.
const Holder* fullest_user(const Evidence& evidence, std::string_view quota) {
  const InspectionAnswer* const answer = evidence.inspection("keys");
  if (answer == nullptr) return nullptr;
  const auto share = [](const Holder& user) {
    return static_cast<double>(user.count.value_or(0)) /
           static_cast<double>(std::max<std::uint64_t>(user.limit.value_or(1), 1));
  };
  const Holder* most = nullptr;
  for (const Holder& user : answer->holders) {
    if (user.name == quota && (most == nullptr || share(user) > share(*most))) most = &user;
  }
  return most;
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& used : evidence.samples("memstat_table_user_used_ratio")) {
    if (used.labels[0] != "keys" || used.value < 0.8) continue;
    const bool is_full = used.value >= kFullShare;
    const Holder* const user = fullest_user(evidence, used.labels[1]);
    Finding& finding = add_finding(
        found, cause, is_full ? Severity::kNow : Severity::kNotable, is_full ? Certainty::kLikely : Certainty::kPossible,
        (user == nullptr ? "A user" : "User " + short_name(user->user, 24)) + " has " + percent_text(used.value) +
            " of the quota of kernel keys (" + std::string(used.labels[1]) + ")");
    finding.fact({.text = percent_text(used.value) + " of the " + std::string(used.labels[1]) + " of keys",
                  .source = std::string(used.metric),
                  .value = used.value,
                  .limit = 1});
    if (user != nullptr) {
      const auto count = static_cast<double>(user->count.value_or(0));
      const auto limit = static_cast<double>(user->limit.value_or(0));
      finding.by("user", user->user)
          .fact({.text = of_limit_text(count, limit, used.labels[1] == "bytes") + (used.labels[1] == "bytes" ? "" : " keys"),
                 .source = "who/keys",
                 .value = count,
                 .limit = limit});
    }
    finding.is_about("table", "keys")
        .leads_to("Containers do not start: \"disk quota exceeded\".")
        .then("memstatctl who keys")
        .then("sysctl kernel.keys.maxkeys kernel.keys.maxbytes");
  }
}

constexpr std::string_view kNeeds[] = {"memstat_table_user_used_ratio"};
constexpr std::string_view kUses[] = {"who/keys"};
constexpr std::array kCauses{Cause{.name = "key_quota_full",
                                   .looks_for = "A user's quota of kernel keys is used up.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kNeeds,
                                   .uses = kUses,
                                   .runbook = "MemstatUserQuota",
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::quota
