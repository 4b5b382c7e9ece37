// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/holders.h"

#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "core/base/packet_socket.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::string_view kAnswer =
    "\nmemstat who 1\nasked_ns 1 looked_at 1 refused 0 unlisted 0 is_cut 0\n7\tleaky\tme\t/x\t\t40\t\nend 1\n";

Finding about(std::string_view question) { return {.cause = "open_files_full", .inspection = question, .headline = {}}; }

/// The other end of the channel is the test.
class HoldersTest : public testing::Test {
 protected:
  HoldersTest() {
    PacketSockets ends = PacketSockets::make();
    peer_ = std::move(ends.theirs);
    channel_ = std::make_shared<InspectionChannel>(std::move(ends.ours));
    holders_ = std::make_unique<Holders>(channel_, OperatingSystem::kLinux, "");
  }
  /// The questions that have arrived.
  std::vector<std::string> questions() {
    std::vector<std::string> all;
    InspectionChannel ours{UniqueFd(dup(peer_.get()))};  // does not wait, like its end
    std::array<char, 64> room{};
    while (true) {
      const Packet packet = receive_packet(peer_.get(), room);
      if (packet.state != Packet::State::kWhole) return all;
      all.emplace_back(room.data(), packet.size);
    }
  }
  void answer(std::string question) { ASSERT_TRUE(send_packet(peer_.get(), question += kAnswer)); }

  FakeKernelView view_{OperatingSystem::kLinux, 1};
  UniqueFd peer_;
  std::shared_ptr<InspectionChannel> channel_;
  std::unique_ptr<Holders> holders_;
};

TEST_F(HoldersTest, AsksOnceForAFindingAndKeepsTheAnswerWhileItIsActive) {
  const Finding finding = about("files");
  holders_->ask(finding, 0);
  EXPECT_EQ(holders_->why_unasked(), "being asked");
  holders_->ask(finding, kSecondNs);
  EXPECT_THAT(questions(), testing::ElementsAre("files")) << "pending";
  EXPECT_FALSE(holders_->collect(2 * kSecondNs, view_));
  answer("files");
  EXPECT_TRUE(holders_->collect(3 * kSecondNs, view_));
  ASSERT_EQ(holders_->answers().size(), 1U);
  EXPECT_EQ(holders_->answers()[0].holders.at(0).command, "leaky");
  holders_->ask(finding, 3 * kSecondNs + Holders::kFreshNs - 1);
  EXPECT_THAT(questions(), testing::IsEmpty()) << "the answer is fresh";
  const Finding present[] = {finding};
  holders_->keep(present, Holders::kKeepNs);
  holders_->keep({}, 2 * Holders::kKeepNs - 1);
  EXPECT_EQ(holders_->answers().size(), 1U);
  holders_->keep({}, 2 * Holders::kKeepNs);
  EXPECT_TRUE(holders_->answers().empty());
  holders_->ask(finding, 2 * Holders::kKeepNs);
  EXPECT_THAT(questions(), testing::ElementsAre("files")) << "it begins again";
}

TEST_F(HoldersTest, ALaterFindingAsksAgainAndReplacesTheAnswer) {
  holders_->ask(about("files"), 0);
  answer("files");
  EXPECT_TRUE(holders_->collect(0, view_));
  holders_->ask(about("files"), Holders::kFreshNs);
  EXPECT_THAT(questions(), testing::ElementsAre("files", "files"));
  EXPECT_EQ(holders_->answers().size(), 1U) << "the old one serves until then";
  answer("files");
  EXPECT_TRUE(holders_->collect(Holders::kFreshNs, view_));
  EXPECT_EQ(holders_->answers().size(), 1U);
}

