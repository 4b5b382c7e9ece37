// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's log as a source, from handwritten message buffers. Captures: tests/guests/checker.py.
#include "core/model/kernel_log.h"
#include "core/query.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/sysctl_kernel.h"
#include "tests/support/test.h"

namespace memstat::freebsd_kernel_log_test {
namespace {

constexpr std::string_view kFilesLine = "kern.maxfiles limit exceeded by uid 7, (x) please see tuning(7).\n";

const SourceDescriptor& source() { return *find_source("freebsd_kernel_log"); }

/// A kernel whose tables are made from its own sysctls, as in a live view.
class FreeBsdKernelLog : public testing::Test {
 protected:
  void print(std::string_view lines) {
    messages_ += lines;
    kernel_.set("kern.msgbuf", messages_ + '\0');
  }
  /// The events of one kind after another read.
  std::uint64_t count(const std::string& event) {
    EXPECT_TRUE(refresh(reader_, kernel_, list_, 1));
    return statistics_of(reader_.staging).at("kernel_log_events_total{" + event + "}");
  }

  std::string messages_;
  SysctlKernel kernel_;
  SourceReader reader_{source()};
  MemoryTypeList list_;
};

TEST_F(FreeBsdKernelLog, CountsEachLineOnce) {
  print("Copyright\n" + std::string(kFilesLine));
  EXPECT_EQ(count("files_full"), 1U);
  EXPECT_EQ(count("files_full"), 1U);
  EXPECT_EQ(count("processes_full"), 0U) << "a rate needs the value before the first event";
  print(kFilesLine);
  EXPECT_EQ(count("files_full"), 2U);
  const std::string& table = reader_.staging.kernel_log();
  EXPECT_NE(table.find("event files_full -\ntext kern.maxfiles"), std::string::npos) << "its time is unknown: " << table;
  EXPECT_EQ(table.find("count oom_kill"), table.find("count ")) << "and no events of other systems: " << table;
  EXPECT_EQ(table.find("conntrack"), std::string::npos);
  LogTable parsed;
  ASSERT_FALSE(read_log_table(table, parsed));
  ASSERT_EQ(parsed.size, 2U);
  EXPECT_FALSE(parsed.events[0].has_time);
  EXPECT_GT(parsed.events[1].time_us, 0U);
}

TEST_F(FreeBsdKernelLog, CountsKillsAsLinuxDoes) {
  print("Copyright\n");
  count("oom_kill");
  EXPECT_EQ(statistics_of(reader_.staging).at("oom_kills_total"), 0U);
  print(
      "<3>pid 7 (a), jid 0, uid 1, was killed: failed to reclaim memory\n<3>pid 8 (b), jid 0, uid 1, was killed: for fun\n");
  EXPECT_EQ(count("oom_kill"), 1U);
  EXPECT_EQ(statistics_of(reader_.staging).at("oom_kills_total"), 1U);
}

TEST_F(FreeBsdKernelLog, WaitsForTheEndOfALine) {
  print(kFilesLine.substr(0, 40));
  EXPECT_EQ(count("files_full"), 0U);
  print(kFilesLine.substr(40));
  EXPECT_EQ(count("files_full"), 1U);
}

TEST_F(FreeBsdKernelLog, ContinuesAfterTheRingWasOverwrittenOrCleared) {
  print(std::string(kFilesLine) + "a\nb\n");
  EXPECT_EQ(count("files_full"), 1U);
  messages_ = "b\n";
  print(kFilesLine);
  EXPECT_EQ(count("files_full"), 2U);
  messages_ = "";
  print("");
  EXPECT_EQ(count("files_full"), 2U) << "a counter does not go back";
  print(kFilesLine);
  EXPECT_EQ(count("files_full"), 3U);
}

TEST_F(FreeBsdKernelLog, ForgetsTheKernelBeforeAWarmReboot) {
  print(std::string(kFilesLine) + "---<<BOOT>>---\nCopyright (c) 1992-2025 The FreeBSD Project.\n" +
        std::string(kFilesLine));
  EXPECT_EQ(count("files_full"), 1U);
}

TEST_F(FreeBsdKernelLog, TakesTheTimeOfTheLog) {
  print("[12] " + std::string(kFilesLine));
  EXPECT_EQ(count("files_full"), 1U);
  EXPECT_NE(reader_.staging.kernel_log().find("event files_full 12000000\ntext kern.maxfiles"), std::string::npos);
}

}  // namespace
}  // namespace memstat::freebsd_kernel_log_test
