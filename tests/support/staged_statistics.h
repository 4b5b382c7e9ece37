// SPDX-License-Identifier: BSD-2-Clause
// Finding statistics in what a parse produced.
#pragma once

#include <optional>
#include <string_view>

#include "core/model/staging.h"

namespace memstat {

/// The statistic whose first label is `label` (or that has none), nothing when it was not given.
inline std::optional<std::uint64_t> find_statistic(const Staging& staging, Statistic statistic,
                                                   std::string_view label = {}) {
  for (const StagedStatistics::Entry& entry : staging.statistics().entries()) {
    if (entry.statistic == statistic && staging.statistics().label(entry, 0) == label) return entry.bits;
  }
  return std::nullopt;
}

}  // namespace memstat
