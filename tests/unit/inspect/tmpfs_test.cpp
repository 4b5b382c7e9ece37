// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/collect/mount_sizes.h"
#include "tests/support/process_kernel.h"

namespace memstat::inspections::tmpfs {
namespace {

constexpr std::string_view kMounts =
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "25 24 0:23 / /dev/shm rw,relatime shared:4 master:2 - tmpfs tmpfs rw,size=24684084k\n"
    "28 27 0:25 / /mnt/a\\040b\\011 ro - tmpfs none ro\n"
    "29 27 0:26 / /mnt/tmpfs rw - overlay tmpfs rw\n"
    "30 27 0:27 - tmpfs x rw\n"
    "cut 0:28";

TEST(WhoTmpfs, MountsOfEachNamespaceCountOnce) {
  ProcessKernel kernel;
  kernel.links["/proc/self/ns/mnt"] = "mnt:[1]";
  kernel.files["/proc/self/mountinfo"] = kMounts;
  for (const std::uint64_t pid : {7, 8, 9}) kernel.add(pid, "p" + std::to_string(pid));
  kernel.links["/proc/7/ns/mnt"] = "mnt:[1]";
  kernel.links["/proc/8/ns/mnt"] = "mnt:[2]";
  kernel.files["/proc/8/mountinfo"] = "40 39 0:23 / /shm rw - tmpfs x rw\n41 39 0:50 / /run rw - tmpfs x rw\n";
  kernel.failures["/proc/9/ns/mnt"] = EACCES;
  kernel.tables["mount_sizes"] = "0 4096 2\n1 0 1\n2 1048576 0\n9 1 1\nbroken\n";
  const InspectionAnswer answer = answer_of(kernel, "tmpfs");
  EXPECT_EQ(holders_text(answer), "8 p8 /run 1048576B; /dev/shm 2 4096B; /mnt/a b\\x09 1 0B");
  EXPECT_EQ(answer.refused, 1U);
}

TEST(WhoTmpfs, PathsOfMountinfoAreUnescaped) {
  EXPECT_EQ(unescaped_path("/a\\040b\\134c"), "/a b\\c");
  EXPECT_EQ(unescaped_path("/a\\04"), "/a\\04");
  EXPECT_EQ(unescaped_path("\\999"), "\\999");
  EXPECT_EQ(tmpfs_mounts(kMounts).size(), 2U);
  EXPECT_TRUE(tmpfs_mounts("").empty());
}

TEST(WhoTmpfs, LiveMountsHaveTheirSizes) {
  const auto view = make_live_kernel_view();
  ASSERT_TRUE(view);
  Buffer text;
  if (!(*view)->read_file("/proc/self/mountinfo", text)) GTEST_SKIP() << "no mountinfo here";
  const std::vector<MountPoint> mounts = tmpfs_mounts(text.view());
  if (mounts.empty()) GTEST_SKIP() << "no tmpfs is mounted here";
  MountSizesTable table(mounts);
  ASSERT_TRUE(table.read(text));
  EXPECT_LE(parse_mount_sizes(text.view()).size(), mounts.size());
}

}  // namespace
}  // namespace memstat::inspections::tmpfs
