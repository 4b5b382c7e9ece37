// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::terminals {
namespace {

TEST(WhoTerminals, AreOpenMasters) {
  ProcessKernel kernel;
  kernel.add(7, "expect", 3, "/dev/ptmx");
  kernel.add(8, "sshd", 2, "/dev/pts/ptmx");
  kernel.link(8, "/dev/pts/4");
  kernel.add(9, "bash", 3, "/dev/pts/4");
  EXPECT_EQ(holders_text(answer_of(kernel, "terminals")), "7 expect 3; 8 sshd 2");
}

}  // namespace
}  // namespace memstat::inspections::terminals
