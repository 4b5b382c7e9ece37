// SPDX-License-Identifier: BSD-2-Clause
// The counters' rules of the delta tracker: skew, reset, first sight, vanish and return, duplicates, CPUs.
#include "daemon/tracking/delta_tracker.h"

#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

constexpr std::uint64_t kMax = ~std::uint64_t{0};

/// One type "x" with one counter, on N CPUs.
class CounterTest : public testing::Test {
 protected:
  void poll(std::uint64_t allocs, std::uint32_t cpus = 1) {
    types_.poll(
        StagingBuilder(CpuFieldMask(CpuField::kFree), cpus).type("x", {{Field::kNumAllocs, allocs}, {Field::kCount, 1}}));
  }
  [[nodiscard]] std::uint64_t total() const { return types_.total("x", Field::kNumAllocs); }
  [[nodiscard]] std::uint64_t resets() const { return types_.tracked("x").resets; }

  TrackedList types_;
};

TEST_F(CounterTest, TheTotalStartsAtTheFirstRawValueAndAddsDifferences) {
  poll(1'000'000);
  EXPECT_EQ(total(), 1'000'000U);
  poll(1'000'005);
  poll(1'000'005);
  poll(1'000'010);
  EXPECT_EQ(total(), 1'000'010U);
  EXPECT_EQ(resets(), 0U);
}

TEST_F(CounterTest, ADropOf64IsSkewAndOf65IsAReset) {
  poll(1000);
  poll(1000 - 64);
  EXPECT_EQ(total(), 1000U);
  EXPECT_EQ(resets(), 0U);
  poll(1000 - 65);
  EXPECT_EQ(total(), 1000U + 935U) << "the new raw value is added";
  EXPECT_EQ(resets(), 1U);
  poll(940);
  EXPECT_EQ(total(), 1935U + 5U);
}

TEST_F(CounterTest, AfterSkewTheHigherValueStaysTheOneToCompareWith) {
  poll(1000);
  poll(950);
  poll(990);
  EXPECT_EQ(total(), 1000U) << "nothing is counted twice";
  poll(1003);
  EXPECT_EQ(total(), 1003U);
}

