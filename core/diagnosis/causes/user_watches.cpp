// SPDX-License-Identifier: BSD-2-Clause
// Quotas of inotify. The kernel counts by user but shows no counts, so the descriptors of all processes are counted.
#include <algorithm>
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::user_watches {
namespace {

struct Quota {
  std::string_view name;
  std::string_view limit;  ///< The label of its limit.
  std::string_view inspection;
  std::string_view effect;
  std::string_view setting;
  std::array<std::string_view, 2> needs;
};
constexpr std::string_view kLimits = "memstat_table_user_limit_objects";
constexpr std::array kQuotas{
    Quota{.name = "inotify_instances_full",
          .limit = "inotify_instances",
          .inspection = "inotify",
          .effect = "inotify_init fails with EMFILE: \"too many open files\" while descriptors are free.",
          .setting = "sysctl fs.inotify.max_user_instances",
          .needs = {kLimits, "who/inotify"}},
    Quota{.name = "inotify_watches_full",
          .limit = "inotify_watches",
          .inspection = "watches",
          .effect = "inotify_add_watch fails with ENOSPC: \"no space left on device\".",
          .setting = "sysctl fs.inotify.max_user_watches",
          .needs = {kLimits, "who/watches"}}};

struct User {
  std::string_view name;
  double count = 0;
};
/// The user with the highest count.
User largest_user(const InspectionAnswer& answer) {
  User most;
  for (auto first = answer.holders.begin(); first != answer.holders.end(); ++first) {
    const auto is_same = [&](const Holder& other) { return other.user == first->user; };
    if (std::any_of(answer.holders.begin(), first, is_same)) continue;
    double count = 0;
    for (auto other = first; other != answer.holders.end(); ++other) {
      if (is_same(*other)) count += static_cast<double>(other->count.value_or(0));
    }
    if (count > most.count) most = {first->user, count};
  }
  return most;
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const Quota& quota = kQuotas[cause.row];
  const auto limit = evidence.value(kLimits, quota.limit);
  const InspectionAnswer* const answer = evidence.recent_inspection(quota.inspection);
  if (!limit || *limit <= 0 || answer == nullptr || evidence.view.lacks(ViewPart::kUsers)) return;
  const User user = largest_user(*answer);
  if (user.count < kNearShare * *limit && (!answer->is_partial() || user.count < kPartialShare * *limit)) return;
  const bool is_full = user.count >= kFullShare * *limit;
  Finding& finding = add_finding(
      found, cause, is_full ? Severity::kNow : Severity::kNotable, is_full ? Certainty::kLikely : Certainty::kPossible,
      "User " + short_name(user.name, 24) + " has " + (answer->is_partial() ? "at least " : "") + count_text(user.count) +
          " of " + count_text(*limit) + " " + std::string(answer->things));
  finding.fact({.text = percent_text(user.count / *limit) + " of the limit per user",
                .source = "who/" + std::string(quota.inspection),
                .value = user.count,
                .limit = limit});
  finding.is_about("table", quota.limit).leads_to(quota.effect).then(quota.setting);
  finding.by("user", user.name);
}

constexpr auto kCauses = causes_of<kQuotas>([](const Quota& quota) {
  return Cause{.name = quota.name,
               .looks_for = "A user has reached the limit of inotify instances or watches.",
               .system = CauseSystem::kLinux,
               .needs = quota.needs,
               .runbook = "MemstatUserQuota",
               .inspection = quota.inspection,
               .is_of_limits = true,
               .look = look};
});

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::user_watches
