// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::freebsd_group_limits {
namespace {

TEST(WhoGroupLimitsOnFreeBsd, RulesNearTheirLimitsAndNoDamagedOnes) {
  ProcessKernel kernel;
  kernel.tables["resource_limits"] =
      "20 jail:j1:maxproc:deny=20\n62914560 jail:j1:memoryuse:deny=62914560\n7 jail:j1:nthr:deny=20\n"
      "19 user:1001:maxproc:deny=20\n9 loginclass:daemon:nthr:deny=10\n5 jail:none:maxproc:deny=5/process\n"
      "5 jail:none:maxproc:deny=0\n5 jail:none:maxproc:log=5\nx jail:none:maxproc:deny=5\n5 :deny=5\n5\n\n"
      "5 jail:none:deny=5\n18446744073709551616 jail:none:maxproc:deny=5\n";
  const auto answer = inspect(kernel, *find_inspection("group-limits", OperatingSystem::kFreeBsd)).value();
  std::string text;
  for (const Holder& one : answer.holders) {
    text += one.group + " " + one.name + " " + std::to_string(*one.count) + " of " + std::to_string(*one.limit) + "; ";
  }
  EXPECT_EQ(text,
            "jail j1 memoryuse 62914560 of 62914560; jail j1 maxproc 20 of 20; user 1001 maxproc 19 of 20; "
            "loginclass daemon nthr 9 of 10; ");
}

TEST(WhoGroupLimitsOnFreeBsd, AnotherSystemHasNoAnswer) {
#if !defined(__FreeBSD__)
  ProcessKernel kernel;
  EXPECT_EQ(inspect(kernel, *find_inspection("group-limits", OperatingSystem::kFreeBsd)).error().code,
            ErrorCode::kNotPresent);
#endif
}

}  // namespace
}  // namespace memstat::inspections::freebsd_group_limits
