// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/jail_counts.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>
#include <thread>

#include "core/base/packet_socket.h"
#include "tests/support/sysctl_kernel.h"

namespace memstat {
namespace {

/// Counts the jail www. Its answer for "large" does not fit a message, and for "slow" there is none.
class CountingKernel final : public SysctlKernel {
 public:
  Result<void> read_jail_counts(std::string_view jail, Buffer& out) override {
    if (jail == "large") {
      out.assign(std::string(std::size_t{1} << 16U, 'x'));
      return {};
    }
    if (jail != "www") return system_error(jail, ESRCH);
    out.assign("maxproc=2\nmaxproc:deny=20\n");
    return {};
  }
};

class JailCountsTest : public testing::Test {
 protected:
  JailCountsTest() {
    PacketSockets ends = PacketSockets::make();
    counts_.emplace(std::move(ends.ours));
    theirs_ = std::move(ends.theirs);
  }
  ~JailCountsTest() override {
    counts_.reset();
    if (server_.joinable()) server_.join();
  }
  void serve() {
    server_ = std::thread([this] {
      serve_jail_counts(theirs_.get(), kernel_);
      theirs_ = UniqueFd();
    });
  }
  std::string read(std::string_view jail) {
    Buffer out;
    const Result<void> read = counts_->read(jail, out);
    return read ? std::string(out.view()) : to_string(read.error());
  }
  CountingKernel kernel_;
  UniqueFd theirs_;
  std::optional<JailCounts> counts_;
  std::thread server_;
};

TEST_F(JailCountsTest, AnAnswerIsThatOfTheKernel) {
  serve();
  EXPECT_EQ(read("www"), "maxproc=2\nmaxproc:deny=20\n");
  EXPECT_EQ(read("gone"), to_string(system_error("rctl_get_racct", ESRCH)));
  EXPECT_EQ(read("large"), to_string(system_error("rctl_get_racct", E2BIG)));
  EXPECT_EQ(read("www"), "maxproc=2\nmaxproc:deny=20\n");
  EXPECT_TRUE(counts_->is_alive());
}

TEST_F(JailCountsTest, APeerThatIsGoneIsSaid) {
  theirs_ = UniqueFd();
  EXPECT_FALSE(counts_->is_alive());
  EXPECT_THAT(read("www"), testing::HasSubstr("does not answer; restart memstatd"));
}

TEST_F(JailCountsTest, AfterAnAnswerThatNeverCameNoneIsExpected) {
  EXPECT_THAT(read("www"), testing::HasSubstr("does not answer"));
  serve();
  EXPECT_THAT(read("www"), testing::HasSubstr("does not answer")) << "it might be the answer to the first";
}

}  // namespace
}  // namespace memstat
