// SPDX-License-Identifier: BSD-2-Clause
// Ranks everything that can grow with one test: types, tables, control groups, and the parts of the summary of all
// memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnosis/growth.h"

namespace memstat {

/// The allocator of the parts of the summary; "unaccounted" is one of them.
inline constexpr std::string_view kAccountAllocator = "account";

/// An amount over the window.
struct GrowthSeries {
  std::string allocator;  ///< kAccountAllocator for a part of the summary.
  std::string name;
  bool is_bytes = true;                   ///< false: objects, for a type whose bytes the kernel does not count
  bool is_cache = false;                  ///< freed when memory is short
  double object_bytes = 0;                ///< B of one object; 0: unknown
  std::optional<double> limit_left = {};  ///< until its current limit, in the unit of the amounts
  std::vector<GrowthPoint> points = {};
};

/// One row of the ranking.
struct Growth {
  std::size_t series = 0;
  GrowthTest test;
  std::vector<std::size_t> together = {};  ///< Series that grew by the same number of objects: one cause.
  double gain = 0;                         ///< Of `series` and `together` in B; in objects if bytes are unknown.
  double now = 0;                          ///< Their last amounts, of the same series as `gain`.
  double per_second = 0;                   ///< Same, per second.
};

struct GrowthOptions {
  /// Minimum growth for a row.
  double min_bytes = 0;
  double min_objects = 0;
  /// A counter of reclaimed pages at the times of the points; empty: unknown.
  std::span<const double> reclaimed = {};
};

struct GrowthRanking {
  /// Growing rows: bytes before objects, fastest first.
  std::vector<Growth> growing;
  /// Rows that are larger than at the start but not growing: `test.shape` has the reason, or it is a cache. Most bytes
  /// first.
  std::vector<Growth> set_aside;
  std::size_t moved = 0;  ///< Number of series whose amounts changed, among which false discoveries are controlled.
};

/// Ranks the series. All series have their points at the same times; one with fewer points than the longest appeared or
/// disappeared within the window and is not judged. Rows that another row explains are omitted: a part of the summary
/// if the types of its allocator grow by as much (kmem: zones and caches, too), a control group if one of its children
/// does. Allocates.
GrowthRanking rank_growth(std::span<const GrowthSeries> series, const GrowthOptions& options);

}  // namespace memstat
