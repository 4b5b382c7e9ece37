// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::inotify {
namespace {

TEST(WhoInotify, OnlyInstancesOfInotifyCount) {
  ProcessKernel kernel;
  kernel.add(7, "watch", 5, "anon_inode:inotify");
  kernel.add(8, "poll", 9, "anon_inode:[eventpoll]");
  kernel.link(8, "anon_inode:inotify");
  kernel.link(8, "/tmp/anon_inode:inotify");
  EXPECT_EQ(holders_text(answer_of(kernel, "inotify")), "7 watch 5; 8 poll 1");
}

}  // namespace
}  // namespace memstat::inspections::inotify
