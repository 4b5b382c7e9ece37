// SPDX-License-Identifier: BSD-2-Clause
// The delta tracker, with figures from a source other than the type's: first sight applies to a figure, not to a type.
#include "daemon/tracking/delta_tracker.h"
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

constexpr FieldMask kRosterFields(Field::kCount);
constexpr FieldMask kContributedFields = kEveryField - kRosterFields;

/// A type "x", or several, whose objects come from the roster and whose other figures come from a contributor.
class ContributedFigures : public testing::Test {
 protected:
  using Figures = std::initializer_list<StagedFigure>;

  void roster(std::uint64_t objects, int types = 1) {
    ++types_.generation;
    StagingBuilder staging;
    for (int i = 0; i < types; ++i) staging.type("x", {{Field::kCount, objects}});
    const CommitScope scope{
        .source = "roster", .allocator = types_.allocator, .is_roster = true, .fields = kRosterFields, .cpu_fields = {}};
    ASSERT_TRUE(types_.list.commit(scope, staging.staging(), types_.generation));
  }
  /// The contributor's values for each "x", newest first.
  void contribute(std::initializer_list<Figures> each) {
    StagingBuilder staging;
    for (const Figures& figures : each) staging.type("x", figures);
    const CommitScope scope{.source = "contributor",
                            .allocator = types_.allocator,
                            .is_roster = false,
                            .fields = kContributedFields,
                            .cpu_fields = {}};
    ASSERT_TRUE(types_.list.commit(scope, staging.staging(), types_.generation));
  }
  void track() {
    types_.now_ns += 10'000'000'000;
    types_.tracker.track(types_.list, types_.live, types_.live_cpu, types_.generation, types_.now_ns);
  }
  /// A poll of both.
  void poll(std::uint64_t objects, Figures figures) {
    roster(objects);
    contribute({figures});
    track();
  }
  /// A poll in which the contributor names no type.
  void poll_without(std::uint64_t objects) {
    roster(objects);
    contribute({});
    track();
  }
  [[nodiscard]] const TrackedType& x() const { return types_.tracked("x"); }
  /// The page's value of a counter: the sum over the present types.
  [[nodiscard]] std::uint64_t shown(Field counter) const {
    std::uint64_t sum = 0;
    for (const MemoryType* type = types_.list.first(); type != nullptr; type = type->next()) {
      if (type->is_present()) sum += DeltaTracker::accumulated(*type, counter);
    }
    return sum;
  }

  TrackedList types_;
};

TEST_F(ContributedFigures, ACounterThatComesUpLaterStartsAtItsRawValueWithoutALimitHit) {
  poll_without(5);
  poll(5, {{Field::kNumAllocs, 1'000'000}, {Field::kFailures, 300}, {Field::kCountLimit, 1000}});
  EXPECT_EQ(shown(Field::kNumAllocs), 1'000'000U);
  EXPECT_EQ(shown(Field::kFailures), 300U);
  EXPECT_EQ(x().limit_hits, 0U);
  EXPECT_FALSE(x().had_failures_or_waits);
  EXPECT_EQ(x().resets, 0U);
  poll(5, {{Field::kNumAllocs, 1'000'001}, {Field::kFailures, 302}, {Field::kCountLimit, 1000}});
  EXPECT_EQ(shown(Field::kNumAllocs), 1'000'001U);
  EXPECT_EQ(x().limit_hits, 2U);
}

TEST_F(ContributedFigures, AnAmountThatAppearsLaterHasNoDeltaOrGrowthAtFirst) {
  poll_without(5);
  poll_without(6);
  poll(7, {{Field::kBytes, 1'000'000}});
  EXPECT_FALSE(x().has_delta_bytes);
  EXPECT_FALSE(x().has_growth);
  EXPECT_TRUE(x().has_delta_objects) << "the roster's figure has been there";
  EXPECT_EQ(x().delta_objects, 1);
  poll(7, {{Field::kBytes, 1'000'100}});
  EXPECT_TRUE(x().has_delta_bytes);
  EXPECT_EQ(x().delta_bytes, 100);
  // Growth begins with the first sample that has the bytes; not every poll takes one.
  for (int i = 0; i < 60; ++i) poll(7, {{Field::kBytes, 1'000'100}});
  EXPECT_TRUE(x().has_growth);
  EXPECT_EQ(x().growth_bytes_per_second, 0);
}

