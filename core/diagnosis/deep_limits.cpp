// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/deep_limits.h"

#include <string>

#include "core/diagnosis/culprits.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat {

void add_deep_limits(const Evidence& evidence, const Cause& cause, const DeepLimit& limit, std::string_view metric,
                     Findings& found) {
  const InspectionAnswer* const answer = evidence.inspection(kGroupLimits.substr(4));
  if (answer == nullptr) return;
  for (const Holder& row : answer->holders) {
    if (row.name != limit.row || !row.count || evidence.sample(metric, row.group) != nullptr) continue;
    const auto used = static_cast<double>(*row.count);
    const auto most = static_cast<double>(row.limit.value_or(0));
    if (row.limit && used < kNearShare * most) continue;
    const bool is_reached = !row.limit || used >= most;
    std::string headline = "Control group " + short_name(row.group, 36) + std::string(limit.headline);
    if (row.limit) headline += of_limit_text(used, most, limit.is_bytes);
    Finding& finding = add_finding(found, cause, is_reached ? limit.reached : Severity::kNotable,
                                   is_reached ? Certainty::kLikely : Certainty::kPossible, std::move(headline));
    finding.fact({.text = !row.limit    ? std::string(row.name)
                          : used > most ? "above its limit"
                                        : percent_text(used / most) + " of its limit",
                  .source = std::string(kGroupLimits),
                  .value = used,
                  .limit = row.limit ? std::optional(most) : std::nullopt});
    add_share(*answer, finding);
    finding.by("group", row.group).is_about("memcg", row.group).leads_to(limit.effect);
    finding.then("cat " + shell_word(std::string(limit.file).insert(limit.file.rfind('/'), row.group)))
        .then("memstatctl who group-limits");
  }
}

}  // namespace memstat
