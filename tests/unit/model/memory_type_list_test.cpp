// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/memory_type_list.h"

#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class MemoryTypeListTest : public testing::Test {
 protected:
  /// One more poll of a roster that names these, newest first.
  void poll(std::initializer_list<std::string_view> names, Allocator allocator = Allocator::kSlab) {
    StagingBuilder staging;
    staging.types(names);
    ASSERT_TRUE(list_.commit(roster_of(allocator, to_string(allocator)), staging.staging(), ++generation_));
  }
  std::size_t evict_before(std::uint64_t generation) {
    return list_.evict_vanished_before(generation, [this](MemoryType& type) {
      evicted_.push_back(type.name() + ":" + std::to_string(type.ordinal()) + " of " + type.first_of_name().name());
    });
  }

  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
  std::vector<std::string> evicted_;
};

TEST_F(MemoryTypeListTest, ANewTypeGoesToTheHeadAndAnUpdateNeverMovesOne) {
  poll({"b", "a"});
  poll({"c", "b", "a"});
  EXPECT_THAT(order_of(list_), ElementsAre("c:0", "a:0", "b:0"));
  poll({"a", "c", "b"});
  EXPECT_THAT(order_of(list_), ElementsAre("c:0", "a:0", "b:0"));
}

TEST_F(MemoryTypeListTest, OrdinalsCountFromTheOldestWhichIsTheLastRecord) {
  StagingBuilder staging;
  staging.type("x", {{Field::kBytes, 30}}).type("y").type("x", {{Field::kBytes, 20}}).type("x", {{Field::kBytes, 10}});
  ASSERT_TRUE(list_.commit(roster_of(Allocator::kUma), staging.staging(), 1));
  EXPECT_EQ(find_ordinal(list_, "x", 0)->figure(Field::kBytes), 10U);
  EXPECT_EQ(find_ordinal(list_, "x", 1)->figure(Field::kBytes), 20U);
  EXPECT_EQ(find_ordinal(list_, "x", 2)->figure(Field::kBytes), 30U);
  EXPECT_EQ(&find_ordinal(list_, "x", 2)->first_of_name(), find_ordinal(list_, "x", 0));
  EXPECT_EQ(&find_ordinal(list_, "x", 0)->first_of_name(), find_ordinal(list_, "x", 0));
  EXPECT_EQ(find_ordinal(list_, "x", 1)->duplicates(), 3U);
  EXPECT_EQ(find_ordinal(list_, "y", 0)->duplicates(), 1U);
}

TEST_F(MemoryTypeListTest, FindsTheNearestToTheHeadOfOneAllocatorOrOfAny) {
  poll({"x", "x"}, Allocator::kUma);
  poll({"x"}, Allocator::kMalloc);
  EXPECT_EQ(list_.find(std::nullopt, "x"), list_.first());
  EXPECT_EQ(list_.find(std::nullopt, "x")->allocator(), Allocator::kMalloc);
  EXPECT_EQ(list_.find(Allocator::kUma, "x"), list_.first()->next());
  EXPECT_EQ(list_.find(Allocator::kSlab, "x"), nullptr);
  EXPECT_EQ(list_.find(std::nullopt, "X"), nullptr);
}

TEST_F(MemoryTypeListTest, AVanishedTypeStaysInTheListAndOfAnotherAllocatorIsNotTouched) {
  poll({"x", "y"}, Allocator::kUma);
  poll({"x", "m"}, Allocator::kMalloc);
  poll({"x"}, Allocator::kUma);
  EXPECT_THAT(order_of(list_), ElementsAre("m:0", "x:0", "-y:0", "x:0"));
  EXPECT_EQ(list_.size(), 4U);
  EXPECT_EQ(list_.find(std::nullopt, "y")->last_seen_generation(), 1U);
}

TEST_F(MemoryTypeListTest, AReturningTypeIsTheSameEntryAndNotNew) {
  poll({"x", "y"});
  MemoryType* const y = list_.find(std::nullopt, "y");
  y->set_caller_uint64(0, 42);
  poll({"x"});
  EXPECT_FALSE(y->is_present());
  EXPECT_EQ(y->caller_uint64(0), 42U);
  poll({"x", "y"});
  EXPECT_EQ(list_.find(std::nullopt, "y"), y);
  EXPECT_TRUE(y->is_present());
  EXPECT_EQ(y->first_seen_generation(), 1U);
  EXPECT_EQ(y->last_seen_generation(), 3U);
  EXPECT_EQ(y->caller_uint64(0), 42U);
}

TEST_F(MemoryTypeListTest, AChangedNumberOfDuplicatesIsFirstSightForAllOfThem) {
  poll({"x", "x", "y"});
  poll({"x", "x", "y"});
  EXPECT_EQ(find_ordinal(list_, "x", 0)->first_seen_generation(), 1U);
  poll({"x", "x", "x", "y"});
  for (const std::uint32_t ordinal : {0U, 1U, 2U}) {
    EXPECT_EQ(find_ordinal(list_, "x", ordinal)->first_seen_generation(), 3U);
    EXPECT_EQ(find_ordinal(list_, "x", ordinal)->duplicates(), 3U);
  }
  EXPECT_EQ(find_ordinal(list_, "y", 0)->first_seen_generation(), 1U);
  poll({"x", "y"});
  EXPECT_EQ(find_ordinal(list_, "x", 0)->first_seen_generation(), 4U);
  EXPECT_EQ(find_ordinal(list_, "x", 0)->duplicates(), 1U);
  EXPECT_FALSE(find_ordinal(list_, "x", 1)->is_present());
  EXPECT_FALSE(find_ordinal(list_, "x", 2)->is_present());
}

