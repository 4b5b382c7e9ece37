// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::watches {
namespace {

constexpr std::string_view kLine =
    "inotify wd:1 ino:22f sdev:1 mask:100 ignored_mask:0 fhandle-bytes:c fhandle-type:1 f_handle:0\n";

std::string fdinfo(int watches) {
  std::string text = "pos:\t0\nflags:\t00\nmnt_id:\t15\nino:\t1057\n";
  for (int i = 0; i < watches; ++i) text += kLine;
  return text;
}

TEST(WhoWatches, WatchesOfAllDescriptorsOfAProcessAddUp) {
  ProcessKernel kernel;
  kernel.add(7, "editor");
  kernel.add(8, "sync");
  for (const int count : {3, 4}) {
    kernel.files["/proc/7/fdinfo/" + kernel.link(7, "anon_inode:inotify")] = fdinfo(count);
  }
  kernel.files["/proc/8/fdinfo/" + kernel.link(8, "anon_inode:inotify")] = fdinfo(20);
  kernel.files["/proc/8/fdinfo/" + kernel.link(8, "/tmp/inotify")] = fdinfo(99);
  EXPECT_EQ(holders_text(answer_of(kernel, "watches")), "8 sync 20; 7 editor 7");
}

TEST(WhoWatches, SkipsAClosedDescriptorAndOneWithoutWatches) {
  ProcessKernel kernel;
  kernel.add(7, "editor");
  kernel.link(7, "anon_inode:inotify");
  kernel.files["/proc/7/fdinfo/" + kernel.link(7, "anon_inode:inotify")] = fdinfo(0);
  EXPECT_EQ(holders_text(answer_of(kernel, "watches")), "");
}

}  // namespace
}  // namespace memstat::inspections::watches
