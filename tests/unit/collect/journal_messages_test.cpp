// SPDX-License-Identifier: BSD-2-Clause
// The journal's messages, from files that systemd-journal-remote makes.
#include "core/collect/journal_messages.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "tests/support/journal_files.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::journal_messages_test {
namespace {

using testing::ElementsAre;

constexpr std::string_view kUnits[] = {"earlyoom.service", "kubelet.service"};
constexpr std::string_view kMessage = "d989611b15e44c9dbf31e3c81256e4ed";
constexpr std::string_view kEarlyoom = "_SYSTEMD_UNIT=earlyoom.service";

/// "UNIT TIME TEXT" of each message that can be read now.
std::vector<std::string> read_all(JournalMessages& messages) {
  std::vector<std::string> found;
  EXPECT_TRUE(messages.follow());
  for (;;) {
    const auto message = messages.next();
    if (!message) found.push_back(to_string(message.error()));
    if (!message || message->unit.empty()) return found;
    found.push_back(std::string(message->unit) + " " + std::to_string(message->time_us) + " " + std::string(message->text));
  }
}

class JournalMessagesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_write_journals()) GTEST_SKIP() << kJournalRemote << " is not installed";
    if (fails(open_missing(), {.detail = "without libsystemd"})) GTEST_SKIP() << "built without libsystemd";
  }
  Result<void> open_missing() {
    JournalMessages messages(kUnits, kMessage);
    messages.use(std::vector{directory_.file("missing")}, JournalText::kBoot);
    return messages.open();
  }
  /// Opens the file "a", and "b" if there is one.
  Result<void> open() {
    messages_.use(std::vector{directory_.file("a.journal"), directory_.file("b.journal")}, JournalText::kBoot);
    return messages_.open();
  }

  TemporaryDirectory directory_;
  JournalMessages messages_{kUnits, kMessage};
};

TEST_F(JournalMessagesTest, HasOnlyTheUnitsOfThisBoot) {
  ASSERT_TRUE(JournalText()
                  .add(kEarlyoom, 1, "an earlier boot", "ffffffffffffffffffffffffffffffff")
                  .add(kEarlyoom, 10, "one")
                  .add("SYSLOG_IDENTIFIER=earlyoom\n_COMM=earlyoom\n_SYSTEMD_UNIT=user@1000.service", 11, "forged")
                  .add("_PID=1\n_SYSTEMD_UNIT=init.scope\nMESSAGE_ID=" + std::string(kMessage), 12, "two")
                  .add("_PID=77\n_SYSTEMD_UNIT=user@1000.service\nMESSAGE_ID=" + std::string(kMessage), 13, "forged")
                  .add("_PID=1\n_SYSTEMD_UNIT=init.scope\nMESSAGE_ID=ffffffffffffffffffffffffffffffff", 14, "other")
                  .add("_SYSTEMD_UNIT=kubelet.service", 15, "three")
                  .append_to(directory_.file("a.journal")));
  ASSERT_TRUE(open());
  EXPECT_THAT(read_all(messages_), ElementsAre("earlyoom.service 10 one", "init.scope 12 two", "kubelet.service 15 three"));
  EXPECT_THAT(read_all(messages_), ElementsAre());
}

TEST_F(JournalMessagesTest, SeesWhatIsAppended) {
  ASSERT_TRUE(JournalText().add("_SYSTEMD_UNIT=sshd.service", 1, "other").append_to(directory_.file("a.journal")));
  ASSERT_TRUE(open());
  EXPECT_THAT(read_all(messages_), ElementsAre()) << "a journal without such a message";
  ASSERT_TRUE(JournalText().add(kEarlyoom, 2, "one").append_to(directory_.file("a.journal")));
  EXPECT_THAT(read_all(messages_), ElementsAre("earlyoom.service 2 one"));
  ASSERT_TRUE(JournalText().add(kEarlyoom, 3, "two").add(kEarlyoom, 3, "three").append_to(directory_.file("a.journal")));
  EXPECT_THAT(read_all(messages_), ElementsAre("earlyoom.service 3 two", "earlyoom.service 3 three"));
}

