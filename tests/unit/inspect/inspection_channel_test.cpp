// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/inspection_channel.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

#include "core/base/packet_socket.h"
#include "tests/support/process_kernel.h"

namespace memstat {
namespace {

/// A channel to a thread that examines the kernel.
class InspectionChannelTest : public testing::Test {
 protected:
  InspectionChannelTest() {
    PacketSockets ends = PacketSockets::make();
    socket_ = ends.ours.get();
    channel_.emplace(std::move(ends.ours));
    theirs_ = std::move(ends.theirs);
  }
  ~InspectionChannelTest() override { end(); }
  void serve() {
    server_ = std::thread([this] {
      serve_inspections(theirs_.get(), kernel_);
      theirs_ = UniqueFd();
    });
  }
  void end() {
    channel_.reset();
    if (server_.joinable()) server_.join();
  }
  /// Waits for a reply.
  InspectionChannel::Reply reply() {
    while (true) {
      if (auto one = channel_->take()) return *std::move(one);
      std::this_thread::yield();
    }
  }
  static const Inspection& question(std::string_view name) { return *find_inspection(name); }

  ProcessKernel kernel_;
  int socket_ = -1;  // of the channel
  UniqueFd theirs_;
  std::optional<InspectionChannel> channel_;
  std::thread server_;
};

TEST_F(InspectionChannelTest, AnAnswerArrivesWithItsWords) {
  kernel_.add(7, "leaky", 40);
  kernel_.ns_per_read = 1000;
  EXPECT_FALSE(channel_->take().has_value());
  ASSERT_TRUE(channel_->ask(question("files")));
  serve();
  const InspectionChannel::Reply answered = reply();
  EXPECT_EQ(answered.inspection, &question("files"));
  ASSERT_TRUE(answered.answer.has_value());
  EXPECT_GT(answered.cpu_ns, 0);
  EXPECT_EQ(answered.answer->question, "files");
  EXPECT_EQ(answered.answer->needs, "CAP_SYS_PTRACE");
  ASSERT_EQ(answered.answer->holders.size(), 1U);
  EXPECT_EQ(answered.answer->holders[0].command, "leaky");
  EXPECT_EQ(answered.answer->holders[0].count, 40U);
  EXPECT_FALSE(channel_->take().has_value());
}

TEST_F(InspectionChannelTest, AnAnswerThatIsTooLongForAMessageKeepsTheLargestHolders) {
  const std::string group(900, 'g');
  for (std::uint64_t pid = 1; pid <= 200; ++pid) {
    kernel_.add(pid, "many", pid);
    kernel_.files[ProcessKernel::path(pid) + "/cgroup"] = "0::/" + group + "\n";
  }
  ASSERT_TRUE(channel_->ask(question("files")));
  serve();
  const InspectionChannel::Reply answered = reply();
  ASSERT_TRUE(answered.answer.has_value());
  EXPECT_EQ(answered.answer->holders.size() + answered.answer->unlisted, 200U);
  ASSERT_GE(answered.answer->holders.size(), 25U);
  EXPECT_LT(answered.answer->holders.size(), 80U);
  EXPECT_EQ(answered.answer->holders[0].pid, 200U);
}

TEST_F(InspectionChannelTest, AFailureIsAReplyAndOtherMessagesAreIgnored) {
  kernel_.failures["/proc"] = EACCES;
  for (const std::string& nonsense :
       {std::string("rm -rf"), std::string(1000, 'x'), std::string("files\n"), std::string(1, '\0')})
    ASSERT_TRUE(send_packet(socket_, nonsense));
  ASSERT_TRUE(channel_->ask(question("files")));
  serve();
  const InspectionChannel::Reply answered = reply();
  ASSERT_FALSE(answered.answer.has_value());
  EXPECT_EQ(answered.answer.error().code, ErrorCode::kPermission);
}

TEST_F(InspectionChannelTest, RepliesThatCannotBeReadAreErrorsAndUnknownOnesAreIgnored) {
  for (const std::string_view reply : {"files", "nothing\nmemstat who 1\n", "\n", "x"}) {
    ASSERT_TRUE(send_packet(theirs_.get(), reply));
    EXPECT_FALSE(channel_->take().has_value()) << reply;
  }
  for (const std::string_view reply :
       {"files\n", "files\nmemstat who 1\nasked_ns 1", "files\n999", "files x\n0", "files 99999999999999\n0"}) {
    ASSERT_TRUE(send_packet(theirs_.get(), reply));
    const auto taken = channel_->take();
    ASSERT_TRUE(taken.has_value()) << reply;
    EXPECT_EQ(taken->answer.error().code, ErrorCode::kIo) << reply;
    EXPECT_LE(taken->cpu_ns, 10'000'000'000) << reply;
  }
}

TEST_F(InspectionChannelTest, KnowsWhenThePeerIsGone) {
  EXPECT_TRUE(channel_->is_alive());
  theirs_ = UniqueFd();
  EXPECT_FALSE(channel_->is_alive());
  EXPECT_FALSE(channel_->ask(question("files")));
  EXPECT_FALSE(channel_->take().has_value());
}

TEST_F(InspectionChannelTest, AFullSocketRefusesWithoutWaiting) {
  std::size_t asked = 0;
  while (channel_->ask(question("files"))) ASSERT_LT(++asked, 1'000'000U);
  EXPECT_GT(asked, 1U);
}

}  // namespace
}  // namespace memstat
