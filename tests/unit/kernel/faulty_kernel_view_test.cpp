// SPDX-License-Identifier: BSD-2-Clause
// The tests' own tools: a view that does not fail on request would make every contract test pass.
#include "tests/support/faulty_kernel_view.h"

#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class Faulty : public testing::Test {
 protected:
  std::unique_ptr<ReplayKernelView> kernel_ = open_fixture("linux-6.1-4cpu-2nodes.tar.zst");
  FaultyKernelView view_{*kernel_};
  Buffer out_;
};

TEST_F(Faulty, PassesOnOtherCallsAndCounts) {
  EXPECT_EQ(view_.page_size(), 4096U);
  EXPECT_EQ(view_.cpu_count(), 4U);
  EXPECT_TRUE(view_.read_file("/proc/slabinfo", out_));
  EXPECT_FALSE(view_.read_sysctl("kern.x", out_, 0));
  EXPECT_TRUE(view_.keep_open("/proc/slabinfo"));
  EXPECT_EQ(view_.call_count(), 3U);
  view_.reset_calls();
  EXPECT_EQ(view_.call_count(), 0U);
}

TEST_F(Faulty, FailsTheNthCallOnceOrFromThereOn) {
  view_.fail_call(2, EIO);
  EXPECT_TRUE(view_.read_file("/proc/slabinfo", out_));
  EXPECT_EQ(view_.read_file("/proc/slabinfo", out_).error().system_errno, EIO);
  EXPECT_TRUE(view_.read_file("/proc/slabinfo", out_));
  view_.reset_calls();
  view_.fail_from(2, EACCES);
  EXPECT_TRUE(view_.read_file("/proc/slabinfo", out_));
  EXPECT_EQ(view_.read_file("/proc/slabinfo", out_).error().code, ErrorCode::kPermission);
  EXPECT_EQ(view_.read_link("/x").error().code, ErrorCode::kPermission);
  view_.clear_faults();
  EXPECT_TRUE(view_.read_file("/proc/slabinfo", out_));
}

TEST_F(Faulty, TruncatesReplacesHidesAndFailsByName) {
  view_.truncate_to("/proc/slabinfo", 10);
  ASSERT_TRUE(view_.read_file("/proc/slabinfo", out_));
  EXPECT_EQ(out_.size(), 10U);
  ASSERT_TRUE(view_.read_file("/proc/stat", out_));
  EXPECT_GT(out_.size(), 10U);
  view_.truncate_to(3);
  ASSERT_TRUE(view_.read_file("/proc/stat", out_));
  EXPECT_EQ(out_.size(), 3U);
  view_.clear_faults();
  view_.replace("/proc/new", "content");
  ASSERT_TRUE(view_.read_file("/proc/new", out_));
  EXPECT_EQ(out_.view(), "content");
  EXPECT_TRUE(view_.keep_open("/proc/new"));
  view_.hide("/proc/stat");
  EXPECT_EQ(view_.read_file("/proc/stat", out_).error().code, ErrorCode::kNotPresent);
  view_.set_cpu_count(9);
  EXPECT_EQ(view_.cpu_count(), 9U);
}

TEST_F(Faulty, BlocksOneReadUntilReleased) {
  view_.block_next("/proc/stat");
  EXPECT_TRUE(view_.read_file("/proc/slabinfo", out_));
  std::thread stuck([this] {
    Buffer own;
    EXPECT_TRUE(view_.read_file("/proc/stat", own));
  });
  view_.wait_until_blocked();
  EXPECT_TRUE(view_.is_blocked());
  EXPECT_TRUE(view_.read_file("/proc/stat", out_)) << "only the next read hangs";
  view_.release();
  stuck.join();
  EXPECT_FALSE(view_.is_blocked());
}

TEST(TemporaryDirectoryTest, GoesAwayWithAllInIt) {
  std::string path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    write_text(directory.file("a/b/c"), "text");
    EXPECT_EQ(read_text(directory.file("a/b/c")), "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace memstat
