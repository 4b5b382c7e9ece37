// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::maps {
namespace {

TEST(WhoMaps, ReadsThoseOfProcessesThatAreLargeEnough) {
  ProcessKernel kernel;
  kernel.files["/proc/sys/vm/max_map_count"] = "100\n";
  kernel.add(7, "java", 0, "", "VmSize:\t 4000 kB\n");
  kernel.add(8, "sh", 0, "", "VmSize:\t 20 kB\n");
  kernel.files["/proc/7/maps"] = "1-2 rw-p 0 0 0\n2-3 r--p 0 0 0\n";
  kernel.files["/proc/8/maps"] = "1-2 rw-p 0 0 0\n";
  const InspectionAnswer answer = answer_of(kernel, "maps");
  ASSERT_EQ(holders_text(answer), "7 java 2");
  EXPECT_EQ(answer.holders[0].limit, 100U);
}

TEST(WhoMaps, AProcessThatMayNotBeLookedIntoIsRefused) {
  ProcessKernel kernel;
  kernel.files["/proc/sys/vm/max_map_count"] = "100\n";
  kernel.add(7, "java", 0, "", "VmSize:\t 4000 kB\n");
  kernel.failures["/proc/7/maps"] = EACCES;
  EXPECT_EQ(answer_of(kernel, "maps").refused, 1U);
}

}  // namespace
}  // namespace memstat::inspections::maps
