// SPDX-License-Identifier: BSD-2-Clause
// Histograms as kernel interfaces and probes provide them: buckets shared by all series of a metric, and the counts of one
// series.
#pragma once

#include <cstdint>
#include <span>

namespace memstat {

/// The buckets of a metric. Static.
struct HistogramBuckets {
  /// Inclusive upper bounds, ascending and finite, in the metric's unit. Observations above the last bound are counted too.
  std::span<const double> bounds;
  /// Whether the bounds are those of a native histogram, which is then exported as well: bounds[i] is 2^((first_index + i) x
  /// 2^-schema). Observations up to bounds[0] are in its zero bucket.
  bool is_native = false;
  std::int32_t schema = 0;       ///< -4 to 8; 0: each bound is twice the previous one (log2 buckets).
  std::int32_t first_index = 0;  ///< Index of the first bound.
};

/// The counts of one histogram. Borrows them.
struct HistogramCounts {
  /// Observations in each bucket since the kernel started counting, not cumulative over buckets. The last count is of
  /// observations above every bound.
  std::span<const std::uint64_t> counts;
  double sum = 0;  ///< Sum of all observations, in the metric's unit.
};

}  // namespace memstat