TEST_F(JournalMessagesTest, FollowsTheFileThatReplacesIt) {
  ASSERT_TRUE(JournalText().add(kEarlyoom, 1, "one").append_to(directory_.file("a.journal")));
  ASSERT_TRUE(open());
  EXPECT_THAT(read_all(messages_), ElementsAre("earlyoom.service 1 one"));
  ASSERT_TRUE(JournalText().add(kEarlyoom, 2, "two").append_to(directory_.file("a.journal")));
  ASSERT_EQ(std::rename(directory_.file("a.journal").c_str(), directory_.file("archived").c_str()), 0);
  ASSERT_TRUE(JournalText().add(kEarlyoom, 3, "three").append_to(directory_.file("a.journal")));
  EXPECT_THAT(read_all(messages_), ElementsAre("earlyoom.service 2 two", "earlyoom.service 3 three"))
      << "the end of the file before comes first";
}

TEST_F(JournalMessagesTest, DoesNotRepeatWhatMovesToDisk) {
  ASSERT_TRUE(JournalText().add(kEarlyoom, 1, "one").append_to(directory_.file("a.journal")));
  ASSERT_TRUE(open());
  EXPECT_THAT(read_all(messages_), ElementsAre("earlyoom.service 1 one"));
  ASSERT_TRUE(JournalText().add(kEarlyoom, 1, "one").add(kEarlyoom, 2, "two").append_to(directory_.file("b.journal")));
  ASSERT_EQ(std::remove(directory_.file("a.journal").c_str()), 0);
  EXPECT_THAT(read_all(messages_), ElementsAre("earlyoom.service 2 two"));
  EXPECT_THAT(read_all(messages_), ElementsAre());
}

TEST_F(JournalMessagesTest, BeginsWithTheLastMessages) {
  JournalText text;
  for (std::uint64_t i = 1; i <= JournalMessages::kMaxEarlier + 10; ++i) text.add(kEarlyoom, i, "line");
  ASSERT_TRUE(text.append_to(directory_.file("a.journal")));
  ASSERT_TRUE(open());
  const std::vector<std::string> found = read_all(messages_);
  ASSERT_EQ(found.size(), JournalMessages::kMaxEarlier);
  EXPECT_EQ(found.front(), "earlyoom.service 11 line");
}

TEST_F(JournalMessagesTest, BeginsAtTheEndForReadersOfWhatFollows) {
  JournalText text;
  for (int i = 0; i < 50; ++i) text.add(kEarlyoom, 10 + static_cast<std::uint64_t>(i), "early " + std::to_string(i));
  ASSERT_TRUE(text.append_to(directory_.file("a.journal")));
  JournalMessages messages(kUnits, kMessage, 1);
  messages.use(std::vector{directory_.file("a.journal")}, JournalText::kBoot);
  ASSERT_TRUE(messages.open());
  EXPECT_THAT(read_all(messages), ElementsAre("earlyoom.service 59 early 49"));
  ASSERT_TRUE(JournalText().add(kEarlyoom, 60'000'000, "later").append_to(directory_.file("a.journal")));
  EXPECT_THAT(read_all(messages), ElementsAre("earlyoom.service 60000000 later"));
}

TEST_F(JournalMessagesTest, SaysWhyThereAreNone) {
  EXPECT_TRUE(fails(open_missing(), {.code = ErrorCode::kNotPresent, .path = "the journal", .detail = "no journal"}));
  write_text(directory_.file("a.journal"), "not a journal");
  EXPECT_FALSE(open());
  if (::geteuid() == 0) return;  // root may read it
  ASSERT_TRUE(JournalText().add(kEarlyoom, 1, "one").append_to(directory_.file("b.journal")));
  ASSERT_EQ(::chmod(directory_.file("b.journal").c_str(), 0), 0);
  ASSERT_EQ(std::remove(directory_.file("a.journal").c_str()), 0);
  EXPECT_TRUE(fails(open(), {.code = ErrorCode::kPermission, .detail = "group systemd-journal"}));
}

}  // namespace
}  // namespace memstat::journal_messages_test
