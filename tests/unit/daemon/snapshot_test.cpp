// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot.h"

#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

class SnapshotTest : public testing::Test {
 protected:
  /// The figure's bits of the row that `label` begins, nothing when there is no such row or figure.
  [[nodiscard]] std::optional<std::uint64_t> value(Figure figure, std::string_view type,
                                                   std::string_view allocator = "uma") const {
    const std::string label = "{allocator=\"" + std::string(allocator) + "\",type=\"" + std::string(type) + "\"";
    for (std::size_t row = 0; row < types_.snapshot.row_count(); ++row) {
      if (types_.snapshot.label(row) != label) continue;
      if (!types_.snapshot.has(figure, row)) return std::nullopt;
      return types_.snapshot.value(figure, row);
    }
    return std::nullopt;
  }
  [[nodiscard]] double growth(std::string_view type) const { return std::bit_cast<double>(*value(Figure::kGrowth, type)); }

  TrackedList types_;
};

TEST_F(SnapshotTest, HoldsEveryFigureOfAType) {
  for (const std::uint64_t more : {0U, 1U}) {
    StagingBuilder staging;
    staging.type("a", {{Field::kBytes, 100 + more},
                       {Field::kCount, 101 + 2 * more},
                       {Field::kHeldBytes, 102},
                       {Field::kFree, 103},
                       {Field::kZoneFree, 104},
                       {Field::kKegFree, 105},
                       {Field::kNumAllocs, 106 + more},
                       {Field::kNumFrees, 107},
                       {Field::kMemAlloced, 108},
                       {Field::kMemFreed, 109},
                       {Field::kFailures, 110 + more},
                       {Field::kSleeps, 111},
                       {Field::kSleepers, 112},
                       {Field::kXDomain, 113},
                       {Field::kCountLimit, 114},
                       {Field::kBytesLimit, 115},
                       {Field::kSize, 116},
                       {Field::kRSize, 117},
                       {Field::kSizeMask, 118}});
    types_.poll(staging);
  }
  EXPECT_EQ(value(Figure::kBytes, "a"), 101U);
  EXPECT_EQ(value(Figure::kObjects, "a"), 103U);
  EXPECT_EQ(value(Figure::kHeldBytes, "a"), 102U);
  EXPECT_EQ(value(Figure::kFreeObjects, "a"), 103U);
  EXPECT_EQ(value(Figure::kZoneFreeObjects, "a"), 104U);
  EXPECT_EQ(value(Figure::kKegFreeObjects, "a"), 105U);
  EXPECT_EQ(value(Figure::kAllocations, "a"), 107U);
  EXPECT_EQ(value(Figure::kFrees, "a"), 107U);
  EXPECT_EQ(value(Figure::kAllocatedBytes, "a"), 108U);
  EXPECT_EQ(value(Figure::kFreedBytes, "a"), 109U);
  EXPECT_EQ(value(Figure::kFailures, "a"), 111U);
  EXPECT_EQ(value(Figure::kSleeps, "a"), 111U);
  EXPECT_EQ(value(Figure::kSleepers, "a"), 112U);
  EXPECT_EQ(value(Figure::kCrossDomainFrees, "a"), 113U);
  EXPECT_EQ(value(Figure::kLimitObjects, "a"), 114U);
  EXPECT_EQ(value(Figure::kLimitBytes, "a"), 115U);
  EXPECT_EQ(value(Figure::kObjectSize, "a"), 116U);
  EXPECT_EQ(value(Figure::kFootprint, "a"), 117U);
  EXPECT_EQ(value(Figure::kSizeClasses, "a"), 118U);
  EXPECT_EQ(value(Figure::kDeltaBytes, "a"), 1U);
  EXPECT_EQ(value(Figure::kDeltaObjects, "a"), 2U);
  EXPECT_EQ(value(Figure::kPeakBytes, "a"), 101U);
  EXPECT_EQ(value(Figure::kLimitHits, "a"), 1U);
  EXPECT_EQ(value(Figure::kResets, "a"), 0U);
  EXPECT_DOUBLE_EQ(growth("a"), 0.1);
}

