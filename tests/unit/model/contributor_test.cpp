// SPDX-License-Identifier: BSD-2-Clause
// Sources that are not rosters: their figures come and go with the types that they name, whenever the roster creates these.
#include "core/model/memory_type_list.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr FieldMask kRosterFields(Field::kBytes, Field::kCount);
constexpr FieldMask kContributedFields(Field::kFailures, Field::kSize);
constexpr CpuFieldMask kContributedCpuFields(CpuField::kNumAllocs);

class ContributorTest : public testing::Test {
 protected:
  void roster(std::initializer_list<std::string_view> names, Allocator allocator = Allocator::kSlab) {
    StagingBuilder staging(CpuFieldMask(CpuField::kFree), 2);
    for (const std::string_view name : names) staging.type(name, {{Field::kBytes, 1}}, {{CpuField::kFree, {1, 1}}});
    const CommitScope scope{.source = to_string(allocator),
                            .allocator = allocator,
                            .is_roster = true,
                            .fields = kRosterFields,
                            .cpu_fields = CpuFieldMask(CpuField::kFree)};
    ASSERT_TRUE(list_.commit(scope, staging.staging(), ++generation_));
  }
  /// A commit of a contributor, in the poll of the last roster. Returns whether it allocated anything.
  bool contribute(const std::vector<std::pair<std::string_view, std::uint64_t>>& failures,
                  Allocator allocator = Allocator::kSlab) {
    StagingBuilder staging(kContributedCpuFields, 2);
    for (const auto& [name, value] : failures) {
      staging.type(name, {{Field::kFailures, value}}, {{CpuField::kNumAllocs, {0, value}}});
    }
    const CommitScope scope{.source = allocator == Allocator::kSlab ? "contributor" : "other",
                            .allocator = allocator,
                            .is_roster = false,
                            .fields = kContributedFields,
                            .cpu_fields = kContributedCpuFields};
    constexpr std::ptrdiff_t kMany = 1'000'000;
    const FailingAllocation counting(kMany);
    EXPECT_TRUE(list_.commit(scope, staging.staging(), generation_));
    return allocations_until_failure != kMany;
  }
  [[nodiscard]] const MemoryType& type(std::string_view name, std::uint32_t ordinal = 0) const {
    return *find_ordinal(list_, name, ordinal);
  }
  /// The failures of a type, -1 when it has no such figure; the per-CPU figure must come and go with it.
  [[nodiscard]] std::int64_t failures(std::string_view name, std::uint32_t ordinal = 0) const {
    const MemoryType& of = type(name, ordinal);
    EXPECT_EQ(of.fields().has(Field::kFailures), of.cpu_fields().has(CpuField::kNumAllocs));
    EXPECT_EQ(of.figure(Field::kFailures), of.cpu_figure(CpuField::kNumAllocs, 1));
    if (of.fields().has(Field::kFailures)) return static_cast<std::int64_t>(of.figure(Field::kFailures));
    EXPECT_EQ(of.figure(Field::kFailures), 0U);
    return -1;
  }

  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(ContributorTest, TwoRostersByTurnsEachSayWhichTypesThereAre) {
  const auto commit = [this](std::string_view source, std::initializer_list<std::string_view> names) {
    StagingBuilder staging;
    for (const std::string_view name : names) staging.type(name, {{Field::kBytes, 1}});
    const CommitScope scope{
        .source = source, .allocator = Allocator::kSlab, .is_roster = true, .fields = FieldMask(Field::kBytes)};
    ASSERT_TRUE(list_.commit(scope, staging.staging(), ++generation_));
  };
  for (int turn = 0; turn < 3; ++turn) {
    commit("one", {"a", "b"});
    EXPECT_TRUE(type("b").is_present());
    commit("one", {"a", "b"});
    commit("two", {"a"});
    EXPECT_TRUE(type("a").is_present());
    EXPECT_FALSE(type("b").is_present());
    commit("two", {"a"});
    EXPECT_FALSE(type("b").is_present());
  }
  EXPECT_EQ(list_.size(), 2U);
}

TEST_F(ContributorTest, FiguresOfATypeThatItNoLongerNamesAreGone) {
  roster({"a", "b"});
  contribute({{"a", 1}, {"b", 2}});
  EXPECT_EQ(failures("b"), 2);
  roster({"a", "b"});
  contribute({{"a", 3}});
  EXPECT_EQ(failures("a"), 3);
  EXPECT_EQ(failures("b"), -1);
  EXPECT_TRUE(type("b").fields().has(Field::kBytes)) << "the roster's stay";
  EXPECT_EQ(type("b").cpu_figure(CpuField::kFree, 1), 1U);
  contribute({});
  EXPECT_EQ(failures("a"), -1);
  contribute({{"a", 3}, {"b", 4}});
  EXPECT_EQ(failures("b"), 4);
}

TEST_F(ContributorTest, ACpuFigureThatItNoLongerHasIsGone) {
  roster({"a"});
  contribute({{"a", 1}});
  StagingBuilder without_cpus;
  without_cpus.type("a", {{Field::kFailures, 5}});
  const CommitScope scope{.source = "contributor",
                          .allocator = Allocator::kSlab,
                          .is_roster = false,
                          .fields = kContributedFields,
                          .cpu_fields = kContributedCpuFields};
  ASSERT_TRUE(list_.commit(scope, without_cpus.staging(), generation_));
  EXPECT_EQ(type("a").figure(Field::kFailures), 5U);
  EXPECT_EQ(type("a").cpu_fields(), CpuFieldMask(CpuField::kFree));
  EXPECT_EQ(type("a").cpu_figure(CpuField::kNumAllocs, 1), 0U);
}

TEST_F(ContributorTest, NothingIsStaleAfterATypeThatItNamedWasDestroyed) {
  roster({"a", "b"});
  contribute({{"b", 2}, {"a", 1}});
  roster({"a"});
  list_.evict_vanished_before(generation_ + 1, [](MemoryType&) {});
  contribute({});
  EXPECT_EQ(failures("a"), -1);
}

TEST_F(ContributorTest, ASteadyPollAllocatesNothingAlsoWhenItNamesUnknownTypes) {
  roster({"a", "b"});
  EXPECT_TRUE(contribute({{"unknown 1", 7}, {"a", 1}, {"a name unknown to the roster", 8}, {"b", 2}}));
  for (int poll = 0; poll < 3; ++poll) {
    roster({"a", "b"});
    EXPECT_FALSE(contribute({{"unknown 1", 7}, {"a", 10}, {"a name unknown to the roster", 8}, {"b", 2}}));
    EXPECT_EQ(failures("a"), 10);
  }
  EXPECT_EQ(list_.size(), 2U) << "a contributor creates none";
}

TEST_F(ContributorTest, TypesThatTheRosterCreatesLaterAreFoundByItsNextCommit) {
  roster({"a"});
  contribute({{"late", 7}, {"a", 1}});
  roster({"late", "a"});
  EXPECT_EQ(failures("late"), -1);
  EXPECT_TRUE(contribute({{"late", 8}, {"a", 1}}));
  EXPECT_EQ(failures("late"), 8);
  roster({"late", "a"});
  EXPECT_FALSE(contribute({{"late", 9}, {"a", 1}}));
  EXPECT_EQ(failures("late"), 9);
}

TEST_F(ContributorTest, TypesOfAnotherAllocatorDoNotMakeItLookAgain) {
  roster({"a"});
  contribute({{"unknown", 7}, {"a", 1}});
  roster({"unknown"}, Allocator::kVmalloc);
  EXPECT_FALSE(contribute({{"unknown", 7}, {"a", 1}}));
}

TEST_F(ContributorTest, FiguresGoToTheirOrdinalsOldestLast) {
  roster({"x", "a", "x"});
  contribute({{"x", 20}, {"x", 10}, {"a", 1}});
  EXPECT_EQ(failures("x", 0), 10);
  EXPECT_EQ(failures("x", 1), 20);
  contribute({{"x", 10}});
  EXPECT_EQ(failures("x", 0), 10);
  EXPECT_EQ(failures("x", 1), -1);
}

TEST_F(ContributorTest, ADuplicateBeyondThoseOfTheRosterWaitsForIt) {
  roster({"x"});
  contribute({{"x", 20}, {"x", 10}});
  EXPECT_EQ(failures("x", 0), 10);
  EXPECT_FALSE(contribute({{"x", 20}, {"x", 10}}));
  roster({"x", "x"});
  contribute({{"x", 20}, {"x", 10}});
  EXPECT_EQ(failures("x", 0), 10);
  EXPECT_EQ(failures("x", 1), 20);
}

// When the number of types with one name changes, it is unknown which is which, so a contributor's figures of the first may
// belong to another one by now.
TEST_F(ContributorTest, WhenTheNumberOfDuplicatesChangesItsFiguresAreGoneUntilItsNextCommit) {
  roster({"x", "a", "x"});
  contribute({{"x", 20}, {"x", 10}, {"a", 1}});
  roster({"x", "a"});
  EXPECT_EQ(failures("x", 0), -1);
  EXPECT_EQ(failures("a"), 1);
  EXPECT_EQ(type("x").figure(Field::kBytes), 1U);
  contribute({{"x", 20}, {"a", 1}});
  EXPECT_EQ(failures("x", 0), 20);
  EXPECT_EQ(failures("x", 1), -1) << "vanished";
}

}  // namespace
}  // namespace memstat
