// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::threads {
namespace {

TEST(WhoThreads, AreOfProcessesWithMemory) {
  ProcessKernel kernel;
  kernel.add(7, "java", 0, "", "Threads:\t312\n");
  kernel.add(8, "sh", 0, "", "Threads:\t1\n");
  kernel.add(9, "odd", 0, "", "Threads:\tmany\n");
  kernel.files["/proc/2/status"] = "Name:\tkthreadd\nUid:\t0\nThreads:\t1\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "threads")), "7 java 312; 8 sh 1");
}

TEST(WhoThreads, OfProcessesThatProcHidesAreMissing) {
  ProcessKernel kernel;
  kernel.add(7, "sh", 0, "", "Threads:\t1\n");
  EXPECT_FALSE(answer_of(kernel, "threads").is_partial());
  kernel.tables["linux_view"] = "view 1\nlacks hidden_processes\nend\n";
  EXPECT_EQ(answer_of(kernel, "threads").view.names(), "hidden_processes");
  EXPECT_TRUE(answer_of(kernel, "threads").is_partial());
  kernel.failures["/proc/1/status"] = EPERM;
  kernel.files["/proc/1/status"] = "";
  EXPECT_EQ(answer_of(kernel, "threads").refused, 1U) << "hidepid=1 shows that it is there";
}

}  // namespace
}  // namespace memstat::inspections::threads