TEST_F(SnapshotTest, AFieldThatTheKernelDoesNotHaveIsNotThere) {
  StagingBuilder staging;
  staging.type("a", {{Field::kCount, 0}});
  types_.poll(staging);
  EXPECT_EQ(value(Figure::kObjects, "a"), 0U) << "0 means 0";
  for (std::size_t figure = 0; figure < kFigureCount; ++figure) {
    if (figure == static_cast<std::size_t>(Figure::kObjects)) continue;
    EXPECT_FALSE(types_.snapshot.has(static_cast<Figure>(figure), 0)) << figure;
  }
}

TEST_F(SnapshotTest, DeltasAndGrowthAreAbsentAtFirstSight) {
  StagingBuilder staging;
  staging.type("a", {{Field::kBytes, 1}, {Field::kCount, 1}});
  types_.poll(staging);
  EXPECT_FALSE(value(Figure::kDeltaBytes, "a"));
  EXPECT_FALSE(value(Figure::kDeltaObjects, "a"));
  EXPECT_FALSE(value(Figure::kGrowth, "a"));
  types_.poll(staging);
  EXPECT_EQ(value(Figure::kDeltaBytes, "a"), 0U);
  EXPECT_EQ(value(Figure::kDeltaObjects, "a"), 0U);
  EXPECT_EQ(growth("a"), 0);
}

TEST_F(SnapshotTest, DuplicatesAreOneRowOfSums) {
  for (const std::uint64_t more : {0U, 10U}) {
    StagingBuilder staging;
    staging.type("a", {{Field::kBytes, 1 + more}, {Field::kNumAllocs, 10}, {Field::kSizeMask, 0b001}})
        .type("b", {{Field::kBytes, 1000}})
        .type("a", {{Field::kBytes, 2 + 2 * more}, {Field::kNumAllocs, 20}, {Field::kSizeMask, 0b101}});
    types_.poll(staging);
  }
  EXPECT_EQ(types_.snapshot.row_count(), 2U);
  EXPECT_EQ(value(Figure::kBytes, "a"), 33U);
  EXPECT_EQ(value(Figure::kDeltaBytes, "a"), 30U);
  EXPECT_EQ(value(Figure::kAllocations, "a"), 30U);
  EXPECT_EQ(value(Figure::kSizeClasses, "a"), 0b101U) << "the union";
  EXPECT_DOUBLE_EQ(growth("a"), 3.0);
  EXPECT_EQ(value(Figure::kBytes, "b"), 1000U);
}

TEST_F(SnapshotTest, SizesThatDifferAmongDuplicatesAreWithheld) {
  StagingBuilder staging;
  staging.type("same", {{Field::kRSize, 64}, {Field::kSize, 60}})
      .type("same", {{Field::kRSize, 64}, {Field::kSize, 60}})
      .type("differ", {{Field::kRSize, 64}, {Field::kSize, 60}})
      .type("differ", {{Field::kRSize, 64}, {Field::kSize, 61}})
      .type("differ", {{Field::kRSize, 64}, {Field::kSize, 60}});
  types_.poll(staging);
  EXPECT_EQ(value(Figure::kFootprint, "same"), 64U);
  EXPECT_EQ(value(Figure::kObjectSize, "same"), 60U);
  EXPECT_EQ(value(Figure::kFootprint, "differ"), 64U);
  EXPECT_FALSE(value(Figure::kObjectSize, "differ"));
}

