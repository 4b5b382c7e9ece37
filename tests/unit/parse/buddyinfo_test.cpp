// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/zoneinfo.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

FreeBlocks blocks_of(std::string_view row) {
  const auto blocks = FreeBlocks::parse(row);
  EXPECT_TRUE(blocks.has_value()) << row;
  return blocks.value_or(FreeBlocks());
}

TEST(FreeBlocks, AreReadByOrder) {
  const FreeBlocks blocks = blocks_of("   3      0 >100000\t18446744073709551615 ");
  ASSERT_EQ(blocks.orders(), 4U);
  EXPECT_EQ(blocks.count(0), 3U);
  EXPECT_EQ(blocks.count(1), 0U);
  EXPECT_EQ(blocks.count(2), 100'000U);
  EXPECT_EQ(blocks.count(3), ~std::uint64_t{0});
}

TEST(FreeBlocks, AreNothingInOtherText) {
  for (const char* row : {"", " ", "-1", "1 x", "1 2,", "> 5", ">", ">>5", "18446744073709551616", "1.5", "0x1"}) {
    EXPECT_FALSE(FreeBlocks::parse(row).has_value()) << row;
  }
}

TEST(FreeBlocks, HaveAsManyOrdersAsAnyKernelAndNoMore) {
  std::string row;
  for (std::size_t i = 0; i < FreeBlocks::kMaxOrders; ++i) row += "1 ";
  const FreeBlocks blocks = blocks_of(row);
  EXPECT_EQ(blocks.orders(), FreeBlocks::kMaxOrders);
  EXPECT_EQ(blocks.largest_block(), std::uint64_t{1} << 31U);
  EXPECT_FALSE(FreeBlocks::parse(row + "1").has_value());
}

// By hand, from the kernel's formula: 1 - (1 + free pages / pages wanted) / free blocks.
TEST(FreeBlocks, HaveTheFragmentationIndexOfTheKernel) {
  const FreeBlocks scattered = blocks_of("100 50 0 0");  // 200 pages in 150 blocks
  EXPECT_EQ(scattered.fragmentation_index(0), -1);
  EXPECT_EQ(scattered.fragmentation_index(1), -1);
  EXPECT_DOUBLE_EQ(scattered.fragmentation_index(2), 1 - (1 + 50.0) / 150);
  EXPECT_DOUBLE_EQ(scattered.fragmentation_index(3), 1 - (1 + 25.0) / 150);
  EXPECT_EQ(blocks_of("0 0 0").fragmentation_index(1), 0) << "nothing is free: that is lack of memory";
  EXPECT_DOUBLE_EQ(blocks_of("1 0").fragmentation_index(1), -0.5) << "the kernel's index falls below 0 for single blocks";
}

TEST(FreeBlocks, HaveTheUnusableIndexOfTheKernel) {
  const FreeBlocks blocks = blocks_of("4 2 1");  // 4 pages each
  EXPECT_DOUBLE_EQ(blocks.unusable_ratio(0), 0);
  EXPECT_DOUBLE_EQ(blocks.unusable_ratio(1), 1.0 / 3);
  EXPECT_DOUBLE_EQ(blocks.unusable_ratio(2), 2.0 / 3);
  EXPECT_EQ(blocks_of("0 0").unusable_ratio(0), 1);
}

}  // namespace
}  // namespace memstat
