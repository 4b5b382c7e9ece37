// SPDX-License-Identifier: BSD-2-Clause
// What the delta tracker computes from gauges: deltas, peak, growth; and the limits.
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

using std::chrono::seconds;

class GaugeTest : public testing::Test {
 protected:
  explicit GaugeTest(DeltaTracker::Options options = {}) : types_(std::move(options)) {}
  void poll(std::uint64_t bytes, std::uint64_t objects = 0, seconds after = seconds(10)) {
    types_.poll(StagingBuilder().type("x", {{Field::kBytes, bytes}, {Field::kCount, objects}}), after);
  }
  [[nodiscard]] const TrackedType& x() const { return types_.tracked("x"); }

  TrackedList types_;
};

TEST_F(GaugeTest, FirstSightGivesNoDelta) {
  poll(1000, 10);
  EXPECT_FALSE(x().has_delta_bytes || x().has_delta_objects);
  EXPECT_EQ(x().bytes, 1000U);
  EXPECT_EQ(x().objects, 10U);
  poll(900, 13);
  EXPECT_TRUE(x().has_delta_bytes && x().has_delta_objects);
  EXPECT_EQ(x().delta_bytes, -100);
  EXPECT_EQ(x().delta_objects, 3);
}

TEST_F(GaugeTest, AReturningTypesDeltaIsFromWhenItWasLastSeen) {
  poll(1000);
  types_.poll(StagingBuilder());
  types_.poll(StagingBuilder());
  poll(1500);
  EXPECT_TRUE(x().has_delta_bytes && x().has_delta_objects);
  EXPECT_EQ(x().delta_bytes, 500);
}

TEST_F(GaugeTest, NegativeValuesCountAsZero) {
  poll(static_cast<std::uint64_t>(-5), static_cast<std::uint64_t>(-1));
  EXPECT_EQ(x().bytes, 0U);
  EXPECT_EQ(x().objects, 0U);
  poll(100, 1);
  EXPECT_EQ(x().delta_bytes, 100);
  EXPECT_EQ(x().delta_objects, 1);
  poll(std::uint64_t{1} << 63U, 1);
  EXPECT_EQ(x().bytes, 0U);
  EXPECT_EQ(x().delta_bytes, -100);
}

TEST_F(GaugeTest, ThePeakIsTheMostEverSeen) {
  poll(10);
  poll(500);
  poll(20);
  EXPECT_EQ(types_.type("x").caller_uint64(kPeakSlot), 500U);
  types_.poll(StagingBuilder());
  poll(30);
  EXPECT_EQ(types_.type("x").caller_uint64(kPeakSlot), 500U);
  poll(static_cast<std::uint64_t>(-7));
  EXPECT_EQ(types_.type("x").caller_uint64(kPeakSlot), 500U) << "a negative value is not a peak";
}

/// Window 150 s, so a sample each 10 s.
class GrowthTest : public GaugeTest {
 protected:
  GrowthTest() : GaugeTest({.growth_window_ns = 150'000'000'000, .limit_of = {}, .wants_cpus = {}}) {}
};

TEST_F(GrowthTest, NeedsTwoPolls) {
  poll(1000);
  EXPECT_FALSE(x().has_growth);
  poll(1200);
  ASSERT_TRUE(x().has_growth);
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 20);
}

TEST_F(GrowthTest, BeforeTheWindowIsFullItIsSinceFirstSight) {
  poll(1000);
  poll(5000);
  poll(1000);
  poll(1300);
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 10);
}

TEST_F(GrowthTest, OverAFullWindowTheBeginningIsForgotten) {
  poll(1'000'000);  // at 0 s
  for (int i = 1; i <= 15; ++i) poll(0);
  EXPECT_NEAR(x().growth_bytes_per_second, -1'000'000.0 / 150, 1e-9);
  poll(0);
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 0) << "160 s after the first poll";
  for (int i = 1; i <= 100; ++i) poll(static_cast<std::uint64_t>(i) * 70);
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 7);
}

TEST_F(GrowthTest, BetweenSamplesItIsAsOfTheLastPoll) {
  poll(0);
  poll(100, 0, seconds(1));
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 100);
  poll(100, 0, seconds(1));
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 50);
}

TEST_F(GrowthTest, PollsFurtherApartThanSamplesDoNotWidenTheWindow) {
  poll(1'000'000);
  poll(0, 0, seconds(100));
  poll(1500, 0, seconds(150));
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 10) << "the drop was 250 s ago";
}

TEST_F(GrowthTest, ATypeThatMissedASampleStartsOver) {
  poll(1'000'000);
  poll(1'000'000);
  types_.poll(StagingBuilder());
  poll(0);
  EXPECT_FALSE(x().has_growth);
  poll(50);
  ASSERT_TRUE(x().has_growth);
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 5);
}

TEST_F(GrowthTest, AFailedSourceStartsItOver) {
  poll(1'000'000);
  poll(1'000'000);
  types_.failed_poll();
  poll(0);
  EXPECT_FALSE(x().has_growth);
}

TEST_F(GrowthTest, ATypeThatAppearsLaterIsMeasuredFromThen) {
  StagingBuilder only_y;
  only_y.type("y", {{Field::kBytes, 7}});
  types_.poll(only_y);
  types_.poll(only_y, seconds(5));
  poll(1000, 0, seconds(2));  // between two samples
  EXPECT_FALSE(x().has_growth);
  poll(1000, 0, seconds(5));  // the first sample of it
  poll(1200, 0, seconds(10));
  ASSERT_TRUE(x().has_growth);
  EXPECT_DOUBLE_EQ(x().growth_bytes_per_second, 20);
}

