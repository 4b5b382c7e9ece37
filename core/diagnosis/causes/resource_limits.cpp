// SPDX-License-Identifier: BSD-2-Clause
// Limits that FreeBSD's rctl(8) sets to a jail, a user or a login class.
#include <algorithm>
#include <array>
#include <map>
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

double share_of(const Holder& row) { return static_cast<double>(*row.count) / static_cast<double>(*row.limit); }

/// `rows`: of one subject, the fullest first.
void add_subject(const std::vector<const Holder*>& rows, const InspectionAnswer& answer, const Cause& cause,
                 Findings& found) {
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
                  .source = std::string(kGroupLimits),
                  .value = static_cast<double>(*row->count),
                  .limit = static_cast<double>(*row->limit)});
  }
  add_share(answer, finding);
  finding.by(subject.substr(0, kind), subject.substr(kind + 1)).leads_to(resource_of(rows.front()->name).effect);
  finding.then("rctl -hu " + shell_word(std::string(subject.substr(0, kind)) + ":" + std::string(subject.substr(kind + 1))))
      .then("memstatctl who group-limits");
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const InspectionAnswer* const answer = evidence.inspection(kGroupLimits.substr(4));
  if (answer == nullptr) return;
  std::map<std::string_view, std::vector<const Holder*>> subjects;
  for (const Holder& row : answer->holders) {
    const bool is_near = row.count && row.limit.value_or(0) != 0 && share_of(row) >= kNearShare;
    if (is_near && row.group.find(' ') != std::string::npos) subjects[row.group].push_back(&row);
  }
  for (auto& [subject, rows] : subjects) {
    std::stable_sort(rows.begin(), rows.end(), [](const Holder* a, const Holder* b) { return share_of(*a) > share_of(*b); });
    add_subject(rows, *answer, cause, found);
  }
}

constexpr std::string_view kNeeds[] = {kGroupLimits};
constexpr std::array kCauses{Cause{.name = "resource_limit_full",
                                   .looks_for = "A jail, user or login class has reached a limit of rctl(8).",
                                   .system = CauseSystem::kFreeBsd,
                                   .needs = kNeeds,
                                   .runbook = "MemstatUserQuota",
                                   .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::resource_limits