TEST_F(MemoryTypeListTest, AGroupThatReturnsWithAnotherNumberIsFirstSight) {
  poll({"x", "x", "y"});
  poll({"y"});
  poll({"x", "x", "y"});
  EXPECT_EQ(find_ordinal(list_, "x", 0)->first_seen_generation(), 1U) << "the same number: nothing was lost";
  poll({"y"});
  poll({"x", "y"});
  EXPECT_EQ(find_ordinal(list_, "x", 0)->first_seen_generation(), 5U);
}

TEST_F(MemoryTypeListTest, EvictsOnlyVanishedTypesThatWereNotSeenLately) {
  poll({"a", "b", "c"});
  poll({"a", "b"});
  poll({"a"});
  EXPECT_EQ(evict_before(1), 0U);
  EXPECT_EQ(evict_before(2), 1U);
  EXPECT_THAT(evicted_, ElementsAre("c:0 of c"));
  EXPECT_THAT(order_of(list_), ElementsAre("-b:0", "a:0"));
  EXPECT_EQ(list_.find(std::nullopt, "c"), nullptr);
  EXPECT_EQ(evict_before(100), 1U);
  EXPECT_THAT(order_of(list_), ElementsAre("a:0"));
  EXPECT_EQ(list_.size(), 1U);
  poll({"c", "a"});
  EXPECT_THAT(order_of(list_), ElementsAre("c:0", "a:0"));
  EXPECT_EQ(list_.find(std::nullopt, "c")->first_seen_generation(), 4U);
}

TEST_F(MemoryTypeListTest, WhileAGroupIsEvictedEachStillLeadsToItsEldest) {
  poll({"x", "x", "y"});
  poll({"y"});
  EXPECT_EQ(evict_before(2), 2U);
  EXPECT_THAT(evicted_, testing::UnorderedElementsAre("x:0 of x", "x:1 of x"));
}

TEST_F(MemoryTypeListTest, EvictingTheYoungestOfANameLeavesTheOthers) {
  poll({"x", "x", "x"});
  poll({"x", "x"});
  EXPECT_EQ(evict_before(2), 1U);
  EXPECT_THAT(evicted_, ElementsAre("x:2 of x"));
  poll({"x", "x"});
  EXPECT_EQ(find_ordinal(list_, "x", 0)->first_seen_generation(), 2U);
  poll({"x", "x", "x"});
  EXPECT_THAT(order_of(list_), ElementsAre("x:2", "x:0", "x:1"));
  EXPECT_EQ(&find_ordinal(list_, "x", 2)->first_of_name(), find_ordinal(list_, "x", 0));
}

TEST_F(MemoryTypeListTest, FieldMasksAreThoseOfTheTypeAndOfTheOwner) {
  CommitScope scope = roster_of(Allocator::kSlab, "slab");
  scope.fields.remove(Field::kFailures);
  StagingBuilder staging;
  staging.type("a", {{Field::kBytes, 1}, {Field::kFailures, 9}}).type("b", {{Field::kCount, 2}});
  ASSERT_TRUE(list_.commit(scope, staging.staging(), 1));
  EXPECT_TRUE(list_.find(std::nullopt, "a")->fields() == FieldMask(Field::kBytes));
  EXPECT_EQ(list_.find(std::nullopt, "a")->figure(Field::kFailures), 0U) << "not the roster's to give";
  EXPECT_TRUE(list_.find(std::nullopt, "b")->fields() == FieldMask(Field::kCount));
}

TEST_F(MemoryTypeListTest, ManyDuplicatesOfOneNameAreMatchedInReasonableWork) {
  // Quadratic work would take minutes and exceed the test's time limit.
  constexpr int kMany = 60'000;
  StagingBuilder staging;
  for (int i = 0; i < kMany; ++i) staging.type("x", {{Field::kBytes, static_cast<std::uint64_t>(i)}});
  ASSERT_TRUE(list_.commit(roster_of(Allocator::kUma), staging.staging(), 1));
  EXPECT_EQ(list_.size(), static_cast<std::size_t>(kMany));
  StagingBuilder more;
  for (int i = 0; i < 2 * kMany; ++i) more.type("x");
  ASSERT_TRUE(list_.commit(roster_of(Allocator::kUma), more.staging(), 2));
  EXPECT_EQ(list_.first()->duplicates(), static_cast<std::uint32_t>(2 * kMany));
  EXPECT_EQ(list_.find(std::nullopt, "x"), list_.first());
  EXPECT_EQ(list_.first()->ordinal(), static_cast<std::uint32_t>(kMany)) << "the last record that was new";
}

}  // namespace
}  // namespace memstat
