// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/caller_slots.h"

#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr CpuFieldMask kCpuFields(CpuField::kNumAllocs);

/// A list with types "0", "1", ... on `cpu_count` CPUs.
class CallerSlotsTest : public testing::Test {
 protected:
  void poll(int type_count, std::uint32_t cpu_count = 4) {
    StagingBuilder staging(kCpuFields, cpu_count);
    for (int i = 0; i < type_count; ++i) staging.type(std::to_string(i));
    ASSERT_TRUE(list_.commit(roster_of(Allocator::kMalloc), staging.staging(), ++generation_));
  }
  [[nodiscard]] MemoryType& type(int i) const { return *list_.find(Allocator::kMalloc, std::to_string(i)); }

  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(CallerSlotsTest, OutOfRangeIsRefusedAndReadsAsZero) {
  poll(1);
  for (const std::size_t slot : {kCallerSlotCount, kCallerSlotCount + 1, static_cast<std::size_t>(-1)}) {
    EXPECT_FALSE(type(0).set_caller_uint64(slot, 1));
    EXPECT_FALSE(type(0).set_caller_pointer(slot, this));
    EXPECT_FALSE(type(0).set_cpu_caller_uint64(0, slot, 1));
    EXPECT_FALSE(type(0).set_cpu_caller_pointer(0, slot, this));
    EXPECT_EQ(type(0).caller_uint64(slot), 0U);
    EXPECT_EQ(type(0).caller_pointer(slot), nullptr);
    EXPECT_EQ(type(0).cpu_caller_uint64(0, slot), 0U);
    EXPECT_EQ(type(0).cpu_caller_pointer(0, slot), nullptr);
  }
  for (const std::uint32_t cpu : {4U, 5U, 0xFFFFFFFFU}) {
    EXPECT_FALSE(type(0).set_cpu_caller_uint64(cpu, 0, 1));
    EXPECT_FALSE(type(0).set_cpu_caller_pointer(cpu, 0, this));
    EXPECT_EQ(type(0).cpu_caller_uint64(cpu, 0), 0U);
    EXPECT_EQ(type(0).cpu_caller_pointer(cpu, 0), nullptr);
  }
  EXPECT_TRUE(type(0).set_cpu_caller_uint64(3, 15, 1));
  EXPECT_TRUE(type(0).set_caller_uint64(15, 1));
}

TEST_F(CallerSlotsTest, WordsOfATypeThatComesAgainAfterEvictionAreZero) {
  poll(3);
  for (std::size_t slot = 0; slot < kCallerSlotCount; ++slot) {
    type(2).set_caller_uint64(slot, 7);
    type(2).set_caller_pointer(slot, this);
    type(2).set_cpu_caller_uint64(3, slot, 7);
    type(2).set_cpu_caller_pointer(3, slot, this);
    type(0).set_caller_uint64(slot, 1);
  }
  poll(2);
  ASSERT_EQ(list_.evict_vanished_before(generation_, [](MemoryType&) {}), 1U);
  poll(5);
  for (int i = 1; i < 5; ++i) {
    for (std::size_t slot = 0; slot < kCallerSlotCount; ++slot) {
      EXPECT_EQ(type(i).caller_uint64(slot), 0U);
      EXPECT_EQ(type(i).caller_pointer(slot), nullptr);
      EXPECT_EQ(type(i).cpu_caller_uint64(3, slot), 0U);
      EXPECT_EQ(type(i).cpu_caller_pointer(3, slot), nullptr);
    }
  }
  EXPECT_EQ(type(0).caller_uint64(0), 1U);
}

TEST_F(CallerSlotsTest, TypesThatRemainKeepTheirSlotsWhenThoseOfEvictedOnesAreFreed) {
  poll(1000);
  for (int i = 0; i < 1000; ++i) {
    type(i).set_caller_uint64(3, static_cast<std::uint64_t>(i) + 1);
    type(i).set_cpu_caller_uint64(2, 3, static_cast<std::uint64_t>(i) + 1);
  }
  const MemoryType* const address = &type(1);
  poll(2);
  ASSERT_EQ(list_.evict_vanished_before(generation_, [](MemoryType&) {}), 998U);
  list_.shrink();
  EXPECT_EQ(&type(1), address);
  poll(2);
  poll(50);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t expected = i < 2 ? static_cast<std::uint64_t>(i) + 1 : 0;
    EXPECT_EQ(type(i).caller_uint64(3), expected);
    EXPECT_EQ(type(i).cpu_caller_uint64(2, 3), expected);
    type(i).set_caller_uint64(3, 7);
    EXPECT_EQ(type(i).caller_uint64(3), 7U);
  }
}

TEST_F(CallerSlotsTest, SlotsOfACpuThatAppearsAreZeroAndThoseOfTheOthersStay) {
  poll(1, 2);
  ASSERT_TRUE(type(0).set_cpu_caller_uint64(1, 0, 11));
  EXPECT_FALSE(type(0).set_cpu_caller_uint64(6, 0, 1));
  poll(1, 8);
  EXPECT_EQ(type(0).cpu_caller_uint64(6, 0), 0U);
  EXPECT_TRUE(type(0).set_cpu_caller_uint64(6, 0, 66));
  EXPECT_EQ(type(0).cpu_caller_uint64(1, 0), 11U);
  EXPECT_EQ(type(0).cpu_caller_uint64(6, 0), 66U);
}

}  // namespace
}  // namespace memstat
