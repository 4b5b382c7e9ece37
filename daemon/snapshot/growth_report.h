// SPDX-License-Identifier: BSD-2-Clause
// Growth in the history of all types, ranked: for the status page, /api/v1/growth and `memstatctl leaks`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Current amounts and limits of a type; empty: unknown.
struct TypeAmounts {
  std::optional<std::uint64_t> bytes = {};
  std::optional<std::uint64_t> objects = {};
  std::optional<std::uint64_t> bytes_limit = {};
  std::optional<std::uint64_t> objects_limit = {};
};
/// Sets the unit of the series, the size of an object, and what is left until the limit.
void set_amounts(const TypeAmounts& now, GrowthSeries& series);

/// Whether growth of the type is judged: it is not part of another type. Control groups contain other types but are
/// ranked, because the owning group matters.
bool is_ranked_by_growth(Allocator allocator, std::string_view name);

/// Whether the growth of a control group is that of its caches. `fixed`: its bytes that are not cached.
bool is_group_cache(const GrowthSeries& group, double fixed);

/// Ranks the series of a report, which has everything else. `memory`: all memory in bytes; 0: unknown. `reclaimed`: a
/// counter of reclaimed pages at the times of the points; empty: unknown.
void rank_report(GrowthReport& report, double memory, std::span<const double> reclaimed);

/// Ranks the last `seconds` of the history of this snapshot's types. Allocates.
GrowthReport growth_report(const Snapshot& snapshot, const History& history, std::int64_t seconds);

/// Seconds until the row reaches its limit, or until available memory is exhausted, at its current rate; nothing if unknown.
std::optional<double> seconds_to_limit(const GrowthReport& report, const Growth& row);
std::optional<double> seconds_to_exhaustion(const GrowthReport& report, const Growth& row);

/// An amount that has grown since the start of the window, for the API and memstatctl.
struct GrowthRow {
  /// A type that grows by the same number of objects.
  struct Other {
    std::string allocator;
    std::string name;
    bool is_bytes = true;
    std::int64_t grew = 0;
  };

  std::string allocator;  ///< "account" for parts of all memory
  std::string name;
  bool is_bytes = true;  ///< false: objects
  bool is_cache = false;
  std::int64_t now = 0;
  std::int64_t grew = 0;
  double per_second = 0;
  double confidence = 0;     ///< 1 minus the probability of such a clear growth by chance
  double rising = 0;         ///< share of the changes that are increases
  double since_seconds = 0;  ///< From the start of the window to that of the growth.
  std::optional<double> limit_seconds = {};
  std::optional<double> memory_seconds = {};
  std::string shape = {};  ///< "steady", "step", ...
  std::string why = {};    ///< Why it is not a leak, as words that follow "it".
  std::vector<Other> with = {};
};

struct GrowthAnswer {
  std::size_t polls = 0;
  double seconds = 0;  ///< between the first and the last poll
  bool is_enough = false;
  std::size_t moved = 0;  ///< Amounts that changed.
  std::vector<GrowthRow> growing;
  std::vector<GrowthRow> set_aside;
  std::string problem;  ///< Why there is no answer, for display; "" if there is one.
};

GrowthAnswer growth_answer(const GrowthReport& report);

}  // namespace memstat
