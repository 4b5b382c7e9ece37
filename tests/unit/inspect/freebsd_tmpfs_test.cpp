// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::freebsd_tmpfs {
namespace {

TEST(WhoTmpfsOnFreeBsd, EachLineIsOneAndDamagedLinesAreLeftOut) {
  ProcessKernel kernel;
  kernel.tables["tmpfs_mounts"] = "4096 2 /tmp/a b\n9999 1 kernel\n1 x damaged\n1 1\n\n18446744073709551616 1 large\n";
  const auto answer = inspect(kernel, *find_inspection("tmpfs", OperatingSystem::kFreeBsd)).value();
  EXPECT_EQ(holders_text(answer), "kernel 1 9999B; /tmp/a b 2 4096B");
}

TEST(WhoTmpfsOnFreeBsd, AnotherSystemHasNoAnswer) {
#if !defined(__FreeBSD__)
  ProcessKernel kernel;
  EXPECT_EQ(inspect(kernel, *find_inspection("tmpfs", OperatingSystem::kFreeBsd)).error().code, ErrorCode::kNotPresent);
#endif
}

}  // namespace
}  // namespace memstat::inspections::freebsd_tmpfs
