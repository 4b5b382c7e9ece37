// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/native_histogram.h"

#include <algorithm>
#include <cmath>

namespace memstat {
namespace {

/// Up to this many empty buckets are cheaper than a new span.
constexpr std::int32_t kGapWithinSpan = 2;

}  // namespace

void append_native_buckets(std::span<const std::uint64_t> counts, std::int32_t first_index, HistogramData& data) {
  std::int64_t before = 0;
  std::int32_t next = 0;  // index after the last span
  const auto add = [&](std::uint64_t count) {
    ++data.spans.back().length;
    data.deltas.push_back(static_cast<std::int64_t>(count) - before);
    before = static_cast<std::int64_t>(count);
    ++next;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const std::int32_t index = first_index + static_cast<std::int32_t>(i);
    if (data.spans.empty() || index - next > kGapWithinSpan) {
      data.spans.push_back({.offset = index - next, .length = 0});
      next = index;
    }
    while (next < index) add(0);
    add(counts[i]);
  }
}

NativeHistogram::NativeHistogram(std::vector<double> bounds, std::int64_t created_ns)
    : bounds_(std::move(bounds)), created_ns_(created_ns), classic_(bounds_.size()) {}

std::int32_t NativeHistogram::index_of(double seconds) {
  // Bucket i ends at 2^(i / 8), inclusive. The bounds within an octave are a table, so that rounding of a logarithm never
  // puts a value above its bound.
  static const std::array<double, kBucketsPerOctave> kBounds = [] {
    std::array<double, kBucketsPerOctave> bounds{};
    for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = std::exp2(static_cast<double>(i) / kBucketsPerOctave) / 2;
    return bounds;
  }();
  int exponent = 0;
  const double fraction = std::frexp(seconds, &exponent);  // 0.5 to 1
  const auto within = std::lower_bound(kBounds.begin(), kBounds.end(), fraction) - kBounds.begin();
  return (exponent - 1) * kBucketsPerOctave + static_cast<std::int32_t>(within);
}

void NativeHistogram::observe(double seconds) {
  if (!(seconds > 0)) seconds = 0;
  std::int32_t index = kLastIndex;  // also for infinity
  if (std::isfinite(seconds)) index = seconds <= kZeroThreshold ? kFirstIndex - 1 : index_of(seconds);
  const auto classic = std::lower_bound(bounds_.begin(), bounds_.end(), seconds) - bounds_.begin();
  const MutexLock lock(mutex_);
  ++count_;
  sum_ += seconds;
  if (static_cast<std::size_t>(classic) < classic_.size()) ++classic_[static_cast<std::size_t>(classic)];
  if (index < kFirstIndex) {
    ++zero_count_;
  } else {
    ++native_[static_cast<std::size_t>(std::min(index, kLastIndex) - kFirstIndex)];
  }
}

HistogramData NativeHistogram::data() const {
  HistogramData data;
  data.created_ns = created_ns_;
  data.has_native = true;
  data.schema = kSchema;
  data.zero_threshold = kZeroThreshold;
  const MutexLock lock(mutex_);
  data.count = count_;
  data.sum = sum_;
  data.zero_count = zero_count_;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    cumulative += classic_[i];
    data.buckets.push_back({.upper_bound = bounds_[i], .cumulative = cumulative});
  }
  append_native_buckets(native_, kFirstIndex, data);
  return data;
}

NativeHistogram& HistogramFamily::add(Labels labels, std::int64_t created_ns) {
  const MutexLock lock(mutex_);
  return members_.emplace_back(std::move(labels), bounds_, created_ns).histogram;
}

void HistogramFamily::remove(const NativeHistogram& histogram) {
  const MutexLock lock(mutex_);
  members_.remove_if([&](const Member& member) { return &member.histogram == &histogram; });
}

HistogramFamily::Data HistogramFamily::data() const {
  const MutexLock lock(mutex_);
  Data data{.name = name_, .help = help_, .members = {}};
  for (const Member& member : members_) data.members.emplace_back(member.labels, member.histogram.data());
  return data;
}

}  // namespace memstat
