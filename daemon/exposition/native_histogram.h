// SPDX-License-Identifier: BSD-2-Clause
// Histograms of the daemon's own durations, with classic (fixed) and native (exponential) buckets. prometheus-cpp supports
// only classic ones.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"

namespace memstat {

/// The content of a histogram at one moment.
struct HistogramData {
  struct Bucket {
    double upper_bound = 0;        ///< Inclusive.
    std::uint64_t cumulative = 0;  ///< Observations up to and including the bound.
  };
  /// Consecutive native buckets.
  struct Span {
    std::int32_t offset = 0;  ///< First span: its first index. Others: number of buckets skipped before it.
    std::uint32_t length = 0;
  };
  std::uint64_t count = 0;
  double sum = 0;
  std::vector<Bucket> buckets;  ///< Without +Inf, which is `count`.
  std::int64_t created_ns = 0;  ///< Since 1970; 0: unknown.

  bool has_native = false;    ///< Whether the following members are valid.
  std::int32_t schema = 0;    ///< Bucket i ends at 2^(i x 2^-schema).
  double zero_threshold = 0;  ///< Upper bound of the observations in zero_count.
  std::uint64_t zero_count = 0;
  std::vector<Span> spans;
  std::vector<std::int64_t> deltas;  ///< Differences between the counts of successive buckets.
};

/// Adds native buckets to `data`, one per count, from `first_index` on. Skips empty ones where that is shorter. Requires
/// that `data` has no native buckets yet.
void append_native_buckets(std::span<const std::uint64_t> counts, std::int32_t first_index, HistogramData& data);

/// A histogram of durations in seconds. Native buckets have schema 3 (each is 9 % wider than the previous one) and range
/// from one nanosecond to a day and a half; larger values count in the last one. Thread safety: safe.
class NativeHistogram {
 public:
  static constexpr std::int32_t kSchema = 3;
  static constexpr double kZeroThreshold = 0x1p-30;  ///< seconds; the clock's resolution is nanoseconds

  /// `bounds` are those of the classic buckets, ascending and finite. `created_ns` is the current time since 1970.
  NativeHistogram(std::vector<double> bounds, std::int64_t created_ns);

  /// Counts a duration. A negative value or NaN counts as 0. Does not allocate.
  void observe(double seconds);

  [[nodiscard]] HistogramData data() const;

 private:
  static constexpr std::int32_t kBucketsPerOctave = 1 << kSchema;
  static constexpr std::int32_t kFirstIndex = -30 * kBucketsPerOctave + 1;  // the bucket above the zero threshold
  static constexpr std::int32_t kLastIndex = 17 * kBucketsPerOctave;
  static std::int32_t index_of(double seconds);

  const std::vector<double> bounds_;
  const std::int64_t created_ns_;
  mutable Mutex mutex_;  // keeps count and buckets consistent for readers
  std::uint64_t count_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  double sum_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t zero_count_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint64_t> classic_ MEMSTAT_GUARDED_BY(mutex_);  // not cumulative, one per bound
  std::array<std::uint64_t, kLastIndex - kFirstIndex + 1> native_ MEMSTAT_GUARDED_BY(mutex_){};
};

/// The histograms of one metric, by labels. Thread safety: safe.
class HistogramFamily {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  HistogramFamily(std::string name, std::string help, std::vector<double> bounds)
      : name_(std::move(name)), help_(std::move(help)), bounds_(std::move(bounds)) {}

  /// Adds a histogram, which lives until remove() or as long as the family. Labels must be unique.
  NativeHistogram& add(Labels labels, std::int64_t created_ns);
  void remove(const NativeHistogram& histogram);

  struct Data {
    std::string name;
    std::string help;
    std::vector<std::pair<Labels, HistogramData>> members;  ///< In insertion order.
  };
  [[nodiscard]] Data data() const;

 private:
  struct Member {
    Member(Labels of, std::vector<double> bounds, std::int64_t created_ns)
        : labels(std::move(of)), histogram(std::move(bounds), created_ns) {}
    Labels labels;
    NativeHistogram histogram;
  };
  const std::string name_;
  const std::string help_;
  const std::vector<double> bounds_;
  mutable Mutex mutex_;
  std::list<Member> members_ MEMSTAT_GUARDED_BY(mutex_);  // a list, so that histograms keep their address
};

}  // namespace memstat
