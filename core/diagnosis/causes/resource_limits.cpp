// SPDX-License-Identifier: BSD-2-Clause
// Limits that FreeBSD's rctl(8) sets to a jail, a user or a login class.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "core/base/text.h"
#include "core/diagnosis/culprits.h"
#include "core/diagnosis/deep_limits.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::resource_limits {
namespace {

struct Resource {
  std::string_view resource;  ///< as rctl(8) names it
  std::string_view things;
  std::string_view effect;
  bool is_bytes = false;
};
constexpr std::array kResources{
    Resource{.resource = "maxproc", .things = "processes", .effect = "fork fails with EAGAIN."},
    Resource{.resource = "nthr", .things = "threads", .effect = "New threads fail with EAGAIN."},
    Resource{.resource = "openfiles", .things = "open files", .effect = "open and accept fail with EMFILE."},
    Resource{.resource = "memoryuse",
             .things = "memory",
             .effect = "Its pages are taken away while memory is free: it is slow.",
             .is_bytes = true},
    Resource{.resource = "vmemoryuse", .things = "address space", .effect = "mmap fails with ENOMEM.", .is_bytes = true},
    Resource{.resource = "memorylocked", .things = "locked memory", .effect = "mlock fails with ENOMEM.", .is_bytes = true},
    Resource{.resource = "swapuse", .things = "swap", .effect = "mmap fails with ENOMEM.", .is_bytes = true},
    Resource{.resource = "shmsize", .things = "System V segments", .effect = "shmget fails with ENOMEM.", .is_bytes = true}};

constexpr std::string_view kJailsCounted = "memstat_jails_counted";
constexpr std::string_view kJailLimit = "memstat_jail_limit";
constexpr std::string_view kJailAmounts[] = {"memstat_jail_bytes", "memstat_jail_objects"};
constexpr std::string_view kJail = "jail ";

/// One without words of its own is shown as rctl(8) names it.
Resource resource_of(std::string_view name) {
  const auto* const known =
      std::find_if(kResources.begin(), kResources.end(), [&](const Resource& one) { return one.resource == name; });
  return known != kResources.end() ? *known
                                   : Resource{.resource = name, .things = name, .effect = "Requests for more fail."};
}

std::string amount_of(const Holder& row) {
  const Resource resource = resource_of(row.name);
  const std::string amount =
      of_limit_text(static_cast<double>(*row.count), static_cast<double>(*row.limit), resource.is_bytes);
  const std::string things(resource.things);
  return resource.is_bytes ? things + " " + amount : amount + " " + things;
}

/// What the jail has of that resource.
std::optional<double> used_by_jail(const Evidence& evidence, std::string_view jail, std::string_view resource) {
  const TypeEvidence* const type = evidence.type(Allocator::kJail, jail);
  if (resource == "memoryuse") return type == nullptr ? std::nullopt : type->bytes;
  if (resource == "maxproc") return type == nullptr ? std::nullopt : type->objects;
  for (const std::string_view metric : kJailAmounts) {
    for (const MetricEvidence& one : evidence.samples(metric)) {
      if (one.labels[0] == jail && one.labels[1] == resource) return one.value;
    }
  }
  return std::nullopt;
}

double share_of(const Holder& row) { return static_cast<double>(*row.count) / static_cast<double>(*row.limit); }

/// Rows of one subject, the fullest first.
using Rows = std::vector<const Holder*>;
using Subjects = std::map<std::string_view, Rows>;

/// A row that may be examined, if it is near its limit.
void take_row(const Holder& row, Subjects& subjects) {
  const bool is_near = row.count && row.limit.value_or(0) != 0 && share_of(row) >= kNearShare;
  if (is_near && row.group.find(' ') != std::string::npos) subjects[row.group].push_back(&row);
}

/// `answer`: where the rows are from; nullptr: metrics.
void add_subject(const Rows& rows, const InspectionAnswer* answer, const Cause& cause, Findings& found) {
  const bool is_full = share_of(*rows.front()) >= kFullShare;
  const std::string_view subject = rows.front()->group;
  const std::size_t kind = subject.find(' ');
  std::string headline = short_name(subject, 30) + (is_full ? " is at its limit" : " is near its limit") +
                         (rows.size() > 1 ? "s: " : ": ") +
                         separated(std::vector(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(2, std::ssize(rows))),
                                   "; ", [](const Holder* row) { return amount_of(*row); });
  headline.front() = static_cast<char>(headline.front() - 'a' + 'A');
  Finding& finding = add_finding(found, cause, is_full ? Severity::kNow : Severity::kNotable,
                                 is_full ? Certainty::kLikely : Certainty::kPossible, std::move(headline));
  for (const Holder* row : rows) {
    finding.fact({.text = std::string(row->name) + ": " + percent_text(share_of(*row)) + " of its limit",
                  .source = std::string(answer != nullptr ? kGroupLimits : kJailLimit),
                  .value = static_cast<double>(*row->count),
                  .limit = static_cast<double>(*row->limit)});
  }
  if (answer != nullptr) {
    add_share(*answer, finding);
  } else {
    finding.is_about(to_string(Allocator::kJail), subject.substr(kind + 1));
  }
  finding.by(subject.substr(0, kind), subject.substr(kind + 1)).leads_to(resource_of(rows.front()->name).effect);
  finding.then("rctl -hu " + shell_word(std::string(subject.substr(0, kind)) + ":" + std::string(subject.substr(kind + 1))))
      .then(answer != nullptr ? "memstatctl who group-limits" : "memstatctl who processes");
}

void add_subjects(Subjects& subjects, const InspectionAnswer* answer, const Cause& cause, Findings& found) {
  for (auto& [subject, rows] : subjects) {
    std::stable_sort(rows.begin(), rows.end(), [](const Holder* a, const Holder* b) { return share_of(*a) > share_of(*b); });
    add_subject(rows, answer, cause, found);
  }
}

/// memstatd has them at each poll, so those of the inspection are not needed.
void look_at_jails(const Evidence& evidence, const Cause& cause, Findings& found) {
  std::vector<Holder> limits;
  for (const MetricEvidence& limit : evidence.samples(kJailLimit)) {
    const auto used = used_by_jail(evidence, limit.labels[0], limit.labels[1]);
    if (limit.labels[2] != "deny" || !used || *used < 0 || limit.value < 1) continue;
    Holder& row = limits.emplace_back();
    row.group = std::string(kJail) + std::string(limit.labels[0]);
    row.name = limit.labels[1];
    row.count = static_cast<std::uint64_t>(*used);
    row.limit = static_cast<std::uint64_t>(limit.value);
  }
  Subjects subjects;
  for (const Holder& row : limits) take_row(row, subjects);
  add_subjects(subjects, nullptr, cause, found);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const InspectionAnswer* const answer = evidence.inspection(kGroupLimits.substr(4));
  if (answer == nullptr) return;
  Subjects subjects;
  for (const Holder& row : answer->holders) {
    const bool is_told = row.group.starts_with(kJail) && evidence.has(kJailsCounted) &&
                         used_by_jail(evidence, std::string_view(row.group).substr(kJail.size()), row.name);
    if (!is_told) take_row(row, subjects);
  }
  add_subjects(subjects, answer, cause, found);
}

constexpr std::string_view kNeeds[] = {kGroupLimits};
constexpr std::string_view kUses[] = {kJailsCounted};
constexpr std::string_view kNeedsOfJails[] = {kJailsCounted};
constexpr std::string_view kUsesOfJails[] = {kJailLimit, kJailAmounts[0], kJailAmounts[1]};
constexpr std::array kCauses{
    Cause{.name = "resource_limit_full",
          .looks_for = "A user, a login class or, where memstatd does not count it, a jail has reached a limit of rctl(8).",
          .system = CauseSystem::kFreeBsd,
          .needs = kNeeds,
          .uses = kUses,
          .runbook = "MemstatUserQuota",
          .look = look},
    Cause{.name = "jail_limit_full",
          .looks_for = "A jail has reached a limit of rctl(8).",
          .system = CauseSystem::kFreeBsd,
          .needs = kNeedsOfJails,
          .uses = kUsesOfJails,
          .runbook = "MemstatNearLimit",
          .look = look_at_jails}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::resource_limits