TEST_F(CounterTest, SkewMayBe64TimesTheCpus) {
  poll(10'000, 8);
  poll(10'000 - 64 * 8, 8);
  EXPECT_EQ(resets(), 0U);
  poll(10'000 - 64 * 8 - 1, 8);
  EXPECT_EQ(resets(), 1U);
}

TEST_F(CounterTest, SkewMayBeAThousandthOfALargeValue) {
  poll(1'000'000);
  poll(999'000);
  EXPECT_EQ(resets(), 0U);
  EXPECT_EQ(total(), 1'000'000U);
  poll(998'999);
  EXPECT_EQ(resets(), 1U);
  EXPECT_EQ(total(), 1'998'999U);
}

TEST_F(CounterTest, AResetToZeroIsCountedAndLosesNothing) {
  poll(5000);
  poll(0);
  EXPECT_EQ(resets(), 1U);
  EXPECT_EQ(total(), 5000U);
  poll(7);
  EXPECT_EQ(total(), 5007U);
  EXPECT_EQ(resets(), 1U);
}

TEST_F(CounterTest, ValuesUpTo64BitsAreFollowed) {
  poll(kMax - 10);
  poll(kMax);
  EXPECT_EQ(total(), kMax);
  EXPECT_EQ(resets(), 0U);
}

TEST_F(CounterTest, SeveralCountersThatFallAtOnceAreOneReset) {
  StagingBuilder high;
  high.type("x", {{Field::kNumAllocs, 1000}, {Field::kNumFrees, 1000}, {Field::kXDomain, 1}});
  StagingBuilder low;
  low.type("x", {{Field::kNumAllocs, 1}, {Field::kNumFrees, 1}, {Field::kXDomain, 2}});
  types_.poll(high);
  types_.poll(low);
  EXPECT_EQ(resets(), 1U);
  EXPECT_EQ(types_.total("x", Field::kNumFrees), 1001U);
  EXPECT_EQ(types_.total("x", Field::kXDomain), 2U);
}

TEST_F(CounterTest, EveryTrackedCounterHasItsOwnSlots) {
  for (std::uint64_t poll_number = 1; poll_number <= 3; ++poll_number) {
    types_.poll(StagingBuilder().type("x", {{Field::kNumAllocs, 1 * poll_number},
                                            {Field::kNumFrees, 2 * poll_number},
                                            {Field::kMemAlloced, 3 * poll_number},
                                            {Field::kMemFreed, 4 * poll_number},
                                            {Field::kFailures, 5 * poll_number},
                                            {Field::kSleeps, 6 * poll_number},
                                            {Field::kXDomain, 7 * poll_number},
                                            {Field::kBytes, 1000}}));
  }
  for (std::size_t i = 0; i < kTrackedCounters.size(); ++i) {
    EXPECT_EQ(types_.total("x", kTrackedCounters[i]), 3 * (i + 1)) << to_string(kTrackedCounters[i]);
  }
  EXPECT_EQ(types_.type("x").caller_uint64(kPeakSlot), 1000U);
  EXPECT_EQ(types_.total("x", Field::kBytes), 0U) << "no counter";
}

TEST_F(CounterTest, AFlapLosesNothing) {
  poll(1000);
  for (int i = 0; i < 3; ++i) types_.poll(StagingBuilder());
  EXPECT_EQ(total(), 1000U);
  poll(1500);
  EXPECT_EQ(total(), 1500U);
  EXPECT_EQ(resets(), 0U);
}

TEST_F(CounterTest, AfterEvictionATypeStartsAnewAlsoInSlotsThatWereUsed) {
  poll(1000);
  poll(10);
  EXPECT_EQ(total(), 1010U);
  EXPECT_EQ(resets(), 1U);
  types_.poll(StagingBuilder());
  types_.evict_before(types_.generation);
  ASSERT_EQ(types_.list.size(), 0U);
  poll(2000);
  EXPECT_EQ(total(), 2000U);
  EXPECT_EQ(resets(), 0U);
  EXPECT_FALSE(types_.tracked("x").has_delta_objects);
  EXPECT_EQ(types_.tracked("x").bytes, 0U);
}

TEST_F(CounterTest, AFailedSourceLeavesEverythingAndNothingIsCountedTwice) {
  poll(1000);
  types_.failed_poll();
  EXPECT_EQ(total(), 1000U);
  poll(1100);
  EXPECT_EQ(total(), 1100U);
}

/// Types "x" whose members have these raw values, newest first.
class DuplicatesTest : public testing::Test {
 protected:
  void poll(const std::vector<std::uint64_t>& raw) {
    StagingBuilder staging(CpuFieldMask(CpuField::kNumAllocs), 2);
    for (const std::uint64_t value : raw) {
      staging.type("x", {{Field::kNumAllocs, value}, {Field::kCount, 1}},
                   {{CpuField::kNumAllocs, {value / 2, value - value / 2}}});
    }
    staging.type("other", {{Field::kNumAllocs, 5}});
    types_.poll(staging);
  }
  /// The page's value: the sum over the present ones.
  [[nodiscard]] std::uint64_t shown() const {
    std::uint64_t sum = 0;
    for (const MemoryType* type = types_.list.first(); type != nullptr; type = type->next()) {
      if (type->name() == "x" && type->is_present()) sum += DeltaTracker::accumulated(*type, Field::kNumAllocs);
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t shown(std::uint32_t cpu) const {
    std::uint64_t sum = 0;
    for (const MemoryType* type = types_.list.first(); type != nullptr; type = type->next()) {
      if (type->name() == "x" && type->is_present()) sum += DeltaTracker::accumulated(*type, cpu, CpuField::kNumAllocs);
    }
    return sum;
  }

  TrackedList types_{{.limit_of = {}, .wants_cpus = [](const MemoryType&) { return true; }}};
};

TEST_F(DuplicatesTest, OneMoreAddsWhatItHasCounted) {
  poll({100});
  poll({7, 110});
  EXPECT_EQ(shown(), 117U);
  poll({8, 112});
  EXPECT_EQ(shown(), 120U);
  EXPECT_EQ(types_.tracked("x").resets, 0U);
}

TEST_F(DuplicatesTest, WhatAVanishedOneCountedIsKeptWhicheverItWas) {
  poll({3000, 5000});
  poll({5000});  // the younger one is gone
  EXPECT_EQ(shown(), 8000U);
  poll({5100});
  EXPECT_EQ(shown(), 8100U);
  EXPECT_EQ(types_.tracked("x").resets, 0U);
}

TEST_F(DuplicatesTest, TheYoungerTakesTheOldestsEntryWithoutAReset) {
  poll({3000, 50'000});
  poll({3000});  // the older one is gone: ordinal 0 is another type now
  EXPECT_EQ(shown(), 53'000U);
  EXPECT_EQ(types_.tracked("x").resets, 0U);
  EXPECT_FALSE(types_.tracked("x").has_delta_objects);
  poll({3001});
  EXPECT_EQ(shown(), 53'001U);
  EXPECT_TRUE(types_.tracked("x").has_delta_objects);
}

TEST_F(DuplicatesTest, TheTotalIsTheLargerOfWhatWasShownAndTheKernelsSum) {
  poll({1000});
  poll({0, 0});
  EXPECT_EQ(shown(), 1000U);
  poll({600, 900, 20});
  EXPECT_EQ(shown(), 1520U);
}

TEST_F(DuplicatesTest, TheTotalNeverFallsHoweverTheyComeAndGo) {
  std::uint64_t before = 0;
  std::uint64_t cpu_before[2] = {0, 0};
  const std::vector<std::vector<std::uint64_t>> polls{
      {10'000}, {500, 20'000}, {501, 20'001}, {700}, {800, 900, 1000}, {900, 1000}, {}, {1000}, {2000, 1}, {5000, 2}};
  for (const std::vector<std::uint64_t>& raw : polls) {
    poll(raw);
    if (raw.empty()) continue;
    EXPECT_GE(shown(), before);
    before = shown();
    for (const std::uint32_t cpu : {0U, 1U}) {
      EXPECT_GE(shown(cpu), cpu_before[cpu]);
      cpu_before[cpu] = shown(cpu);
    }
  }
}

TEST_F(DuplicatesTest, WhatAVanishedOneCountedOnACpuIsKept) {
  poll({3000, 5000});
  EXPECT_EQ(shown(0), 4000U);
  poll({3000});
  EXPECT_EQ(shown(0), 4000U);
  EXPECT_EQ(shown(1), 4000U);
  poll({3002});
  EXPECT_EQ(shown(0), 4001U);
}

TEST_F(DuplicatesTest, ResetsOfAVanishedOneStayCounted) {
  poll({100'000, 1});
  poll({1, 1});  // the younger one fell
  const auto resets = [&] {
    return types_.tracked("x", 0).resets + (types_.type("x", 1).is_present() ? types_.tracked("x", 1).resets : 0);
  };
  ASSERT_EQ(resets(), 1U);
  poll({1});
  EXPECT_EQ(resets(), 1U);
  poll({1, 1});
  EXPECT_EQ(resets(), 1U) << "and are not counted twice";
}

/// Type "x" with numallocs of N CPUs.
class CpuCounterTest : public testing::Test {
 protected:
  void poll(const std::vector<std::uint64_t>& allocs) {
    types_.poll(
        StagingBuilder(CpuFieldMask(CpuField::kNumAllocs, CpuField::kNumFrees), static_cast<std::uint32_t>(allocs.size()))
            .type("x", {{Field::kBytes, 1}}, {{CpuField::kNumAllocs, allocs}}));
  }
  [[nodiscard]] std::uint64_t total(std::uint32_t cpu) const {
    return DeltaTracker::accumulated(types_.type("x"), cpu, CpuField::kNumAllocs);
  }

  TrackedList types_{{.limit_of = {}, .wants_cpus = [](const MemoryType&) { return true; }}};
};

TEST_F(CpuCounterTest, StartsAtTheRawValueAndAddsDifferences) {
  poll({100, 200});
  EXPECT_EQ(total(0), 100U);
  EXPECT_EQ(total(1), 200U);
  poll({101, 210});
  EXPECT_EQ(total(0), 101U);
  EXPECT_EQ(total(1), 210U);
  EXPECT_EQ(DeltaTracker::accumulated(types_.type("x"), 0, CpuField::kNumFrees), 0U);
  EXPECT_EQ(DeltaTracker::accumulated(types_.type("x"), 0, CpuField::kFree), 0U) << "no counter";
  EXPECT_EQ(total(7), 0U);
}

TEST_F(CpuCounterTest, OneCpuHasTheSkewOfOne) {
  poll({1000, 1000});
  poll({1000 - 64, 1000 - 65});
  EXPECT_EQ(total(0), 1000U);
  EXPECT_EQ(total(1), 1935U);
}

TEST_F(CpuCounterTest, ACpuThatIsAddedStartsAtItsRawValue) {
  poll({1, 2});
  poll({1, 2, 0, 500});
  EXPECT_EQ(total(2), 0U);
  EXPECT_EQ(total(3), 500U);
  poll({1, 2, 4, 501});
  EXPECT_EQ(total(2), 4U);
  EXPECT_EQ(total(3), 501U);
}

TEST_F(CpuCounterTest, IsFollowedOnlyOnRequestAndFromThenOn) {
  types_.tracker.reconfigure({});
  poll({100});
  EXPECT_EQ(total(0), 0U);
  types_.tracker.reconfigure({.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name() == "x"; }});
  poll({150});
  EXPECT_EQ(total(0), 150U);
}

}  // namespace
}  // namespace memstat
