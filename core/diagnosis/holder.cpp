// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/holder.h"

#include <algorithm>
#include <vector>

#include "core/diagnosis/words.h"

namespace memstat {
namespace {

double amount_of(const MetricEvidence& group, Holds holds) {
  return holds == Holds::kNow ? group.value : group.change.recent;
}

/// "/" is the whole machine, not a holder.
bool is_root_group(std::string_view group) { return group.empty() || group == "/"; }

/// Groups include their children, so only outermost groups may be added.
bool is_outermost(std::string_view group) { return group.find('/', 1) == std::string_view::npos; }

/// The charges of all groups.
double charged_to_all(const Evidence& evidence, const Charge& charge, Holds holds) {
  double all = 0;
  for (const MetricEvidence& group : evidence.samples(charge.metric)) {
    if (group.labels[1] == charge.part && !is_root_group(group.labels[0]) && is_outermost(group.labels[0]))
      all += std::max(amount_of(group, holds), 0.0);
  }
  return all;
}

}  // namespace

const MetricEvidence* holder(const Evidence& evidence, const Charge& charge, Holds holds, double at_least) {
  if (evidence.view.lacks(ViewPart::kGroups)) return nullptr;  // a group outside may have more
  const double all = charged_to_all(evidence, charge, holds);
  const MetricEvidence* innermost = nullptr;
  for (const MetricEvidence& group : evidence.samples(charge.metric)) {
    const double amount = amount_of(group, holds);
    if (group.labels[1] != charge.part || is_root_group(group.labels[0]) || amount <= 0 || amount < at_least ||
        amount <= all / 2)
      continue;
    if (innermost == nullptr || group.labels[0].size() > innermost->labels[0].size()) innermost = &group;
  }
  return innermost;
}

namespace {

bool is_child(std::string_view inner, std::string_view group) {
  if (is_root_group(group)) return !is_root_group(inner) && is_outermost(inner);
  return is_below(inner, group) && inner.find('/', group.size() + 1) == std::string_view::npos;
}

/// The largest children of a group, at most three and none with less than half of the first one's charge. Empty unless they
/// have more than half of the group's charge together.
std::vector<const MetricEvidence*> largest_children(const Evidence& evidence, const Charge& charge, Holds holds,
                                                    std::string_view parent, double all) {
  constexpr std::size_t kMaxNamed = 3;
  constexpr double kMinShare = 0.5;  // of the largest
  std::vector<const MetricEvidence*> children;
  for (const MetricEvidence& group : evidence.samples(charge.metric)) {
    if (group.labels[1] == charge.part && amount_of(group, holds) > 0 && is_child(group.labels[0], parent))
      children.push_back(&group);
  }
  std::stable_sort(children.begin(), children.end(), [&](const MetricEvidence* a, const MetricEvidence* b) {
    return amount_of(*a, holds) > amount_of(*b, holds);
  });
  double sum = 0;
  std::size_t count = 0;
  for (const MetricEvidence* const child : children) {
    if (count == kMaxNamed || amount_of(*child, holds) < kMinShare * amount_of(*children.front(), holds)) break;
    sum += amount_of(*child, holds);
    ++count;
  }
  children.resize(sum > all / 2 ? count : 0);
  return children;
}

void name_group(const Evidence& evidence, const Charge& charge, Holds holds, const MetricEvidence& group, Finding& finding) {
  const double amount = amount_of(group, holds);
  std::string text = short_name(group.labels[0]) + (holds == Holds::kNow ? " has " : " gained ") +
                     amount_text(amount, charge.metric.ends_with("_bytes")) + " " + std::string(charge.words);
  if (holds == Holds::kGainedLately) text += " in " + duration_words(evidence.recent_seconds);
  finding.by("group", group.labels[0])
      .fact({.text = std::move(text),
             .source = std::string(group.metric),
             .value = amount,
             .window_seconds = holds == Holds::kNow ? 0 : evidence.recent_seconds});
}

}  // namespace

void name_holder(const Evidence& evidence, const Charge& charge, Holds holds, double at_least, Finding& finding) {
  if (evidence.view.lacks(ViewPart::kGroups)) return;
  const MetricEvidence* const group = holder(evidence, charge, holds, at_least);
  if (group != nullptr) name_group(evidence, charge, holds, *group, finding);
  const double all = group != nullptr ? amount_of(*group, holds) : charged_to_all(evidence, charge, holds);
  if (all < at_least) return;
  const std::string_view parent = group != nullptr ? group->labels[0] : std::string_view();
  for (const MetricEvidence* const child : largest_children(evidence, charge, holds, parent, all)) {
    name_group(evidence, charge, holds, *child, finding);
  }
}

double charged_to(const Evidence& evidence, std::string_view group, const Charge& charge, Holds holds) {
  for (const MetricEvidence& one : evidence.samples(charge.metric)) {
    if (one.labels[0] == group && one.labels[1] == charge.part) return amount_of(one, holds);
  }
  return 0;
}

bool is_within(std::string_view inner, std::string_view group) {
  return is_root_group(group) || (inner.starts_with(group) && (inner.size() == group.size() || inner[group.size()] == '/'));
}

bool is_below(std::string_view inner, std::string_view group) {
  return inner.size() > group.size() && is_within(inner, group);
}

bool is_version_1(const Evidence& evidence) {
  const auto events = evidence.samples(kGroupEvents);
  return !events.empty() &&
         std::none_of(events.begin(), events.end(), [](const MetricEvidence& one) { return one.labels[1] == "oom"; });
}

std::string group_file(const Evidence& evidence, std::string_view group, std::string_view file) {
  std::string path = is_version_1(evidence) ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  if (group != "/") path += group;
  return shell_word(path.append(file));
}

bool has_stopped_waiting(const Evidence& evidence, std::string_view group, double share) {
  if (evidence.poll_seconds <= 0) return false;
  for (const MetricEvidence& one : evidence.samples(kGroupStalls)) {
    if (one.labels[0] == group && one.change.last >= share * evidence.poll_seconds) return false;
  }
  return !evidence.samples(kGroupStalls).empty();
}

const Charge& charge_of(std::string_view part_or_allocator) {
  if (part_or_allocator == "anonymous") return kProgramMemory;
  if (part_or_allocator == "shared") return kSharedMemory;
  if (part_or_allocator == "sockets" || part_or_allocator == "socket") return kSocketMemory;
  return kKernelMemory;
}

}  // namespace memstat
