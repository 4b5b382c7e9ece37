// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/native_histogram.h"

#include "tests/support/test.h"

#include <cmath>

namespace memstat {
namespace {

/// Count by index of every native bucket that is written, including empty ones.
std::map<std::int32_t, std::int64_t> native_buckets(const HistogramData& data) {
  std::map<std::int32_t, std::int64_t> buckets;
  std::int32_t index = 0;
  std::int64_t count = 0;
  std::size_t at = 0;
  for (const HistogramData::Span& span : data.spans) {
    index += span.offset;
    for (std::uint32_t i = 0; i < span.length; ++i) buckets[index++] = count += data.deltas.at(at++);
  }
  EXPECT_EQ(at, data.deltas.size());
  return buckets;
}

double upper_bound(std::int32_t index) { return std::exp2(static_cast<double>(index) / 8); }

TEST(NativeHistogram, BoundsBelongToTheBucketBelowThem) {
  NativeHistogram histogram({0.1, 1}, 0);
  for (const double seconds : {0.1, std::nextafter(0.1, 1), 1.0, std::nextafter(1.0, 2)}) histogram.observe(seconds);
  const HistogramData data = histogram.data();
  EXPECT_EQ(data.buckets[0].cumulative, 1U);
  EXPECT_EQ(data.buckets[1].cumulative, 3U);
  EXPECT_EQ(data.count, 4U);
  const auto native = native_buckets(data);
  EXPECT_EQ(native.at(0), 1) << "1 s is the end of bucket 0";
  EXPECT_EQ(native.at(1), 1) << "a bit more is in bucket 1";
}

TEST(NativeHistogram, EveryObservationIsInTheNativeBucketWhoseBoundsHoldIt) {
  for (int octave = -29; octave <= 16; ++octave) {
    for (int eighth = 0; eighth < 8; ++eighth) {
      const std::int32_t index = octave * 8 + eighth;
      NativeHistogram histogram({}, 0);
      histogram.observe((upper_bound(index - 1) + upper_bound(index)) / 2);
      const auto native = native_buckets(histogram.data());
      ASSERT_EQ(native.size(), 1U);
      EXPECT_EQ(native.begin()->first, index);
    }
  }
}

TEST(NativeHistogram, NativeCountsAddUpToTheCountAndClassicOnesAreCumulative) {
  NativeHistogram histogram({0.0001, 0.001, 0.01, 0.1, 1}, 0);
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> seconds(-6, 3);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double one = i % 100 == 0 ? 0 : seconds(random);
    sum += one;
    histogram.observe(one);
  }
  const HistogramData data = histogram.data();
  std::int64_t native = static_cast<std::int64_t>(data.zero_count);
  for (const auto& [index, count] : native_buckets(data)) {
    EXPECT_GE(count, 0);
    native += count;
  }
  EXPECT_EQ(native, 10'000);
  EXPECT_EQ(data.count, 10'000U);
  EXPECT_EQ(data.zero_count, 100U);
  EXPECT_DOUBLE_EQ(data.sum, sum);
  std::uint64_t before = 0;
  for (const HistogramData::Bucket& bucket : data.buckets) {
    EXPECT_GE(bucket.cumulative, before);
    before = bucket.cumulative;
  }
  EXPECT_LE(before, data.count);
  EXPECT_GT(data.spans.size(), 1U) << "far buckets begin a new span";
  for (std::size_t i = 1; i < data.spans.size(); ++i) EXPECT_GT(data.spans[i].offset, 2) << "small gaps do not";
}

TEST(NativeHistogram, ImpossibleTimesAreHarmless) {
  NativeHistogram histogram({1}, 0);
  for (const double odd : {-1.0, std::numeric_limits<double>::quiet_NaN(), 0.0, 1e-300, 5e-324}) histogram.observe(odd);
  EXPECT_EQ(histogram.data().zero_count, 5U);
  histogram.observe(1e300);
  histogram.observe(std::numeric_limits<double>::infinity());
  const HistogramData data = histogram.data();
  EXPECT_EQ(data.count, 7U);
  EXPECT_EQ(data.buckets[0].cumulative, 5U);
  EXPECT_EQ(native_buckets(data).rbegin()->second, 2) << "in the last bucket";
}

TEST(NativeHistogram, ThreadsThatObserveLoseNothingAndReadersSeeAWhole) {
  NativeHistogram histogram({0.5}, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) histogram.observe(i % 2 == 0 ? 0.25 : 1.0);
    });
  }
  for (int i = 0; i < 200; ++i) {
    const HistogramData data = histogram.data();
    std::int64_t native = 0;
    for (const auto& [index, count] : native_buckets(data)) native += count;
    ASSERT_EQ(static_cast<std::uint64_t>(native), data.count);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.data().count, 6000U);
  EXPECT_EQ(histogram.data().buckets[0].cumulative, 3000U);
}

}  // namespace
}  // namespace memstat