TEST_F(SnapshotTest, NoLimitWhenAnyDuplicateIsUnlimited) {
  const auto limits = [this](std::initializer_list<std::uint64_t> of_each) {
    StagingBuilder staging;
    for (const std::uint64_t limit : of_each) {
      if (limit != 0) {
        staging.type("a", {{Field::kCount, 1}, {Field::kCountLimit, limit}});
      } else {
        staging.type("a", {{Field::kCount, 1}});
      }
    }
    types_.poll(staging);
    return value(Figure::kLimitObjects, "a");
  };
  EXPECT_EQ(limits({10, 20}), 30U);
  EXPECT_FALSE(limits({10, 0}));
  EXPECT_FALSE(limits({0, 10}));
  EXPECT_FALSE(limits({10, 0, 20}));
  EXPECT_EQ(limits({1, 2, 3}), 6U) << "nothing is left of the polls before";
}

TEST_F(SnapshotTest, ConfiguredLimitsAreShownWhereTheKernelHasNone) {
  types_.tracker.reconfigure(
      {.limit_of = [](const MemoryType&) { return ConfiguredLimit{.objects = 7, .bytes = 0}; }, .wants_cpus = {}});
  StagingBuilder staging;
  staging.type("own", {{Field::kCount, 1}, {Field::kCountLimit, 50}}).type("none", {{Field::kCount, 1}});
  types_.poll(staging);
  EXPECT_EQ(value(Figure::kLimitObjects, "own"), 50U);
  EXPECT_EQ(value(Figure::kLimitObjects, "none"), 7U);
  EXPECT_EQ(value(Figure::kLimitHits, "none"), 0U);
  EXPECT_FALSE(value(Figure::kLimitBytes, "none"));
}

TEST_F(SnapshotTest, AVanishedTypeLeavesAtOnceAndReturnsWithItsTotals) {
  StagingBuilder with;
  with.type("a", {{Field::kNumAllocs, 5}}).type("b", {{Field::kNumAllocs, 6}});
  StagingBuilder without;
  without.type("b", {{Field::kNumAllocs, 6}});
  types_.poll(with);
  types_.poll(without);
  EXPECT_EQ(types_.snapshot.row_count(), 1U);
  EXPECT_FALSE(value(Figure::kAllocations, "a"));
  types_.poll(with);
  EXPECT_EQ(value(Figure::kAllocations, "a"), 5U);
}

TEST_F(SnapshotTest, FiguresOfAFailedSourceLeaveAndThoseOfOthersStay) {
  const auto commit_malloc = [this] {
    StagingBuilder staging;
    staging.type("m", {{Field::kBytes, 4}});
    ASSERT_TRUE(types_.list.commit(roster_of(Allocator::kMalloc, "malloc"), staging.staging(), types_.generation));
  };
  types_.live[static_cast<std::size_t>(Allocator::kMalloc)] = kEveryField;
  StagingBuilder staging;
  staging.type("z", {{Field::kBytes, 9}, {Field::kFailures, 1}});
  types_.commit(staging);
  commit_malloc();
  types_.failed_poll();  // of uma, while malloc stays live
  EXPECT_EQ(value(Figure::kBytes, "m", "malloc"), 4U);
  EXPECT_FALSE(value(Figure::kBytes, "z"));
  EXPECT_EQ(types_.snapshot.row_count(), 1U);
  types_.poll(staging);
  EXPECT_EQ(value(Figure::kBytes, "z"), 9U);
  // Only one field's owner is down.
  types_.live[static_cast<std::size_t>(Allocator::kUma)].remove(Field::kFailures);
  types_.poll(staging);
  EXPECT_EQ(value(Figure::kBytes, "z"), 9U);
  EXPECT_FALSE(value(Figure::kFailures, "z"));
}

TEST_F(SnapshotTest, NothingOfTheListIsNeededAnyMore) {
  Snapshot snapshot;
  {
    TrackedList types;
    StagingBuilder staging;
    staging.type("gone soon", {{Field::kBytes, 3}});
    types.poll(staging);
    types.builder.build(types.list, types.live, types.live_cpu, types.generation, {}, snapshot);
  }
  ASSERT_EQ(snapshot.row_count(), 1U);
  EXPECT_EQ(snapshot.label(0), "{allocator=\"uma\",type=\"gone soon\"");
  EXPECT_EQ(snapshot.value(Figure::kBytes, 0), 3U);
}

