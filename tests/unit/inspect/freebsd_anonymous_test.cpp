// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/freebsd_tables.h"
#include "tests/support/process_kernel.h"

namespace memstat::inspections::freebsd_anonymous {
namespace {

TEST(WhoAnonymousOnFreeBsd, ResidentPagesCountInBytesAndThoseOfTheKernelDoNot) {
  SysctlKernel kernel;
  constexpr std::uint64_t kKernelProcess = 4;  // P_KPROC
  kernel.set("kern.proc.proc", exported_process(0, "kernel", 900, 0, kKernelProcess) + exported_process(7, "small", 3) +
                                   exported_process(8, "large", 200) + exported_process(9, "zombie", 0));
  const auto answer = inspect(kernel, *find_inspection("anonymous", OperatingSystem::kFreeBsd)).value();
  EXPECT_EQ(holders_text(answer), "8 large 819200B; 7 small 12288B");
  EXPECT_EQ(answer.things, "of resident memory");
}

TEST(WhoAnonymousOnFreeBsd, AHugeNumberDoesNotWrap) {
  SysctlKernel kernel;
  kernel.set("kern.proc.proc", exported_process(7, "huge", 1ULL << 60U));
  EXPECT_EQ(holders_text(inspect(kernel, *find_inspection("anonymous", OperatingSystem::kFreeBsd)).value()),
            "7 huge 18446744073709551615B");
}

}  // namespace
}  // namespace memstat::inspections::freebsd_anonymous
