// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::zombies {
namespace {

TEST(WhoZombies, AreCountedForTheirParent) {
  ProcessKernel kernel;
  kernel.add(1, "init");
  kernel.add(7, "cron");
  for (int i = 0; i < 5; ++i) {
    const std::string parent = i < 4 ? "7" : i == 4 ? "1" : "99";
    kernel.files["/proc/" + std::to_string(100 + i) + "/status"] =
        "Name:\tjob\nState:\tZ (zombie)\nPPid:\t" + parent + "\nUid:\t0\nThreads:\t1\n";
  }
  kernel.add(50, "running", 0, "", "State:\tS (sleeping)\nPPid:\t7\n");
  EXPECT_EQ(holders_text(answer_of(kernel, "zombies")), "7 cron 4; 1 init 1");
}

TEST(WhoZombies, OfAVanishedParentHaveNoHolder) {
  ProcessKernel kernel;
  kernel.add(1, "init");
  kernel.files["/proc/100/status"] = "Name:\tjob\nState:\tZ (zombie)\nPPid:\t99\nUid:\t0\n";
  kernel.files["/proc/101/status"] = "Name:\tjob\nState:\tZ (zombie)\nPPid:\t0\nUid:\t0\n";
  kernel.files["/proc/102/status"] = "Name:\tjob\nState:\tZ";
  EXPECT_EQ(holders_text(answer_of(kernel, "zombies")), "");
}

}  // namespace
}  // namespace memstat::inspections::zombies
