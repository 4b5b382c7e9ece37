// SPDX-License-Identifier: BSD-2-Clause
// A commit that runs out of memory, at any allocation, changes nothing visible.
#include "tests/support/failing_allocations.h"
#include "tests/support/failing_allocations_new.h"
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// Everything visible of a list.
std::string everything(const MemoryTypeList& list) {
  std::ostringstream text;
  text << list.size() << '\n';
  for (const MemoryType* type = list.first(); type != nullptr; type = type->next()) {
    text << type << ' ' << &type->first_of_name() << ' ' << to_string(type->allocator()) << ' ' << type->name() << ' '
         << type->ordinal() << ' ' << type->duplicates() << ' ' << type->is_present() << ' ' << type->last_seen_generation()
         << ' ' << type->first_seen_generation() << ' ' << type->fields().bits() << ' ' << type->cpu_fields().bits() << ' '
         << type->cpu_count() << ':';
    for (std::size_t i = 0; i < kFieldCount; ++i) text << ' ' << type->figure(static_cast<Field>(i));
    for (std::size_t slot = 0; slot < kCallerSlotCount; ++slot) {
      text << ' ' << type->caller_uint64(slot) << ' ' << type->caller_pointer(slot);
      for (std::uint32_t cpu = 0; cpu < 8; ++cpu) text << ' ' << type->cpu_caller_uint64(cpu, slot);
    }
    for (std::size_t i = 0; i < kCpuFieldCount; ++i) {
      for (std::uint32_t cpu = 0; cpu < 80; ++cpu) text << ' ' << type->cpu_figure(static_cast<CpuField>(i), cpu);
    }
    text << ' ' << type->detail() << ' ' << type->node_fields().bits() << ' ' << type->node_count();
    for (std::size_t i = 0; i < kNodeFieldCount; ++i) {
      for (std::uint32_t node = 0; node < 4; ++node) text << ' ' << type->node_figure(static_cast<NodeField>(i), node);
    }
    text << '\n';
  }
  return text.str();
}

/// Commits with allocation 0, 1, 2, ... failing until none fails any more; returns how many did.
int fail_every_allocation(MemoryTypeList& list, const CommitScope& scope, const Staging& staging, std::uint64_t generation) {
  const std::string before = everything(list);
  for (int n = 0;; ++n) {
    Result<void> result;
    bool has_failed = false;
    {
      const FailingAllocation failing(n);
      result = list.commit(scope, staging, generation);
      has_failed = failing.has_failed();
    }
    if (!has_failed) {
      EXPECT_TRUE(result);
      return n;
    }
    EXPECT_FALSE(result) << "allocation " << n;
    if (result) return n;
    EXPECT_EQ(result.error().code, ErrorCode::kNoMemory);
    EXPECT_EQ(result.error().source, scope.source);
    EXPECT_EQ(everything(list), before) << "allocation " << n;
  }
}

class CommitFailureTest : public testing::Test {
 protected:
  void SetUp() override {
    StagingBuilder staging(CpuFieldMask(CpuField::kFree), 2);
    staging.nodes(NodeFieldMask(NodeField::kFree), 1)
        .type("old", {{Field::kBytes, 1}}, {{CpuField::kFree, {1, 2}}})
        .node(NodeField::kFree, {7})
        .detail("file:1")
        .type("twice", {{Field::kBytes, 3}})
        .type("twice", {{Field::kBytes, 2}}, {{CpuField::kFree, {3, 4}}});
    ASSERT_TRUE(list_.commit(roster_of(Allocator::kUma), staging.staging(), 1));
    list_.first()->set_caller_uint64(2, 77);
    list_.first()->set_cpu_caller_uint64(1, 2, 78);
    list_.first()->set_caller_pointer(2, this);
  }
  MemoryTypeList list_;
};

