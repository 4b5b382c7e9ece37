// SPDX-License-Identifier: BSD-2-Clause
// Everything that can grow, ranked by one test: types, tables, control groups, and the parts of the account of all memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnosis/growth.h"

namespace memstat {

/// The allocator of the parts of the account; "unaccounted" is one of them.
inline constexpr std::string_view kAccountAllocator = "account";

/// One amount over the window. Thread safety: a plain value, as all here.
struct GrowthSeries {
  std::string allocator;  ///< kAccountAllocator for a part of the account.
  std::string name;
  bool is_bytes = true;                   ///< false: objects, of a type whose bytes the kernel does not count
  bool is_cache = false;                  ///< given back when memory is short
  double object_bytes = 0;                ///< B of one object; 0: unknown
  std::optional<double> limit_left = {};  ///< until its limit now, in the unit of the amounts
  std::vector<GrowthPoint> points = {};
};

/// One row of the ranking.
struct Growth {
  std::size_t series = 0;
  GrowthTest test;
  std::vector<std::size_t> together = {};  ///< Series that grew by as many objects: one cause.
  double gain = 0;                         ///< Of `series` and `together`, B; objects where no bytes are known.
  double per_second = 0;                   ///< The same, a second.
};

struct GrowthOptions {
  /// Growth below these is not worth a row.
  double min_bytes = 0;
  double min_objects = 0;
  /// A counter of reclaimed pages at the times of the points; empty: not known.
  std::span<const double> reclaimed = {};
};

struct GrowthRanking {
  /// What grows: bytes before objects, fastest first.
  std::vector<Growth> growing;
  /// What is larger than at the start for a reason that `test.shape` names, or because it is a cache; most bytes first.
  std::vector<Growth> set_aside;
  std::size_t moved = 0;  ///< Series whose amounts changed at all, among which false discoveries are controlled.
};

/// Ranks the series. Points of all series have the same times where both have one; a series with fewer points than the
/// longest came or went within the window, and is not judged. What another row explains has no row of its own: a part of
/// the account whose allocator's types grow by as much, a control group one of whose children does. Allocates.
GrowthRanking rank_growth(std::span<const GrowthSeries> series, const GrowthOptions& options);

}  // namespace memstat
