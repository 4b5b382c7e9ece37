// SPDX-License-Identifier: BSD-2-Clause
// Histograms as kernel interfaces and probes give them: buckets that are the same for all members of a metric, and the
// counts of one member.
#pragma once

#include <cstdint>
#include <span>

namespace memstat {

/// The buckets of a metric. Static.
struct HistogramBuckets {
  /// Upper bounds, inclusive, ascending, finite, in the unit of the metric. What is above the last one is counted, too.
  std::span<const double> bounds;
  /// Whether the bounds are those of a native histogram, which then is on the page as well: bounds[i] is
  /// 2^((first_index + i) x 2^-schema). What is at or below bounds[0] is in its zero bucket.
  bool is_native = false;
  std::int32_t schema = 0;       ///< -4 to 8; 0: each bound is twice the one before (log2 buckets).
  std::int32_t first_index = 0;  ///< Of the first bound.
};

/// The counts of one histogram. Thread safety: a plain value; borrows the counts.
struct HistogramCounts {
  /// Observations in each bucket, since the kernel started counting and not cumulative over buckets; the last one is of
  /// those above every bound.
  std::span<const std::uint64_t> counts;
  double sum = 0;  ///< Of all observations, in the unit of the metric.
};

}  // namespace memstat