TEST_F(ContributedFigures, ATypeAboveANewLimitDidNotCrossIt) {
  poll_without(50);
  poll(50, {{Field::kCountLimit, 10}});
  EXPECT_EQ(x().limit_hits, 0U);
  poll(5, {{Field::kCountLimit, 10}});
  poll(11, {{Field::kCountLimit, 10}});
  EXPECT_EQ(x().limit_hits, 1U);
}

TEST_F(ContributedFigures, AReturningCounterContinuesFromItsPreviousValue) {
  poll(5, {{Field::kNumAllocs, 1000}});
  poll_without(5);
  poll_without(5);
  poll(5, {{Field::kNumAllocs, 1500}});
  EXPECT_EQ(shown(Field::kNumAllocs), 1500U);
  poll_without(5);
  poll(5, {{Field::kNumAllocs, 7}});
  EXPECT_EQ(shown(Field::kNumAllocs), 1507U) << "a reset that was not seen is one";
  EXPECT_EQ(x().resets, 1U);
}

TEST_F(ContributedFigures, AUsageThatIsMissingInOnePollDoesNotCountAsCrossing) {
  const Figures over = {{Field::kCountLimit, 10}, {Field::kFree, 6}};
  poll(1, {{Field::kCountLimit, 10}, {Field::kFree, 6}});
  poll(5, over);
  EXPECT_EQ(x().limit_hits, 1U);
  poll(5, {{Field::kCountLimit, 10}});
  poll(5, over);
  EXPECT_EQ(x().limit_hits, 1U) << "it was above the limit all the time";
  poll_without(5);
  poll(5, over);
  EXPECT_EQ(x().limit_hits, 1U);
}

TEST_F(ContributedFigures, WhenTheNumberOfTypesChangesBeforeASlowContributorReadsNothingIsCountedTwice) {
  roster(1, 2);
  contribute({{{Field::kNumAllocs, 50'000}}, {{Field::kNumAllocs, 1000}}});
  track();
  EXPECT_EQ(shown(Field::kNumAllocs), 51'000U);
  roster(1, 1);  // the older one is gone, which the contributor has not reported yet
  track();
  EXPECT_EQ(shown(Field::kNumAllocs), 51'000U);
  roster(1, 1);
  contribute({{{Field::kNumAllocs, 50'001}}});
  track();
  EXPECT_EQ(shown(Field::kNumAllocs), 51'000U) << "it is unknown which counter it continues, so nothing is added";
  roster(1, 1);
  contribute({{{Field::kNumAllocs, 50'003}}});
  track();
  EXPECT_EQ(shown(Field::kNumAllocs), 51'002U);
  EXPECT_EQ(x().resets, 0U);
}

TEST_F(ContributedFigures, WhatAVanishedTypeCountedIsHandedOverOnce) {
  const auto poll_of = [this](std::initializer_list<Figures> each) {
    roster(1, static_cast<int>(each.size()));
    contribute(each);
    track();
  };
  poll_of({{{Field::kNumAllocs, 500}}, {{Field::kNumAllocs, 300}}});
  for (int i = 0; i < 3; ++i) {
    poll_of({{{Field::kNumAllocs, 300}}});
    EXPECT_EQ(shown(Field::kNumAllocs), 800U);
    poll_of({{{Field::kNumAllocs, 0}}, {{Field::kNumAllocs, 300}}});
    EXPECT_EQ(shown(Field::kNumAllocs), 800U);
  }
}

TEST_F(ContributedFigures, TypesThatLackACounterWhileTheirNumberChangesKeepWhatTheyCounted) {
  roster(1, 2);
  contribute({{{Field::kNumAllocs, 500}}, {{Field::kNumAllocs, 1000}}});
  track();
  roster(1, 3);
  contribute({});
  track();
  roster(1, 3);
  contribute({{{Field::kNumAllocs, 0}}, {{Field::kNumAllocs, 500}}, {{Field::kNumAllocs, 1000}}});
  track();
  EXPECT_EQ(shown(Field::kNumAllocs), 1500U);
}

}  // namespace
}  // namespace memstat
