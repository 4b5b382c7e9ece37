// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/phys_free.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::string_view kTwoLists =
    "\nDOMAIN 0:\n\nFREE LIST 0:\n\n  ORDER (SIZE)  |  NUMBER\n                |  POOL 0  |  POOL 1\n"
    "--            -- --      -- --      --\n   2 (    16K)  |       3  |       4\n   1 (     8K)  |       0  |       0\n"
    "   0 (     4K)  |      11  |       0\n\nDOMAIN 1:\n\nFREE LIST 0:\n\n  12 ( 16384K)  |       0\n   0 (     4K)  |      "
    " 5\n";

TEST(PhysFree, HasEachListOfEachDomain) {
  PhysFreeReader reader(kTwoLists);
  PhysFreeList list;
  ASSERT_TRUE(reader.next(list));
  EXPECT_EQ(list.domain, 0U);
  EXPECT_EQ(list.orders, 3U);
  EXPECT_EQ(list.blocks[2], 7U) << "of both pools";
  EXPECT_EQ(list.blocks[1], 0U);
  EXPECT_EQ(list.blocks[0], 11U);
  EXPECT_EQ(list.largest_block(), 4U);
  ASSERT_TRUE(reader.next(list));
  EXPECT_EQ(list.domain, 1U);
  EXPECT_EQ(list.orders, 13U);
  EXPECT_EQ(list.largest_block(), 1U);
  EXPECT_FALSE(reader.next(list));
  EXPECT_FALSE(reader.error());
}

TEST(PhysFree, KnowsASecondListAndKernelsWithoutDomains) {
  const std::string text = std::string("\nFREE LIST 0:\n  1 (8K) | 2\nFREE LIST 1:\n  1 (8K) | 0\n") + '\0' + "x";
  PhysFreeReader reader(text);
  PhysFreeList list;
  ASSERT_TRUE(reader.next(list));
  EXPECT_EQ(list.list, 0U);
  ASSERT_TRUE(reader.next(list));
  EXPECT_EQ(list.list, 1U);
  EXPECT_EQ(list.largest_block(), 0U);
  EXPECT_FALSE(reader.next(list));
  EXPECT_FALSE(reader.error());
}

TEST(PhysFree, RefusesInvalidRows) {
  for (const char* wrong : {"FREE LIST 0:\n12 (16K)\n", "FREE LIST 0:\n12 (16K) |\n", "FREE LIST 0:\n12 (16K) | x\n",
                            "FREE LIST 0:\n32 (16K) | 1\n", "FREE LIST 0:\n1x (16K) | 1\n", "FREE LIST 0:\n1 (16K) | 1 |\n",
                            "FREE LIST 0:\n1 (16K) | -1\n", "1 (16K) | 1\n", "FREE LIST x:\n", "DOMAIN 65536:\n",
                            "FREE LIST 0:\n1 (16K) | 99999999999999999999\n"}) {
    PhysFreeReader reader(wrong);
    PhysFreeList list;
    EXPECT_FALSE(reader.next(list)) << wrong;
    EXPECT_TRUE(reader.error()) << wrong;
    EXPECT_FALSE(reader.next(list)) << "for good";
  }
}

TEST(PhysFree, RefusesAListThatComesTwice) {
  const std::string list = "FREE LIST 0:\n  1 (8K) | 2\n";
  for (const std::string& wrong : {list + list, "FREE LIST 1:\n  1 (8K) | 2\n" + list,
                                   "DOMAIN 1:\n" + list + "DOMAIN 1:\n" + list, list + "DOMAIN 0:\n" + list}) {
    PhysFreeReader reader(wrong);
    PhysFreeList found;
    EXPECT_TRUE(reader.next(found)) << wrong;
    EXPECT_FALSE(reader.next(found)) << wrong;
    EXPECT_TRUE(reader.error()) << wrong;
  }
}

}  // namespace
}  // namespace memstat
