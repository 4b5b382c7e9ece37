// SPDX-License-Identifier: BSD-2-Clause
// The sums of a machine's memory accounts, for tests of several kernels.
#pragma once

#include <cstdint>
#include <set>
#include <sstream>
#include <string>

#include "core/model/accounts.h"

namespace memstat {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// The sums of a kernel's accounts.
struct Outcome {
  std::uint64_t total = 0;
  std::int64_t unaccounted = 0;
  std::set<std::string> missing;
  std::string text;

  /// 1 % of all memory and 16 MiB.
  [[nodiscard]] std::int64_t bound() const { return static_cast<std::int64_t>(total / 100 + 16 * kMiB); }
  [[nodiscard]] bool is_within() const { return unaccounted <= bound() && unaccounted >= -bound(); }
};

inline Outcome outcome_of(const Staging& staging) {
  Outcome outcome;
  std::ostringstream text;
  for (const StagedStatistics::Entry& entry : staging.statistics().entries()) {
    const std::string label(staging.statistics().label(entry, 0));
    if (entry.metric == &kAccountedBytes) text << "  " << label << " " << entry.bits / 1024 << " kB\n";
    if (entry.metric == &kPartMissing) outcome.missing.insert(label);
    if (entry.metric == &kTotalBytes) outcome.total = entry.bits;
    if (entry.metric == &kUnaccountedBytes) outcome.unaccounted = static_cast<std::int64_t>(entry.bits);
  }
  for (const std::string& name : outcome.missing) text << "  " << name << " is missing\n";
  text << "  unaccounted " << outcome.unaccounted / 1024 << " kB of " << outcome.total / 1024 << " kB, bound "
       << outcome.bound() / 1024 << " kB\n";
  outcome.text = text.str();
  return outcome;
}

}  // namespace memstat
