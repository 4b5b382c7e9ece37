// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::eventfds {
namespace {

TEST(WhoEventfds, OnlyEventfdsCount) {
  ProcessKernel kernel;
  kernel.add(7, "loop", 5, "anon_inode:[eventfd]");
  kernel.add(8, "poll", 9, "anon_inode:[eventpoll]");
  kernel.link(8, "anon_inode:[eventfd]");
  kernel.link(8, "/tmp/anon_inode:[eventfd]");
  EXPECT_EQ(holders_text(answer_of(kernel, "eventfds")), "7 loop 5; 8 poll 1");
}

}  // namespace
}  // namespace memstat::inspections::eventfds
