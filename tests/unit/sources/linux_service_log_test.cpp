// SPDX-License-Identifier: BSD-2-Clause
// Kills by programs as a source, from a handwritten table. The journal: tests/unit/collect/journal_messages_test.cpp.
#include "core/query.h"
#include "tests/support/result_checks.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_service_log_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_service_log"); }

TEST(LinuxServiceLog, HasTheCountAndTheTable) {
  constexpr std::string_view kTable = "kernel_log 1\nlost 0\ncount program_kill 4\nevent program_kill 5\ntext x\nend\n";
  RawBytes raw;
  raw.parts[0].assign(kTable);
  Staging staging;
  ASSERT_TRUE(parse_bytes(source(), raw, staging));
  const std::map<std::string, std::uint64_t> expected = {{"program_kills_total", 4}};
  EXPECT_EQ(statistics_of(staging), expected);
  EXPECT_EQ(staging.kernel_log(), kTable);
  for (std::size_t size = 0; size < kTable.size(); ++size) {
    raw.parts[0].assign(kTable.substr(0, size));
    EXPECT_TRUE(fails(parse_bytes(source(), raw, staging), {.code = ErrorCode::kData, .path = "the journal"})) << size;
  }
}

}  // namespace
}  // namespace memstat::linux_service_log_test