TEST_F(CommitFailureTest, OfNewTypesMoreDuplicatesAndMoreCpusLeavesEverythingAsItWas) {
  StagingBuilder staging(CpuFieldMask(CpuField::kFree, CpuField::kNumAllocs), 5);
  for (int i = 0; i < 20; ++i)
    staging.type("a new type with a long name, number " + std::to_string(i), {{Field::kBytes, 5}});
  staging.type("twice").type("twice").type("twice").type("old", {{Field::kBytes, 9}},
                                                         {{CpuField::kNumAllocs, {1, 2, 3, 4, 5}}});
  EXPECT_GT(fail_every_allocation(list_, roster_of(Allocator::kUma), staging.staging(), 2), 20);
  EXPECT_EQ(list_.size(), 24U);
  EXPECT_EQ(list_.find(std::nullopt, "old")->figure(Field::kBytes), 9U);
  EXPECT_EQ(list_.find(std::nullopt, "old")->cpu_figure(CpuField::kNumAllocs, 4), 5U);
}

TEST_F(CommitFailureTest, OfASourceThatNamesOtherTypesThanBeforeLeavesTheFiguresOfThoseItNamed) {
  const CommitScope scope{.source = "other",
                          .allocator = Allocator::kUma,
                          .is_roster = false,
                          .fields = FieldMask(Field::kFailures),
                          .cpu_fields = {}};
  StagingBuilder before;
  before.type("old", {{Field::kFailures, 7}}).type("stranger");
  ASSERT_TRUE(list_.commit(scope, before.staging(), 1));
  StagingBuilder after;
  after.type("twice", {{Field::kFailures, 2}}).type("another stranger with a name that is not short");
  EXPECT_GT(fail_every_allocation(list_, scope, after.staging(), 1), 2);
  EXPECT_FALSE(list_.find(std::nullopt, "old")->fields().has(Field::kFailures));
}

TEST_F(CommitFailureTest, OfKnownTypesThatFurtherCpusBeginToUseLeavesEverythingAsItWas) {
  const CpuFieldMask free(CpuField::kFree);
  std::vector<std::uint64_t> values(70);
  values[0] = 1;
  StagingBuilder before(free, 70);
  before.type("old", {{Field::kBytes, 5}}, {{CpuField::kFree, values}}).types({"twice", "twice"});
  ASSERT_TRUE(list_.commit(roster_of(Allocator::kUma), before.staging(), 2));
  values[69] = 8;
  StagingBuilder after(free, 70);
  after.type("old", {{Field::kBytes, 6}}, {{CpuField::kFree, values}}).types({"twice", "twice"});
  EXPECT_GT(fail_every_allocation(list_, roster_of(Allocator::kUma), after.staging(), 3), 2);
  EXPECT_EQ(list_.find(std::nullopt, "old")->figure(Field::kBytes), 6U);
  EXPECT_EQ(list_.find(std::nullopt, "old")->cpu_figure(CpuField::kFree, 69), 8U);
  EXPECT_EQ(list_.find(std::nullopt, "old")->cpu_figure(CpuField::kFree, 0), 1U);
}

TEST_F(CommitFailureTest, OfMoreNodesAndOtherDetailsLeavesEverythingAsItWas) {
  StagingBuilder staging;
  staging.nodes(NodeFieldMask(NodeField::kCount, NodeField::kFree), 3);
  staging.type("old").node(NodeField::kCount, {1, 2, 3}).detail("another file, with a name that needs memory of its own:2");
  staging.types({"twice", "twice"}).detail("and one for a type that had none before, which is as long:3");
  EXPECT_GE(fail_every_allocation(list_, roster_of(Allocator::kUma), staging.staging(), 2), 5);
  EXPECT_EQ(list_.find(std::nullopt, "old")->node_figure(NodeField::kCount, 2), 3U);
  EXPECT_EQ(list_.find(std::nullopt, "old")->node_figure(NodeField::kFree, 0), 0U);
}

TEST_F(CommitFailureTest, CannotHappenWhenTheKernelNamesTheSameTypesAgain) {
  StagingBuilder staging(CpuFieldMask(CpuField::kFree), 2);
  staging.nodes(NodeFieldMask(NodeField::kFree), 1);
  staging.type("old").node(NodeField::kFree, {8}).detail("file:1").types({"twice", "twice"});
  ASSERT_TRUE(list_.commit(roster_of(Allocator::kUma), staging.staging(), 2));
  const FailingAllocation failing(0);
  EXPECT_TRUE(list_.commit(roster_of(Allocator::kUma), staging.staging(), 3));
  EXPECT_FALSE(failing.has_failed()) << "nothing is allocated";
}

}  // namespace
}  // namespace memstat
