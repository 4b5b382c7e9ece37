// SPDX-License-Identifier: BSD-2-Clause
// The counters' rules of the delta tracker: skew, reset, first sight, vanish and return, duplicates, CPUs.
#include "daemon/tracking/delta_tracker.h"

#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

constexpr std::uint64_t kMax = ~std::uint64_t{0};

/// Types "x" with one counter, which is spread evenly over their CPUs.
class CounterTest : public testing::Test {
 protected:
  /// The raw values of each "x", newest first.
  void poll(const std::vector<std::uint64_t>& raw, std::uint32_t cpus = 1) {
    StagingBuilder staging(CpuFieldMask(CpuField::kNumAllocs), cpus);
    for (const std::uint64_t value : raw) {
      std::vector<std::uint64_t> by_cpu;
      for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) by_cpu.push_back((value + cpu) / cpus);
      staging.type("x", {{Field::kNumAllocs, value}, {Field::kCount, 1}}, {{CpuField::kNumAllocs, by_cpu}});
    }
    staging.type("other", {{Field::kNumAllocs, 5}});
    types_.poll(staging);
  }
  /// The sum of a figure over the present ones, as on the page.
  template <typename Figure>
  [[nodiscard]] std::uint64_t sum(Figure figure) const {
    std::uint64_t sum = 0;
    for (const MemoryType* type = types_.list.first(); type != nullptr; type = type->next()) {
      if (type->name() == "x" && type->is_present()) sum += figure(*type);
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t total() const {
    return sum([](const MemoryType& type) { return DeltaTracker::accumulated(type, Field::kNumAllocs); });
  }
  [[nodiscard]] std::uint64_t total(std::uint32_t cpu) const {
    return sum([=](const MemoryType& type) { return DeltaTracker::accumulated(type, cpu, CpuField::kNumAllocs); });
  }
  [[nodiscard]] std::uint64_t resets() const {
    return sum([](const MemoryType& type) { return DeltaTracker::tracked(type)->resets; });
  }
  TrackedList types_{{.limit_of = {}, .wants_cpus = [](const MemoryType&) { return true; }}};
};

TEST_F(CounterTest, TotalsFollowTheRawValues) {
  struct Step {
    std::vector<std::uint64_t> raw;  ///< of each "x", newest first; empty: none is there
    std::uint64_t total = 0;
    std::uint64_t resets = 0;
  };
  struct Case {
    const char* why;
    std::vector<Step> steps;
    std::uint32_t cpus = 1;
  };
  const std::vector<Case> cases = {
      {"starts at the first raw value", {{{1'000'000}, 1'000'000}, {{1'000'005}, 1'000'005}, {{1'000'005}, 1'000'005}}},
      {"64 bits", {{{kMax - 10}, kMax - 10}, {{kMax}, kMax}}},
      {"a drop of 64 is skew, after which the higher value counts", {{{1000}, 1000}, {{936}, 1000}, {{1003}, 1003}}},
      {"a drop of 65 is a reset, whose raw value is added", {{{1000}, 1000}, {{935}, 1935, 1}, {{940}, 1940, 1}}},
      {"64 for each CPU", {{{10'000}, 10'000}, {{9488}, 10'000}, {{9487}, 19'487, 1}}, 8},
      {"a thousandth", {{{1'000'000}, 1'000'000}, {{999'000}, 1'000'000}, {{998'999}, 1'998'999, 1}}},
      {"a reset to 0", {{{5000}, 5000}, {{0}, 5000, 1}, {{7}, 5007, 1}}},
      {"a flap", {{{1000}, 1000}, {}, {}, {{1500}, 1500}}},
      {"one more of the name", {{{100}, 100}, {{7, 110}, 117}, {{8, 112}, 120}}},
      {"the younger vanishes", {{{3000, 5000}, 8000}, {{5000}, 8000}, {{5100}, 8100}}},
      {"the older vanishes", {{{3000, 50'000}, 53'000}, {{3000}, 53'000}, {{3001}, 53'001}}},
      {"the larger of what was shown and the kernel's sum", {{{1000}, 1000}, {{0, 0}, 1000}, {{600, 900, 20}, 1520}}},
      {"resets of a vanished one stay counted",
       {{{100'000, 1}, 100'001}, {{1, 1}, 100'002, 1}, {{1}, 100'002, 1}, {{1, 1}, 100'002, 1}}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.why);
    types_.poll(StagingBuilder());
    types_.evict_before(types_.generation);
    for (const Step& step : each.steps) {
      poll(step.raw, each.cpus);
      if (step.raw.empty()) continue;
      EXPECT_EQ(total(), step.total);
      EXPECT_EQ(resets(), step.resets);
    }
  }
}

TEST_F(CounterTest, TheTotalNeverFallsHoweverTypesComeAndGo) {
  std::uint64_t before = 0;
  std::uint64_t cpu_before[2] = {0, 0};
  const std::vector<std::vector<std::uint64_t>> polls{
      {10'000}, {500, 20'000}, {501, 20'001}, {700}, {800, 900, 1000}, {900, 1000}, {}, {1000}, {2000, 1}, {5000, 2}};
  for (const std::vector<std::uint64_t>& raw : polls) {
    poll(raw, 2);
    if (raw.empty()) continue;
    EXPECT_GE(total(), before);
    before = total();
    for (const std::uint32_t cpu : {0U, 1U}) {
      EXPECT_GE(total(cpu), cpu_before[cpu]);
      cpu_before[cpu] = total(cpu);
    }
  }
}

TEST_F(CounterTest, WhenTheNumberOfANameChangesThereIsNoDelta) {
  poll({3000, 50'000});
  poll({3000});  // the older one is gone: ordinal 0 is another type now
  EXPECT_FALSE(types_.tracked("x").has_delta_objects);
  poll({3001});
  EXPECT_TRUE(types_.tracked("x").has_delta_objects);
}

TEST_F(CounterTest, SeveralCountersThatFallAtOnceAreOneReset) {
  types_.poll(StagingBuilder().type("x", {{Field::kNumAllocs, 1000}, {Field::kNumFrees, 1000}, {Field::kXDomain, 1}}));
  types_.poll(StagingBuilder().type("x", {{Field::kNumAllocs, 1}, {Field::kNumFrees, 1}, {Field::kXDomain, 2}}));
  EXPECT_EQ(resets(), 1U);
  EXPECT_EQ(types_.total("x", Field::kNumFrees), 1001U);
  EXPECT_EQ(types_.total("x", Field::kXDomain), 2U);
}

TEST_F(CounterTest, EveryTrackedCounterHasItsOwnSlots) {
  for (std::uint64_t poll_number = 1; poll_number <= 3; ++poll_number) {
    StagingBuilder staging;
    staging.type("x", {{Field::kBytes, 1000}});
    for (std::size_t i = 0; i < kTrackedCounters.size(); ++i) staging.figure(kTrackedCounters[i], (i + 1) * poll_number);
    types_.poll(staging);
  }
  for (std::size_t i = 0; i < kTrackedCounters.size(); ++i) {
    EXPECT_EQ(types_.total("x", kTrackedCounters[i]), 3 * (i + 1)) << to_string(kTrackedCounters[i]);
  }
  EXPECT_EQ(types_.type("x").caller_uint64(kPeakSlot), 1000U);
  EXPECT_EQ(types_.total("x", Field::kBytes), 0U) << "no counter";
}

TEST_F(CounterTest, AfterEvictionATypeStartsAnewAlsoInSlotsThatWereUsed) {
  poll({1000});
  poll({10});
  types_.poll(StagingBuilder());
  types_.evict_before(types_.generation);
  ASSERT_EQ(types_.list.size(), 0U);
  poll({2000});
  EXPECT_EQ(total(), 2000U);
  EXPECT_EQ(resets(), 0U);
  EXPECT_FALSE(types_.tracked("x").has_delta_objects);
  EXPECT_EQ(types_.tracked("x").bytes, 0U);
}

TEST_F(CounterTest, CpusAreFollowedOneByOne) {
  const auto poll_cpus = [this](const std::vector<std::uint64_t>& allocs) {
    types_.poll(StagingBuilder(CpuFieldMask(CpuField::kNumAllocs), static_cast<std::uint32_t>(allocs.size()))
                    .type("x", {{Field::kBytes, 1}}, {{CpuField::kNumAllocs, allocs}}));
  };
  poll_cpus({1000, 1000});
  poll_cpus({1000 - 64, 1000 - 65});
  EXPECT_EQ(total(0), 1000U) << "a CPU has the skew of one";
  EXPECT_EQ(total(1), 1935U);
  poll_cpus({1000, 940, 0, 500});
  EXPECT_EQ(total(1), 1940U);
  EXPECT_EQ(total(2), 0U);
  EXPECT_EQ(total(3), 500U) << "an added CPU starts at its raw value";
  EXPECT_EQ(total(7), 0U);
  EXPECT_EQ(DeltaTracker::accumulated(types_.type("x"), 0, CpuField::kFree), 0U) << "no counter";
}

TEST_F(CounterTest, CpusAreFollowedOnlyOnRequestAndFromThenOn) {
  types_.tracker.reconfigure({});
  poll({100});
  EXPECT_EQ(total(0), 0U);
  types_.tracker.reconfigure({.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name() == "x"; }});
  poll({150});
  EXPECT_EQ(total(0), 150U);
}

TEST_F(CounterTest, WhatAVanishedTypeCountedOnACpuIsKept) {
  poll({3000, 5000}, 2);
  poll({3000}, 2);
  EXPECT_EQ(total(0), 4000U);
  EXPECT_EQ(total(1), 4000U);
  poll({3002}, 2);
  EXPECT_EQ(total(0), 4001U);
}

}  // namespace
}  // namespace memstat