TEST_F(SnapshotTest, TypesAndFiguresThatComeLaterFindRoom) {
  StagingBuilder few;
  few.type("type 7", {{Field::kBytes, 7}});
  types_.poll(few);
  EXPECT_EQ(value(Figure::kBytes, "type 7"), 7U);
  for (const bool again : {false, true}) {
    StagingBuilder many;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 300; ++i) names.push_back("type " + std::to_string(i));
    for (std::uint64_t i = 0; i < 300; ++i) {
      if (i % 3 == 0) {
        many.type(names[i], {{Field::kFailures, 1000 + i}, {Field::kBytes, i}});
      } else {
        many.type(names[i], {{Field::kBytes, i}, {Field::kSizeMask, 2000 + i}});
      }
    }
    if (again) types_.snapshot.release();
    types_.poll(many);
    for (std::uint64_t i = 0; i < 300; ++i) {
      EXPECT_EQ(value(Figure::kBytes, names[i]), i);
      EXPECT_EQ(value(Figure::kFailures, names[i]), i % 3 == 0 ? std::optional(1000 + i) : std::nullopt);
      EXPECT_EQ(value(Figure::kSizeClasses, names[i]), i % 3 != 0 ? std::optional(2000 + i) : std::nullopt);
    }
  }
}

TEST_F(SnapshotTest, LabelsOfEvictedTypesAreMadeAnewForTheTypesThatTakeTheirPlace) {
  StagingBuilder first;
  first.type("first", {{Field::kBytes, 1}});
  StagingBuilder second;
  second.type("second", {{Field::kBytes, 2}});
  types_.poll(first);
  types_.poll(second);
  types_.evict_before(types_.generation);
  StagingBuilder third;
  third.type("third", {{Field::kBytes, 3}}).type("second", {{Field::kBytes, 2}});
  types_.poll(third);
  EXPECT_EQ(types_.snapshot.row_count(), 2U);
  EXPECT_EQ(value(Figure::kBytes, "third"), 3U);
  EXPECT_EQ(value(Figure::kBytes, "second"), 2U);
}

TEST_F(SnapshotTest, CpuFiguresOfDuplicatesAreAddedCpuByCpu) {
  types_.tracker.reconfigure({.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name() == "a"; }});
  StagingBuilder staging(CpuFieldMask(CpuField::kNumAllocs, CpuField::kFree), 3);
  staging.type("a", {{Field::kCount, 1}}, {{CpuField::kNumAllocs, {1, 2, 3}}, {CpuField::kFree, {10, 0, 30}}})
      .type("b", {{Field::kCount, 1}}, {{CpuField::kNumAllocs, {9, 9, 9}}})
      .type("a", {{Field::kCount, 1}}, {{CpuField::kNumAllocs, {100, 200, 300}}, {CpuField::kFree, {1, 2, 3}}});
  types_.poll(staging);
  types_.poll(staging);
  ASSERT_EQ(types_.snapshot.cpu_blocks().size(), 1U) << "b was not asked for";
  const Snapshot::CpuBlock& block = types_.snapshot.cpu_blocks()[0];
  EXPECT_EQ(block.cpu_count, 3U);
  EXPECT_EQ(types_.snapshot.label(block.row), "{allocator=\"uma\",type=\"a\"");
  EXPECT_EQ(types_.snapshot.cpu_values(block, CpuFigure::kAllocations)[2], 303U);
  EXPECT_EQ(types_.snapshot.cpu_values(block, CpuFigure::kFreeObjects)[1], 2U);
  EXPECT_EQ(block.figures & (1U << static_cast<unsigned>(CpuFigure::kAllocatedBytes)), 0U);
}

}  // namespace
}  // namespace memstat
