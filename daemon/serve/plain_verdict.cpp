// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/plain_verdict.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <vector>

#include "core/model/accounts.h"
#include "core/model/type_rules.h"

namespace memstat {
namespace {

constexpr double kNearLimit = 0.9;
constexpr double kFull = 0.995;

std::string share_text(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

/// Pools that are there to be used up, as in daemon/web/view.js.
bool is_full_by_design(Allocator allocator, std::string_view name) {
  switch (allocator) {
    case Allocator::kMemcg:
    case Allocator::kHugetlb:
    case Allocator::kZswap:
    case Allocator::kCma: return true;
    case Allocator::kTable: return name == "buffer_space" || name == "buffer_headers" || name == "tcp_time_wait";
    default: return false;
  }
}

/// What the type suffers from now; "" for nothing.
std::string trouble_of(const Snapshot& snapshot, std::size_t row, std::uint64_t recent) {
  const Snapshot::Row& entry = snapshot.rows()[row];
  const RowLabels labels = entry.labels(snapshot.label_bytes().data());
  const std::string name(labels.escaped_type());
  const double used = snapshot.has(TrackedFigure::kLimitUsed, row)
                          ? std::bit_cast<double>(snapshot.value(TrackedFigure::kLimitUsed, row))
                          : 0;
  std::string text;
  if (recent != 0 && !fails_routinely(entry.allocator, name) && entry.allocator != Allocator::kMemcg) {
    text = " failed " + std::to_string(recent) + (recent == 1 ? " time" : " times") + " within the last hour";
  }
  const bool is_near = used >= kNearLimit && !is_full_by_design(entry.allocator, name);
  if (is_near)
    text +=
        (text.empty() ? "" : " and") + (used >= kFull ? " is at its limit" : " is at " + share_text(used) + " of its limit");
  return text.empty() ? text : name + text;
}

void add_memory(const Snapshot& snapshot, std::vector<std::string>& troubles) {
  constexpr double kShort = 0.05;
  const auto total = snapshot.samples(kTotalBytes);
  const auto available = snapshot.samples(kAvailableBytes);
  if (total.empty() || available.empty() || total[0].bits == 0) return;
  const double share = static_cast<double>(available[0].bits) / static_cast<double>(total[0].bits);
  if (share < kShort) troubles.push_back("only " + share_text(share) + " of memory is available");
}

}  // namespace

PlainVerdict plain_verdict(const Diagnosis& diagnosis, const Snapshot& snapshot, const History* history,
                           std::span<const SourceStatus> sources) {
  if (!diagnosis.findings.empty() && diagnosis.findings[0].severity != Severity::kNotable) {
    const std::size_t more = diagnosis.findings.size() - 1;
    const std::string others = std::to_string(more) + (more == 1 ? " more finding" : " more findings");
    return {false, diagnosis.findings[0].headline + "." + (more == 0 ? "" : " " + others + ": memstatctl why.")};
  }
  constexpr std::int64_t kHour = 3600;
  constexpr std::size_t kShown = 3;
  std::vector<std::string> troubles;
  add_memory(snapshot, troubles);
  const History::Overview overview =
      history != nullptr && history->is_on() ? history->overview(kHour, 2) : History::Overview{};
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const std::uint32_t number = snapshot.rows()[row].number;
    const std::uint64_t recent = number < overview.failures.size() ? overview.failures[number] : 0;
    if (std::string text = trouble_of(snapshot, row, recent); !text.empty()) troubles.push_back(std::move(text));
  }
  for (const SourceStatus& source : sources) {
    if (source.state == SourceState::kDown) troubles.push_back("source " + source.name + " is down");
  }
  if (troubles.empty() && snapshot.row_count() == 0) return {false, "No memory type is known: no source gave any."};
  if (troubles.empty()) return {true, "All is quiet: no type failed within the last hour or is near its limit."};
  PlainVerdict verdict{.is_good = false, .text = {}};
  for (std::size_t i = 0; i < std::min(kShown, troubles.size()); ++i) {
    verdict.text += (i == 0 ? "" : "; ") + troubles[i];
  }
  const std::size_t more = troubles.size() - std::min(kShown, troubles.size());
  verdict.text += more != 0 ? "; " + std::to_string(more) + " more." : ".";
  return verdict;
}

}  // namespace memstat
