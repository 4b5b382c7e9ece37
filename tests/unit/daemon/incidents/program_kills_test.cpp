// SPDX-License-Identifier: BSD-2-Clause
// Kills by programs are noticed when the journal is written, in files that systemd-journal-remote makes.
#include "daemon/incidents/program_kills.h"

#include <poll.h>

#include <vector>

#include "tests/support/journal_files.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::string_view kEarlyoom = "_SYSTEMD_UNIT=earlyoom.service";
constexpr std::string_view kKill = "sending SIGTERM to process 77 uid 1000 \"hog\": badness 900, VmRSS 500 MiB";

class ProgramKillsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_write_journals()) GTEST_SKIP() << kJournalRemote << " is not installed";
    ASSERT_TRUE(JournalText().add(kEarlyoom, 1, "earlyoom 1.7").add(kEarlyoom, 2, kKill).append_to(path()));
    kills_.use(std::vector{path()}, JournalText::kBoot);
    if (!kills_.open()) GTEST_SKIP() << "built without libsystemd";
  }
  [[nodiscard]] std::string path() const { return directory_.file("system.journal"); }
  [[nodiscard]] bool is_readable() const {
    pollfd waiting{.fd = kills_.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) == 1;
  }

  TemporaryDirectory directory_;
  ProgramKills kills_;
};

TEST_F(ProgramKillsTest, BeforeItWasOpenedAreNotNew) {
  EXPECT_FALSE(is_readable());
  EXPECT_FALSE(kills_.has_new());
}

TEST_F(ProgramKillsTest, AreNoticedOnceWhenTheyAreWritten) {
  ASSERT_TRUE(JournalText().add(kEarlyoom, 60'000'003, kKill).append_to(path()));
  EXPECT_TRUE(is_readable());
  EXPECT_TRUE(kills_.has_new());
  EXPECT_FALSE(is_readable());
  EXPECT_FALSE(kills_.has_new());
}

TEST_F(ProgramKillsTest, OtherMessagesAreNotKills) {
  ASSERT_TRUE(JournalText()
                  .add(kEarlyoom, 60'000'003, "mem avail: 900 of 2000 MiB (45.00%)")
                  .add("_SYSTEMD_UNIT=user@1000.service", 60'000'004, kKill)
                  .append_to(path()));
  EXPECT_TRUE(is_readable());
  EXPECT_FALSE(kills_.has_new());
}

TEST_F(ProgramKillsTest, InTheFileThatReplacesTheJournalAreNoticed) {
  ASSERT_EQ(std::rename(path().c_str(), directory_.file("system@1.journal").c_str()), 0);
  ASSERT_TRUE(JournalText().add(kEarlyoom, 60'000'003, kKill).append_to(path()));
  EXPECT_TRUE(is_readable());
  EXPECT_TRUE(kills_.has_new());
}

TEST(ProgramKills, WithoutAJournalAreNotWatched) {
  const TemporaryDirectory directory;
  ProgramKills kills;
  kills.use(std::vector{directory.file("missing/system.journal")}, JournalText::kBoot);
  EXPECT_FALSE(kills.open());
  EXPECT_LT(kills.descriptor(), 0);
}

}  // namespace
}  // namespace memstat