TEST_F(GrowthTest, AStoppedClockGivesNone) {
  poll(1000, 0, seconds(0));
  poll(2000, 0, seconds(0));
  EXPECT_FALSE(x().has_growth);
}

/// A configured limit of 100 objects and 1000 B for types named "x".
class LimitTest : public testing::Test {
 protected:
  static DeltaTracker::Options options(std::uint64_t objects, std::uint64_t bytes) {
    return {.limit_of =
                [=](const MemoryType& type) {
                  return type.name() == "x" ? ConfiguredLimit{.objects = objects, .bytes = bytes} : ConfiguredLimit{};
                },
            .wants_cpus = {}};
  }
  void poll(std::initializer_list<StagedFigure> figures, std::string_view name = "x") {
    types_.poll(StagingBuilder().type(name, figures));
  }
  [[nodiscard]] std::uint64_t hits(std::string_view name = "x") const { return types_.tracked(name).limit_hits; }

  TrackedList types_{options(100, 1000)};
};

TEST_F(LimitTest, HitsAreTheIncreaseOfSleepsAndFailures) {
  poll({{Field::kCountLimit, 10}, {Field::kFailures, 100}, {Field::kSleeps, 50}});
  EXPECT_EQ(hits(), 0U) << "hits before first sight are unknown";
  poll({{Field::kCountLimit, 10}, {Field::kFailures, 103}, {Field::kSleeps, 50}});
  EXPECT_EQ(hits(), 3U);
  poll({{Field::kCountLimit, 10}, {Field::kFailures, 104}, {Field::kSleeps, 52}});
  EXPECT_EQ(hits(), 6U);
}

TEST_F(LimitTest, WithoutALimitFailuresAreNotHits) {
  poll({{Field::kFailures, 1}}, "unlimited");
  poll({{Field::kFailures, 9}}, "unlimited");
  EXPECT_EQ(hits("unlimited"), 0U);
}

TEST_F(LimitTest, WhereTheKernelCountsFailuresCrossingsAreNotCounted) {
  poll({{Field::kFailures, 1}, {Field::kCount, 10}});
  poll({{Field::kFailures, 1}, {Field::kCount, 1000}});
  EXPECT_EQ(hits(), 0U);
}

TEST_F(LimitTest, EachUpwardCrossingOfAConfiguredLimitIsOne) {
  poll({{Field::kCount, 99}});
  EXPECT_EQ(hits(), 0U);
  poll({{Field::kCount, 100}});
  EXPECT_EQ(hits(), 1U);
  poll({{Field::kCount, 150}});
  EXPECT_EQ(hits(), 1U) << "still over";
  poll({{Field::kCount, 99}});
  EXPECT_EQ(hits(), 1U);
  poll({{Field::kCount, 100}});
  EXPECT_EQ(hits(), 2U);
}

TEST_F(LimitTest, BytesCrossToo) {
  poll({{Field::kBytes, 999}});
  poll({{Field::kBytes, 1000}});
  EXPECT_EQ(hits(), 1U);
}

TEST_F(LimitTest, CachedObjectsCountAgainstTheLimit) {
  poll({{Field::kCount, 60}, {Field::kFree, 39}});
  poll({{Field::kCount, 60}, {Field::kFree, 40}});
  EXPECT_EQ(hits(), 1U);
}

TEST_F(LimitTest, OverTheLimitAtFirstIsNotACrossing) {
  poll({{Field::kCount, 500}});
  EXPECT_EQ(hits(), 0U);
  poll({{Field::kCount, 500}});
  EXPECT_EQ(hits(), 0U);
  poll({{Field::kCount, 5}});
  poll({{Field::kCount, 500}});
  EXPECT_EQ(hits(), 1U);
}

TEST_F(LimitTest, TheKernelsLimitBeatsTheConfiguredOne) {
  poll({{Field::kCount, 5}, {Field::kCountLimit, 10}});
  poll({{Field::kCount, 10}, {Field::kCountLimit, 10}});
  EXPECT_EQ(hits(), 1U);
}

TEST_F(LimitTest, ANewConfigurationTakesEffectAndKeepsWhatWasCounted) {
  poll({{Field::kCount, 50}});
  poll({{Field::kCount, 120}});
  EXPECT_EQ(hits(), 1U);
  types_.tracker.reconfigure(options(200, 0));
  poll({{Field::kCount, 199}});
  EXPECT_EQ(hits(), 1U);
  EXPECT_EQ(types_.tracked("x").limit.objects, 200U);
  poll({{Field::kCount, 200}});
  EXPECT_EQ(hits(), 2U);
  types_.tracker.reconfigure({});
  poll({{Field::kCount, 100}});
  poll({{Field::kCount, 10'000}});
  EXPECT_EQ(hits(), 2U);
}

TEST_F(LimitTest, TheConfigurationIsConsultedOncePerType) {
  int asked = 0;
  const auto counting = [&asked](const MemoryType&) {
    ++asked;
    return ConfiguredLimit{};
  };
  types_.tracker.reconfigure({.limit_of = counting, .wants_cpus = {}});
  for (int i = 0; i < 5; ++i) poll({{Field::kCount, 1}});
  EXPECT_EQ(asked, 1);
  types_.tracker.reconfigure({.limit_of = counting, .wants_cpus = {}});
  poll({{Field::kCount, 1}});
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace memstat