TEST_F(HoldersTest, AsksAgainWhileAFindingIsUrgentWithinItsShareOfAProcessor) {
  Finding finding = about("files");
  finding.severity = Severity::kSoon;
  const auto keep = [&](std::int64_t now_ns) {
    const Finding present[] = {finding};
    holders_->keep(present, now_ns);
    return questions();
  };
  holders_->ask(finding, 0);
  answer("files 1000000000");  // nanoseconds of CPU
  EXPECT_TRUE(holders_->collect(0, view_));
  EXPECT_THAT(questions(), testing::ElementsAre("files"));
  const std::int64_t rested_ns = Holders::kShare * kSecondNs;
  EXPECT_THAT(keep(rested_ns - 1), testing::IsEmpty()) << "the answer was dear";
  EXPECT_THAT(keep(rested_ns), testing::ElementsAre("files"));
  EXPECT_THAT(keep(rested_ns + Holders::kAgainNs), testing::IsEmpty()) << "pending";
  EXPECT_EQ(holders_->answers().size(), 1U) << "the old one serves until then";
  answer("files 1000");
  EXPECT_TRUE(holders_->collect(2 * rested_ns, view_));
  EXPECT_THAT(keep(2 * rested_ns + Holders::kAgainNs - 1), testing::IsEmpty());
  finding.severity = Severity::kNotable;
  EXPECT_THAT(keep(2 * rested_ns + Holders::kAgainNs), testing::IsEmpty()) << "nothing is about to fail";
  finding.severity = Severity::kNow;
  EXPECT_THAT(keep(2 * rested_ns + Holders::kAgainNs), testing::ElementsAre("files"));
}

TEST_F(HoldersTest, AsksAboutTheGroupsOfAGroup) {
  Finding finding = about("");
  finding.by("group", "/x");
  holders_->ask(finding, 0);
  EXPECT_THAT(questions(), testing::ElementsAre("anonymous", "groups"));
}

TEST_F(HoldersTest, SaysWhyNobodyIsNamed) {
  EXPECT_EQ(Holders(nullptr, OperatingSystem::kLinux, "no process").why_unasked(), "no process");
  holders_->ask(about("files"), 0);
  ASSERT_TRUE(send_packet(peer_.get(), "files\n0"));
  EXPECT_TRUE(holders_->collect(0, view_));
  EXPECT_TRUE(holders_->answers().empty());
  EXPECT_THAT(std::string(holders_->why_unasked()), testing::HasSubstr("was not answered"));
  peer_ = UniqueFd();
  EXPECT_THAT(std::string(holders_->why_unasked()), testing::HasSubstr("has ended"));
}

TEST_F(HoldersTest, AsksAboutLimitsInTurnAndKeepsTheAnswersApart) {
  const Evidence calm;
  holders_->ask_about_limits(calm, {}, 0);
  const std::vector<std::string> asked = questions();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(holders_->limits(), nullptr);
  answer(asked[0] + " 5120000");
  EXPECT_FALSE(holders_->collect(kSecondNs, view_)) << "no finding has a holder now";
  EXPECT_TRUE(holders_->answers().empty());
  ASSERT_NE(holders_->limits(), nullptr);
  EXPECT_EQ(holders_->limits()->at(0).question, asked[0]);
  holders_->ask_about_limits(calm, {}, kSecondNs);
  EXPECT_THAT(questions(), testing::IsEmpty());
  holders_->forget_limits();
  EXPECT_EQ(holders_->limits(), nullptr);
}

TEST_F(HoldersTest, OneAnswerServesAFindingAndALimit) {
  const Evidence calm;
  holders_->ask_about_limits(calm, {}, 0);
  const std::string asked = questions().at(0);
  holders_->ask(about(find_inspection(asked)->name), 0);
  answer(asked);
  EXPECT_TRUE(holders_->collect(kSecondNs, view_));
  EXPECT_EQ(holders_->answers().size(), 1U);
  ASSERT_NE(holders_->limits(), nullptr);
  EXPECT_EQ(holders_->limits()->size(), 1U);
}

TEST_F(HoldersTest, IgnoresAnswersThatNobodyAskedFor) {
  holders_->ask(about("files"), 0);
  answer("threads");
  EXPECT_FALSE(holders_->collect(0, view_));
  answer("files");
  answer("files");
  EXPECT_TRUE(holders_->collect(0, view_));
  EXPECT_EQ(holders_->answers().size(), 1U);
}

}  // namespace
}  // namespace memstat
