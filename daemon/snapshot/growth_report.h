// SPDX-License-Identifier: BSD-2-Clause
// Growth in the history of all types, ranked: for the status page, /api/v1/growth and `memstatctl leaks`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.h"
#include "core/diagnosis/growth_ranking.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// Names of history series that are not part of the account.
inline constexpr std::string_view kUnaccountedSeries = "unaccounted";
inline constexpr std::string_view kReclaimedSeries = "reclaimed pages";  // a counter
inline constexpr std::string_view kKillsSeries = "processes killed";     // a counter

struct GrowthReport {
  std::size_t polls = 0;  ///< In the window, each counted once.
  double seconds = 0;     ///< from the first to the last poll
  std::vector<GrowthSeries> series;
  GrowthRanking ranking;
  std::optional<double> available = {};  ///< bytes available to programs

  [[nodiscard]] bool is_enough() const { return polls >= kMinGrowthPoints && seconds > 0; }
};

/// Ranks the last `seconds` of the history of this snapshot's types. Allocates.
GrowthReport growth_report(const Snapshot& snapshot, const History& history, std::int64_t seconds);

/// Seconds until the row reaches its limit, or until available memory is exhausted, at its current rate; nothing if unknown.
std::optional<double> seconds_to_limit(const GrowthReport& report, const Growth& row);
std::optional<double> seconds_to_exhaustion(const GrowthReport& report, const Growth& row);

/// Why a row is set aside, as words after "it": "grew in one step".
std::string why_set_aside(const GrowthReport& report, const Growth& row);

/// Writes members of an open JSON object: polls, seconds, enough, moved, growing, set_aside.
void write_growth(JsonWriter& json, const GrowthReport& report);

}  // namespace memstat
