// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_directories.h"

#include "tests/support/slab_kernel.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class SlabCountsTest : public testing::Test {
 protected:
  SlabCountsTest() {
    for (const char* cache : {"a", "b", "c"}) kernel_.list(cache);
  }
  SlabKernel kernel_;
  SlabCounts counts_;
};

TEST_F(SlabCountsTest, SayWhatTheFilesOfACacheWouldSay) {
  kernel_.nodes = "0\n";
  ASSERT_TRUE(counts_.read(kernel_));
  for (const char* cache : {"a", "c", "b"}) {
    ASSERT_TRUE(counts_.find(cache)) << cache;
    EXPECT_EQ(counts_.slabs(), "1 N0=1\n");
    EXPECT_EQ(counts_.total_objects(), "2 N0=2\n");
  }
  EXPECT_FALSE(counts_.find("d"));
}

TEST_F(SlabCountsTest, NameNoNodeWhereThereAreNoneOrSeveral) {
  for (const char* nodes : {"", "0-1\n", "1\n"}) {
    kernel_.nodes = nodes;
    ASSERT_TRUE(counts_.read(kernel_));
    ASSERT_TRUE(counts_.find("b"));
    EXPECT_EQ(counts_.slabs(), "1\n") << nodes;
  }
}

TEST_F(SlabCountsTest, OneNodeIsNumberZeroOrAKernelWithoutNodes) {
  Buffer scratch;
  for (const char* nodes : {"", "0\n"}) {
    kernel_.nodes = nodes;
    EXPECT_TRUE(has_one_node(kernel_, scratch)) << nodes;
  }
  for (const char* nodes : {"0-1\n", "1\n", "\n"}) {
    kernel_.nodes = nodes;
    EXPECT_FALSE(has_one_node(kernel_, scratch)) << nodes;
  }
}

}  // namespace
}  // namespace memstat
