// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/deeper_group.h"

#include <algorithm>
#include <utility>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/words.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxDeeper = 3;

struct GroupAmount {
  std::string_view group;
  double sum = 0;
};

double inspected_amount(const Holder& holder) {
  return static_cast<double>(holder.bytes ? *holder.bytes : holder.count.value_or(0));
}

/// The innermost of the groups that the finding names; "": none, or several beside each other.
std::string_view innermost_named(const Finding& finding) {
  std::string_view group;
  for (const Finding::Who& one : finding.who) {
    if (one.kind != "group") continue;
    if (!group.empty() && !is_within(one.name, group) && !is_within(group, one.name)) return {};
    if (one.name.size() > group.size()) group = one.name;
  }
  return group;
}

/// The groups below this one with what their processes hold by that answer, most first.
std::vector<GroupAmount> amounts_below(const InspectionAnswer& answer, std::string_view group) {
  std::vector<GroupAmount> amounts;
  for (const Holder& holder : answer.holders) {
    if (holder.pid == 0 || !is_below(holder.group, group)) continue;
    const auto known =
        std::find_if(amounts.begin(), amounts.end(), [&](const GroupAmount& one) { return one.group == holder.group; });
    GroupAmount& amount = known != amounts.end() ? *known : amounts.emplace_back(GroupAmount{holder.group});
    amount.sum += inspected_amount(holder);
  }
  std::stable_sort(amounts.begin(), amounts.end(), [](const GroupAmount& a, const GroupAmount& b) { return a.sum > b.sum; });
  return amounts;
}

/// The first few that together hold more than half, and each at least half of what the first one holds.
std::vector<GroupAmount> largest_amounts(std::vector<GroupAmount> amounts) {
  double all = 0;
  for (const GroupAmount& one : amounts) all += one.sum;
  double sum = 0;
  std::size_t count = 0;
  while (count < std::min(kMaxDeeper, amounts.size()) && amounts[count].sum >= amounts[0].sum / 2)
    sum += amounts[count++].sum;
  amounts.resize(sum > all / 2 ? count : 0);
  return amounts;
}

/// The rows of `memstatctl who group-limits` that a group below has if it is the cause.
std::string_view row_of(const Finding& finding) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {{"cgroup_oom_kill", "kills"},
                                                                     {"cgroup_throttled", "throttled"},
                                                                     {"cgroup_full", "memory"},
                                                                     {"cgroup_swap_full", "swap"},
                                                                     {"cgroup_tasks_full", "tasks"}};
  for (const auto& [cause, row] : kRows) {
    if (finding.cause == cause) return row;
  }
  return {};
}

/// The rows of `memstatctl who groups` with the charge by which a group was named.
std::string_view part_of(const Finding& finding) {
  for (const Fact& fact : finding.facts) {
    for (const Charge* const charge : {&kProgramMemory, &kKernelMemory, &kSharedMemory, &kSocketMemory}) {
      constexpr std::string_view kOf = "of ";
      if (fact.text.find(charge->words) != std::string::npos && fact.source.starts_with("memstat_memcg_"))
        return charge->words.substr(kOf.size());
    }
  }
  return {};
}

/// The rows with this name, of groups below this one.
std::vector<GroupAmount> rows_below(const Evidence& evidence, std::string_view question, std::string_view name,
                                    std::string_view group) {
  std::vector<GroupAmount> rows;
  const InspectionAnswer* const answer = name.empty() ? nullptr : evidence.answer_about_holders(question);
  if (answer == nullptr) return rows;
  for (const Holder& row : answer->holders) {
    if (row.name == name && is_below(row.group, group)) rows.push_back({row.group, inspected_amount(row)});
  }
  return rows;
}

void name_rows(const Evidence& evidence, std::string_view group, Finding& finding) {
  const std::string_view part = part_of(finding);
  std::vector<GroupAmount> rows = largest_amounts(rows_below(evidence, "group-limits", row_of(finding), group));
  const bool is_part = rows.empty();
  if (is_part) rows = largest_amounts(rows_below(evidence, "groups", part, group));
  for (const GroupAmount& one : rows) {
    finding.by("group", one.group)
        .fact({.text = short_name(one.group) + ": " + amount_text(one.sum, is_part) + " " +
                       std::string(is_part ? part : row_of(finding)),
               .source = is_part ? "who/groups" : "who/group-limits",
               .value = one.sum});
  }
}

/// The inspection whose amounts are the finding's: of its cause, or of program memory, which fills most groups.
std::string_view question_of(const Finding& finding) {
  if (!finding.inspection.empty()) return finding.inspection;
  const bool is_of_groups = std::any_of(finding.about.begin(), finding.about.end(),
                                        [](const Finding::About& one) { return one.allocator == "memcg"; });
  return is_of_groups ? "anonymous" : "";
}

void name_amounts(const Evidence& evidence, std::string_view group, Finding& finding) {
  const InspectionAnswer* const answer = evidence.answer_about_holders(question_of(finding));
  if (answer == nullptr || !answer->view.is_whole()) return;
  for (const GroupAmount& one : largest_amounts(amounts_below(*answer, group))) {
    const bool is_bytes = answer->things.starts_with("of ");
    finding.by("group", one.group)
        .fact({.text = "processes in " + short_name(one.group) + " have " + std::string(at_least(*answer)) +
                       amount_text(one.sum, is_bytes) + " " + std::string(answer->things),
               .source = "who/" + std::string(answer->question),
               .value = one.sum});
  }
}

/// The groups below this one that have processes, if they are few; empty: many, or none.
std::vector<std::string_view> few_below(const Evidence& evidence, std::string_view group) {
  std::vector<std::string_view> groups;
  if (evidence.view.lacks(ViewPart::kProcesses)) return groups;
  for (const auto* const answers : {&evidence.inspections, &evidence.holders}) {
    for (const InspectionAnswer& answer : *answers) {
      for (const Holder& holder : answer.holders) {
        if (holder.pid == 0 || !is_below(holder.group, group)) continue;
        if (std::find(groups.begin(), groups.end(), holder.group) != groups.end()) continue;
        if (groups.size() == kMaxDeeper) return {};
        groups.push_back(holder.group);
      }
    }
  }
  return groups;
}

}  // namespace

void name_deeper_groups(const Evidence& evidence, Findings& findings) {
  for (Finding& finding : findings) {
    const std::string group(innermost_named(finding));
    if (group.size() <= 1) continue;
    const std::size_t before = finding.who.size();
    name_rows(evidence, group, finding);
    if (finding.who.size() == before) name_amounts(evidence, group, finding);
    if (finding.who.size() != before) continue;
    for (const std::string_view one : few_below(evidence, group)) {
      finding.by("group", one).fact({.text = short_name(one) + " has processes", .source = "who/anonymous"});
    }
  }
}

}  // namespace memstat
