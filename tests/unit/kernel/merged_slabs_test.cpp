// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/merged_slabs.h"

#include "tests/support/slab_kernel.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(MergedSlabs, AreTheNamesThatLeadToOneDirectory) {
  SlabKernel kernel;
  kernel.add("dentry", {});
  kernel.add_directory(":0000080", {});
  kernel.add_directory(":0000064", {});
  kernel.links = {{"sigqueue", ":0000080"}, {"a!b", ":0000080"}, {"inotify_inode_mark", ":0000080"}, {"alone", ":0000064"}};
  const MergedSlabs merged = MergedSlabs::read(kernel);
  EXPECT_THAT(merged.names_of("sigqueue"), ElementsAre("a/b", "inotify_inode_mark", "sigqueue"));
  EXPECT_THAT(merged.names_of("a/b"), ElementsAre("a/b", "inotify_inode_mark", "sigqueue"));
  EXPECT_THAT(merged.names_of("alone"), IsEmpty()) << "it has no other name";
  EXPECT_THAT(merged.names_of("dentry"), IsEmpty()) << "a directory of its own";
  EXPECT_THAT(merged.names_of("no such"), IsEmpty());
}

TEST(MergedSlabs, AreNoneWhereTheKernelShowsNoCaches) {
  SlabKernel kernel;
  kernel.failures["/sys/kernel/slab"] = EACCES;
  EXPECT_TRUE(MergedSlabs::read(kernel).empty());
}

}  // namespace
}  // namespace memstat
