// SPDX-License-Identifier: BSD-2-Clause
// Histograms of the daemon's own durations, with fixed (classic) and with exponential (native) buckets: prometheus-cpp knows
// the first kind only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"

namespace memstat {

/// What a histogram holds at one moment.
struct HistogramData {
  struct Bucket {
    double upper_bound = 0;        ///< Inclusive.
    std::uint64_t cumulative = 0;  ///< Observations at or below it.
  };
  /// Native buckets that follow each other.
  struct Span {
    std::int32_t offset = 0;  ///< Of the first span: its first index; of the others: buckets left out before it.
    std::uint32_t length = 0;
  };
  std::uint64_t count = 0;
  double sum = 0;
  std::vector<Bucket> buckets;  ///< Without the one of +Inf, which is `count`.
  std::int64_t created_ns = 0;  ///< Since 1970; 0: not known.

  bool has_native = false;    ///< Whether the rest means anything.
  std::int32_t schema = 0;    ///< Bucket i ends at 2^(i x 2^-schema).
  double zero_threshold = 0;  ///< Observations up to it are in zero_count.
  std::uint64_t zero_count = 0;
  std::vector<Span> spans;
  std::vector<std::int64_t> deltas;  ///< Count of each bucket of the spans less that of the one before.
};

/// Gives `data`, which has none yet, the native buckets from `first_index` on, one a count; empty ones are left out where
/// that is shorter.
void append_native_buckets(std::span<const std::uint64_t> counts, std::int32_t first_index, HistogramData& data);

/// One histogram of durations in seconds. Native buckets have schema 3 (each is 9 % wider than the one before) and reach
/// from one nanosecond to a day and a half; what is above counts in the last one. Thread safety: safe.
class NativeHistogram {
 public:
  static constexpr std::int32_t kSchema = 3;
  static constexpr double kZeroThreshold = 0x1p-30;  ///< s: nanoseconds are the clock's resolution

  /// `bounds`: of the classic buckets, ascending, finite. `created_ns`: the time now, since 1970.
  NativeHistogram(std::vector<double> bounds, std::int64_t created_ns);

  /// Counts a duration; a negative one (or one that is not a number) as 0. Does not allocate.
  void observe(double seconds);

  [[nodiscard]] HistogramData data() const;

 private:
  static constexpr std::int32_t kBucketsPerOctave = 1 << kSchema;
  static constexpr std::int32_t kFirstIndex = -30 * kBucketsPerOctave + 1;  // the bucket above the zero threshold
  static constexpr std::int32_t kLastIndex = 17 * kBucketsPerOctave;
  static std::int32_t index_of(double seconds);

  const std::vector<double> bounds_;
  const std::int64_t created_ns_;
  mutable Mutex mutex_;  // count and buckets must agree when they are read
  std::uint64_t count_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  double sum_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t zero_count_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint64_t> classic_ MEMSTAT_GUARDED_BY(mutex_);  // not cumulative, one a bound
  std::array<std::uint64_t, kLastIndex - kFirstIndex + 1> native_ MEMSTAT_GUARDED_BY(mutex_){};
};

/// The histograms of one metric, by labels. Thread safety: safe.
class HistogramFamily {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  HistogramFamily(std::string name, std::string help, std::vector<double> bounds)
      : name_(std::move(name)), help_(std::move(help)), bounds_(std::move(bounds)) {}

  /// A new histogram, which lives until remove() or as long as this. No two may have the same labels.
  NativeHistogram& add(Labels labels, std::int64_t created_ns);
  void remove(const NativeHistogram& histogram);

  struct Data {
    std::string name;
    std::string help;
    std::vector<std::pair<Labels, HistogramData>> members;  ///< In the order in which they were added.
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
  std::list<Member> members_ MEMSTAT_GUARDED_BY(mutex_);  // a list: histograms keep their address
};

}  // namespace memstat
