// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/freebsd_tables.h"
#include "tests/support/process_kernel.h"

namespace memstat::inspections::freebsd_processes {
namespace {

/// A process of user 0, whatever its number.
std::string of_root(std::uint32_t pid, std::string_view command) {
  constexpr std::size_t kUidAt = 168;
  return exported_process(pid, command).replace(kUidAt, sizeof(std::uint32_t), sizeof(std::uint32_t), '\0');
}

TEST(WhoHasProcesses, ProgramsAreCountedByNameAndUser) {
  SysctlKernel kernel;
  kernel.set("kern.proc.proc", of_root(7, "fork") + of_root(8, "fork") + of_root(9, "fork") + of_root(10, "sh") +
                                   exported_process(11, "fork"));
  const auto answer = inspect(kernel, *find_inspection("processes", OperatingSystem::kFreeBsd)).value();
  ASSERT_EQ(answer.holders.size(), 3U);
  EXPECT_EQ(answer.holders[0].name, "fork");
  EXPECT_EQ(answer.holders[0].count, 3U);
  EXPECT_NE(answer.holders[0].user, "1011");
  EXPECT_EQ(answer.holders[0].pid, 0U);
}

TEST(WhoHasProcesses, AnUnreadableTableIsAnError) {
  SysctlKernel kernel;
  EXPECT_EQ(inspect(kernel, *find_inspection("processes", OperatingSystem::kFreeBsd)).error().code, ErrorCode::kNotPresent);
}

}  // namespace
}  // namespace memstat::inspections::freebsd_processes
