// SPDX-License-Identifier: BSD-2-Clause
// Whether an amount grows steadily or by chance, from samples of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace memstat::ctl {

/// An amount at a moment. Thread safety: a plain value.
struct TrendPoint {
  double seconds = 0;
  double amount = 0;
};

/// How an amount moved. Thread safety: a plain value.
struct Trend {
  double per_second = 0;        ///< Theil-Sen: the median of the slopes between all pairs of points.
  double confidence = 0;        ///< Mann-Kendall, one-sided: 1 less the probability that chance alone rises as clearly.
  double rising = 0;            ///< Share of the intervals between neighbours in which it rose.
  bool in_both_halves = false;  ///< It is higher in the middle than at first, and higher at last than in the middle.
  double gain = 0;              ///< Last less first.

  /// A steady growth: not one jump, and nothing that goes up and down.
  [[nodiscard]] bool is_growth() const { return per_second > 0 && confidence >= 0.95 && in_both_halves && gain > 0; }
};

/// With fewer points no trend can be told from chance.
inline constexpr std::size_t kLeastTrendPoints = 5;
/// Of more points, as many are looked at, evenly spread with the first and the last.
inline constexpr std::size_t kMostTrendPoints = 120;

/// Of points in the order of time, no two at the same; nothing when there are fewer than kLeastTrendPoints.
std::optional<Trend> trend_of(std::span<const TrendPoint> points);

}  // namespace memstat::ctl
