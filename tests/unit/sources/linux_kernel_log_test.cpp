// SPDX-License-Identifier: BSD-2-Clause
// The kernel's log as a source, from a handwritten table. Captures: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/result_checks.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_kernel_log_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_kernel_log"); }

TEST(LinuxKernelLog, HasCountsAndTheTable) {
  constexpr std::string_view kTable =
      "kernel_log 1\nlost 3\ncount oom_kill 4\ncount files_full 0\nevent oom_kill 5\ntext x\nend\n";
  RawBytes raw;
  raw.parts[0].assign(kTable);
  Staging staging;
  ASSERT_TRUE(parse_bytes(source(), raw, staging));
  const auto found = statistics_of(staging);
  EXPECT_EQ(found.at("kernel_log_events_total{oom_kill}"), 4U);
  EXPECT_EQ(found.at("kernel_log_events_total{files_full}"), 0U) << "a rate needs the value before the first event";
  EXPECT_FALSE(found.contains("kernel_log_events_total{audit_full}")) << "an older version did not look for it";
  EXPECT_EQ(found.at("kernel_log_lost_records_total"), 3U);
  EXPECT_EQ(staging.kernel_log(), kTable);
  raw.parts[0].assign(kTable.substr(0, kTable.size() - 1));
  EXPECT_TRUE(fails(parse_bytes(source(), raw, staging), {.code = ErrorCode::kData, .path = "/dev/kmsg"}));
}

}  // namespace
}  // namespace memstat::linux_kernel_log_test
