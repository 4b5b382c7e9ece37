// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::page_tables {
namespace {

TEST(WhoPageTables, TheLineOfStatusCountsInBytes) {
  ProcessKernel kernel;
  kernel.add(7, "small", 0, "", "VmPTE:\t      12 kB\n");
  kernel.add(8, "large", 0, "", "VmPTE:\t     800 kB\nVmSwap:\t 9999 kB\n");
  kernel.add(9, "none", 0, "", "VmPTE:\t       0 kB\n");
  EXPECT_EQ(holders_text(answer_of(kernel, "page-tables")), "8 large 819200B; 7 small 12288B");
}

TEST(WhoPageTables, ADamagedOrHugeNumberIsNone) {
  ProcessKernel kernel;
  kernel.add(7, "huge", 0, "", "VmPTE:\t 18446744073709551615 kB\n");
  kernel.add(8, "wide", 0, "", "VmPTE:\t 99999999999999999999999 kB\n");
  kernel.add(9, "text", 0, "", "VmPTE:\tmany kB\n");
  kernel.add(10, "bare", 0, "", "VmPTE:\n");
  EXPECT_EQ(holders_text(answer_of(kernel, "page-tables")), "");
}

}  // namespace
}  // namespace memstat::inspections::page_tables
