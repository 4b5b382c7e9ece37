// SPDX-License-Identifier: BSD-2-Clause
// Per-CPU figures of a memory type over commits.
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr CpuFieldMask kTwo(CpuField::kNumAllocs, CpuField::kFree);

class CpuColumnsTest : public testing::Test {
 protected:
  void poll(const std::vector<std::uint64_t>& allocs, const std::vector<std::uint64_t>& free) {
    StagingBuilder staging(kTwo, static_cast<std::uint32_t>(allocs.size()));
    staging.type("x", {}, {{CpuField::kNumAllocs, allocs}, {CpuField::kFree, free}});
    CommitScope scope = roster_of(Allocator::kUma);
    scope.cpu_fields = kTwo;
    ASSERT_TRUE(list_.commit(scope, staging.staging(), ++generation_));
  }
  [[nodiscard]] const MemoryType& type() const { return *list_.first(); }
  [[nodiscard]] std::vector<std::uint64_t> figures(CpuField field) const {
    std::vector<std::uint64_t> values;
    for (std::uint32_t cpu = 0; cpu < type().cpu_count(); ++cpu) values.push_back(type().cpu_figure(field, cpu));
    return values;
  }
  using Values = std::vector<std::uint64_t>;

  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(CpuColumnsTest, AreSizedByTheHighestCpuAndBoundsChecked) {
  poll({1, 0, 3}, {4, 0, 6});
  EXPECT_EQ(type().cpu_count(), 3U);
  EXPECT_TRUE(type().cpu_fields() == kTwo);
  EXPECT_EQ(figures(CpuField::kNumAllocs), (Values{1, 0, 3}));
  EXPECT_EQ(figures(CpuField::kFree), (Values{4, 0, 6}));
  EXPECT_EQ(type().cpu_figure(CpuField::kFree, 3), 0U);
  EXPECT_EQ(type().cpu_figure(CpuField::kFree, 0xFFFFFFFF), 0U);
  EXPECT_EQ(type().cpu_figure(CpuField::kMemFreed, 0), 0U);
}

TEST_F(CpuColumnsTest, AreZeroForACpuThatIsGone) {
  poll({1, 2, 3}, {4, 5, 6});
  poll({7}, {8});
  EXPECT_EQ(figures(CpuField::kNumAllocs), (Values{7, 0, 0})) << "its slots are still there, so it still counts";
  EXPECT_EQ(figures(CpuField::kFree), (Values{8, 0, 0}));
  poll({1, 2, 3}, {4, 5, 6});
  EXPECT_EQ(figures(CpuField::kFree), (Values{4, 5, 6}));
}

TEST_F(CpuColumnsTest, OfOneSourceStayWhenAnotherAddsAFigureOnMoreCpus) {
  poll({1, 2}, {3, 4});
  const CommitScope other{.source = "other",
                          .allocator = Allocator::kUma,
                          .is_roster = false,
                          .fields = {},
                          .cpu_fields = CpuFieldMask(CpuField::kNumFrees)};
  // It also names a figure that it does not own.
  StagingBuilder staging(CpuFieldMask(CpuField::kNumFrees, CpuField::kFree), 3);
  staging.type("x", {}, {{CpuField::kNumFrees, {20, 21, 22}}, {CpuField::kFree, {90, 91, 92}}});
  ASSERT_TRUE(list_.commit(other, staging.staging(), generation_));
  EXPECT_EQ(figures(CpuField::kNumAllocs), (Values{1, 2, 0}));
  EXPECT_EQ(figures(CpuField::kNumFrees), (Values{20, 21, 22}));
  EXPECT_EQ(figures(CpuField::kFree), (Values{3, 4, 0}));
  poll({5, 6}, {7, 8});
  EXPECT_EQ(figures(CpuField::kNumAllocs), (Values{5, 6, 0}));
  EXPECT_EQ(figures(CpuField::kNumFrees), (Values{20, 21, 22}));
  EXPECT_EQ(figures(CpuField::kFree), (Values{7, 8, 0}));
}

/// 100 CPUs, one of which has a figure.
std::vector<std::uint64_t> only(std::size_t cpu, std::uint64_t value) {
  std::vector<std::uint64_t> values(100);
  values.at(cpu) = value;
  return values;
}

TEST_F(CpuColumnsTest, AreHeldNearTheCpusThatEverUsedTheType) {
  const std::vector<std::uint64_t> none(100);
  poll(none, none);
  EXPECT_EQ(type().cpu_count(), 100U);
  EXPECT_TRUE(type().cpu_fields() == kTwo) << "an idle type has the figures, they are 0";
  EXPECT_EQ(type().next_used_cpu(0), 100U);
  EXPECT_EQ(figures(CpuField::kFree), none);
  poll(none, only(70, 5));
  EXPECT_EQ(type().next_used_cpu(0), 64U);
  EXPECT_EQ(type().next_used_cpu(70), 70U);
  EXPECT_EQ(type().next_used_cpu(96), 100U);
  EXPECT_EQ(figures(CpuField::kFree), only(70, 5));
  EXPECT_EQ(figures(CpuField::kNumAllocs), none);
  // The last group of 100 CPUs has four; the first precedes the existing ones.
  poll(only(99, 7), only(1, 6));
  EXPECT_EQ(type().next_used_cpu(0), 0U);
  EXPECT_EQ(type().next_used_cpu(32), 64U);
  EXPECT_EQ(type().next_used_cpu(98), 98U);
  EXPECT_EQ(type().next_used_cpu(100), 100U);
  EXPECT_EQ(figures(CpuField::kFree), only(1, 6)) << "CPU 70 is back at 0";
  EXPECT_EQ(figures(CpuField::kNumAllocs), only(99, 7));
  poll(none, none);
  EXPECT_EQ(figures(CpuField::kFree), none);
  EXPECT_EQ(figures(CpuField::kNumAllocs), none);
  EXPECT_EQ(type().next_used_cpu(0), 0U) << "existing groups remain";
}

TEST_F(CpuColumnsTest, StayRightWhenTheLastGroupGetsMoreCpusAndFewer) {
  poll({1, 2, 3}, {4, 5, 6});
  std::vector<std::uint64_t> many(100);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 1000 + i;
  poll(many, only(50, 1));
  EXPECT_EQ(figures(CpuField::kNumAllocs), many);
  EXPECT_EQ(figures(CpuField::kFree), only(50, 1));
  many.resize(40);
  poll(many, std::vector<std::uint64_t>(40, 9));
  many.resize(100);
  EXPECT_EQ(figures(CpuField::kNumAllocs), many);
  std::vector<std::uint64_t> nines(40, 9);
  nines.resize(100);
  EXPECT_EQ(figures(CpuField::kFree), nines);
}

}  // namespace
}  // namespace memstat
