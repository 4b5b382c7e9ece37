// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::locked {
namespace {

TEST(WhoLocked, TheLineOfStatusCountsInBytes) {
  ProcessKernel kernel;
  kernel.add(7, "small", 0, "", "VmLck:\t      12 kB\n");
  kernel.add(8, "large", 0, "", "VmLck:\t     800 kB\nVmPin:\t 9999 kB\n");
  kernel.add(9, "none", 0, "", "VmLck:\t       0 kB\n");
  EXPECT_EQ(holders_text(answer_of(kernel, "locked")), "8 large 819200B; 7 small 12288B");
}

TEST(WhoLocked, ADamagedOrHugeNumberIsNone) {
  ProcessKernel kernel;
  kernel.add(7, "huge", 0, "", "VmLck:\t 18446744073709551615 kB\n");
  kernel.add(8, "wide", 0, "", "VmLck:\t 99999999999999999999999 kB\n");
  kernel.add(9, "text", 0, "", "VmLck:\tmany kB\n");
  kernel.add(10, "bare", 0, "", "VmLck:\n");
  EXPECT_EQ(holders_text(answer_of(kernel, "locked")), "");
}

}  // namespace
}  // namespace memstat::inspections::locked
