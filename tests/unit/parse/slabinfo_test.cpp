// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/slabinfo.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kSlabinfoHead =
    "slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables "
    "<limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n";

TEST(SlabinfoReader, LeavesOutLinesThatAreWrong) {
  const std::string text =
      kSlabinfoHead +
      "nonsense\n : \n1 2 3 : x\nfilp   1 x 18446744073709551616 1 1 : tunables 0 0 0 : slabdata 1 1 0\n"
      "filp   1 1 1 1 1 : tunables 0 0 0 : slabdata 1 y 0\n"
      "dentry 1 2 3 4 5 : tunables 0 0 0 : slabdata 6 7 8\n";
  SlabinfoReader reader(text);
  SlabinfoLine line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.name, "dentry");
  EXPECT_EQ(line.active, 1U);
  EXPECT_EQ(line.pages_per_slab, 5U);
  EXPECT_EQ(line.slabs, 7U);
  EXPECT_FALSE(reader.next(line));
}

}  // namespace
}  // namespace memstat
