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

TEST_F(GrowthTest, AStoppedClockGivesNone) {
  poll(1000, 0, seconds(0));
  poll(2000, 0, seconds(0));
  EXPECT_FALSE(x().has_growth);
}

/// A configured limit of 100 objects and 1000 B.
class LimitTest : public testing::Test {
 protected:
  static DeltaTracker::Options options(std::uint64_t objects, std::uint64_t bytes) {
    return {.limit_of = [=](const MemoryType&) { return ConfiguredLimit{.objects = objects, .bytes = bytes}; },
            .wants_cpus = {}};
  }
  /// The hits so far.
  std::uint64_t poll(const std::vector<StagedFigure>& figures) {
    StagingBuilder staging;
    staging.type("x");
    for (const auto& [field, value] : figures) staging.figure(field, value);
    types_.poll(staging);
    return types_.tracked("x").limit_hits;
  }

  TrackedList types_{options(100, 1000)};
};

TEST_F(LimitTest, HitsAreFailuresAndSleepsOrElseCrossings) {
  using enum Field;
  struct Step {
    std::vector<StagedFigure> figures;
    std::uint64_t hits;
  };
  const std::pair<const char*, std::vector<Step>> cases[] = {
      {"those before first sight are unknown",
       {{{{kCountLimit, 10}, {kFailures, 100}, {kSleeps, 50}}, 0},
        {{{kCountLimit, 10}, {kFailures, 103}, {kSleeps, 50}}, 3},
        {{{kCountLimit, 10}, {kFailures, 104}, {kSleeps, 52}}, 6}}},
      {"where the kernel counts failures, crossings do not count",
       {{{{kFailures, 1}, {kCount, 10}}, 0}, {{{kFailures, 1}, {kCount, 1000}}, 0}}},
      {"each upward crossing",
       {{{{kCount, 99}}, 0}, {{{kCount, 100}}, 1}, {{{kCount, 150}}, 1}, {{{kCount, 99}}, 1}, {{{kCount, 100}}, 2}}},
      {"over it at first is not a crossing",
       {{{{kCount, 500}}, 0}, {{{kCount, 500}}, 0}, {{{kCount, 5}}, 0}, {{{kCount, 500}}, 1}}},
      {"bytes", {{{{kBytes, 999}}, 0}, {{{kBytes, 1000}}, 1}}},
      {"cached objects", {{{{kCount, 60}, {kFree, 39}}, 0}, {{{kCount, 60}, {kFree, 40}}, 1}}},
      {"the kernel's limit", {{{{kCount, 5}, {kCountLimit, 10}}, 0}, {{{kCount, 10}, {kCountLimit, 10}}, 1}}},
  };
  for (const auto& [why, steps] : cases) {
    SCOPED_TRACE(why);
    types_.poll(StagingBuilder());
    types_.evict_before(types_.generation);
    for (const Step& step : steps) EXPECT_EQ(poll(step.figures), step.hits);
  }
}

TEST_F(LimitTest, WithoutALimitFailuresAreNotHits) {
  types_.tracker.reconfigure({});
  poll({{Field::kFailures, 1}});
  EXPECT_EQ(poll({{Field::kFailures, 9}}), 0U);
}

TEST_F(LimitTest, ANewConfigurationTakesEffectAndKeepsWhatWasCounted) {
  poll({{Field::kCount, 50}});
  EXPECT_EQ(poll({{Field::kCount, 120}}), 1U);
  types_.tracker.reconfigure(options(200, 0));
  EXPECT_EQ(poll({{Field::kCount, 199}}), 1U);
  EXPECT_EQ(poll({{Field::kCount, 200}}), 2U);
  types_.tracker.reconfigure({});
  poll({{Field::kCount, 100}});
  EXPECT_EQ(poll({{Field::kCount, 10'000}}), 2U);
}

}  // namespace
}  // namespace memstat
