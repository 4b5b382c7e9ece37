// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/recent_polls.h"

#include <fcntl.h>

#include <cerrno>
#include <string>

#include "core/base/unique_fd.h"
#include "core/capture/archive.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class RecentPollsTest : public testing::Test {
 protected:
  RecentPollsTest()
      : kernel_(std::make_shared<FakeKernelView>(OperatingSystem::kLinux, 2)), polls_(kernel_, 1 << 20, clock_) {}

  void read(std::string_view path) {
    Buffer out;
    (void)polls_.read_file(path, out);
  }
  void end_poll() {
    polls_.end_poll("live");
    clock_.advance(std::chrono::seconds(10));
  }
  /// What is written, opened again.
  std::unique_ptr<ReplayKernelView> written() {
    const std::string path = directory_.file("incident.tar");
    {
      const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      auto sink = open_archive_sink(path, file.get(), false);
      EXPECT_TRUE(sink);
      const auto result = write_polls(polls_.copy(), "note.yaml", "format: 1\n", **sink);
      EXPECT_TRUE(result) << to_string(result.error());
    }
    auto opened = open_capture(path);
    EXPECT_TRUE(opened) << to_string(opened.error());
    return opened ? *std::move(opened) : nullptr;
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
  std::shared_ptr<FakeKernelView> kernel_;
  RecentPolls polls_;
};

TEST_F(RecentPollsTest, AreACaptureOfWhatWasRead) {
  kernel_->set("/proc/meminfo", "MemTotal: 1 kB\n");
  kernel_->set("/proc/vmstat", "oom_kill 0\n");
  kernel_->fail("/proc/slabinfo", EACCES);
  for (const std::string_view path : {"/proc/meminfo", "/proc/vmstat", "/proc/slabinfo"}) read(path);
  end_poll();
  kernel_->set("/proc/vmstat", "oom_kill 1\n");
  read("/proc/vmstat");  // the others are due later
  const std::int64_t second_ns = clock_.monotonic_ns();
  end_poll();

  const auto capture = written();
  ASSERT_NE(capture, nullptr);
  ASSERT_EQ(capture->poll_count(), 2U);
  EXPECT_EQ(capture->os(), OperatingSystem::kLinux);
  EXPECT_EQ(capture->cpu_count(), 2U);
  EXPECT_EQ(capture->poll_info(1).monotonic_ns, second_ns) << "when its first read began";
  Buffer out;
  ASSERT_TRUE(capture->select_poll(0));
  ASSERT_TRUE(capture->read_file("/proc/vmstat", out));
  EXPECT_EQ(out.view(), "oom_kill 0\n");
  ASSERT_TRUE(capture->select_poll(1));
  ASSERT_TRUE(capture->read_file("/proc/vmstat", out));
  EXPECT_EQ(out.view(), "oom_kill 1\n");
  ASSERT_TRUE(capture->read_file("/proc/meminfo", out)) << "as it was last read";
  EXPECT_EQ(out.view(), "MemTotal: 1 kB\n");
  const auto refused = capture->read_file("/proc/slabinfo", out);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EACCES);
}

TEST_F(RecentPollsTest, APollWithoutReadsIsNone) {
  end_poll();
  EXPECT_EQ(polls_.copy().ring.poll_count(), 0U);
}

TEST_F(RecentPollsTest, AddressesOfTheKernelAreNotWritten) {
  kernel_->set("/proc/vmallocinfo", "0xffffc90000000000-0xffffc90000005000 20480 a+0x1/0x2\n");
  read("/proc/vmallocinfo");
  end_poll();
  const auto capture = written();
  ASSERT_NE(capture, nullptr);
  Buffer out;
  ASSERT_TRUE(capture->read_file("/proc/vmallocinfo", out));
  EXPECT_EQ(out.view().find("c9000"), std::string_view::npos) << out.view();
}

}  // namespace
}  // namespace memstat
