// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::user_tasks {
namespace {

std::string limits(std::string_view processes) {
  return "Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              "
         "unlimited      "
         "      unlimited            seconds   \nMax processes             " +
         std::string(processes) +
         "                 7900                 processes \nMax open files            1024  1024 files\n";
}

TEST(WhoUserTasks, AProcessThatCannotBeReadForLackOfDescriptorsIsNotOver) {
  ProcessKernel kernel;
  kernel.add(7, "java", 0, "", "Threads:\t300\n");
  kernel.failures["/proc/7/status"] = ENFILE;
  const InspectionAnswer answer = answer_of(kernel, "user-tasks");
  EXPECT_TRUE(answer.is_partial());
  EXPECT_EQ(answer.refused, 1U);
}

TEST(WhoUserTasks, AddUpThreadsAndZombiesAndHaveTheSmallestLimit) {
  ProcessKernel kernel;
  kernel.add(7, "java", 0, "", "Threads:\t300\n");
  kernel.add(8, "cron", 0, "", "Threads:\t1\n");
  kernel.files["/proc/7/limits"] = limits("4096");
  kernel.files["/proc/8/limits"] = limits("400");
  kernel.files["/proc/9/status"] = "Name:\tjob\nState:\tZ (zombie)\nUid:\t1000\t1000\nThreads:\t1\n";
  kernel.files["/proc/2/status"] = "Name:\tkthreadd\nUid:\t0\nThreads:\t1\n";
  const InspectionAnswer answer = answer_of(kernel, "user-tasks");
  ASSERT_EQ(holders_text(answer), "7 java tasks 302");
  EXPECT_EQ(answer.holders[0].limit, 400U);
  EXPECT_EQ(answer.holders[0].user, "1000");
}

TEST(WhoUserTasks, LimitsOfProgramsThatMustNotForkAndUnlimitedOnesAreNone) {
  ProcessKernel kernel;
  kernel.add(7, "sandbox", 0, "", "Threads:\t300\n");
  kernel.add(8, "odd", 0, "", "Threads:\t1\n");
  kernel.files["/proc/7/limits"] = limits("1");
  kernel.files["/proc/8/limits"] = limits("unlimited");
  EXPECT_EQ(answer_of(kernel, "user-tasks").holders.at(0).limit, std::nullopt);
  kernel.files["/proc/8/limits"] = "Max processes";
  EXPECT_EQ(answer_of(kernel, "user-tasks").holders.at(0).limit, std::nullopt);
}

TEST(WhoUserTasks, QueuedSignalsAreTheUsersAndNotOfOneProcess) {
  ProcessKernel kernel;
  kernel.add(7, "timers", 0, "", "Threads:\t2\nSigQ:\t900/31344\n");
  kernel.add(8, "other", 0, "", "Threads:\t1\nSigQ:\t901/1000\n");
  kernel.add(9, "odd", 0, "", "Threads:\t1\nSigQ:\tmany/x\n");
  const InspectionAnswer answer = answer_of(kernel, "user-tasks");
  ASSERT_EQ(holders_text(answer), "7 timers queued signals and timers 901; 7 timers tasks 4");
  EXPECT_EQ(answer.holders[0].limit, 1000U);
}

}  // namespace
}  // namespace memstat::inspections::user_tasks
