// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/once_per_poll.h"

#include "tests/support/fake_kernel_view.h"
#include "tests/support/faulty_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::string_view kShared = "/proc/meminfo";
constexpr std::string_view kOther = "/proc/vmallocinfo";

class OncePerPoll : public testing::Test {
 protected:
  OncePerPoll() {
    inner_->set(kShared, "first");
    inner_->set(kOther, "other");
  }
  std::string read(std::string_view path = kShared) {
    Buffer out;
    const Result<void> result = view_.read_file(path, out);
    return result ? std::string(out.view()) : "errno " + std::to_string(result.error().system_errno);
  }

  std::shared_ptr<FakeKernelView> inner_ = std::make_shared<FakeKernelView>(OperatingSystem::kLinux);
  OncePerPollView view_{inner_};
};

TEST_F(OncePerPoll, ASharedFileIsReadOnceAndTheNextReaderHasACopy) {
  view_.begin_poll();
  EXPECT_EQ(read(), "first");
  inner_->set(kShared, "second");
  EXPECT_EQ(read(), "first") << "both readers have the same moment";
  EXPECT_EQ(inner_->reads_of(kShared), 1);
}

TEST_F(OncePerPoll, ComparingOwnPollsReadsRarelyChangingFilesEachTime) {
  inner_->set_live(true);
  EXPECT_TRUE(view_.reads_this_machine());
  EXPECT_FALSE(OncePerPollView(inner_, OncePerPollView::Reads::kEverything).reads_this_machine());
}

TEST_F(OncePerPoll, ASharedSysctlOfManyIsKeptAndTheOthersAreReadTogether) {
  const std::vector<std::string> names{"a", "vm.uma_kmem_total", "b", "vfs.bufspace", "c"};
  for (const std::string& name : names) inner_->set(name, name);
  Buffer scratch;
  const auto read_all = [&] {
    std::string all;
    view_.read_numbers(names, scratch, [&](std::string_view name, const Result<std::string_view>& bytes) {
      EXPECT_EQ(name, bytes.has_value() ? *bytes : "error");
      all += std::string(name) + " ";
      return true;
    });
    return all;
  };
  for (int poll = 1; poll <= 2; ++poll) {
    view_.begin_poll();
    for (int source = 0; source < 2; ++source) EXPECT_EQ(read_all(), "a vm.uma_kmem_total b vfs.bufspace c ");
    EXPECT_EQ(inner_->reads_of("b"), 2 * poll);
    EXPECT_EQ(inner_->reads_of("vfs.bufspace"), poll);
    view_.end_poll();
  }
}

TEST_F(OncePerPoll, TheNextPollReadsAgain) {
  view_.begin_poll();
  read();
  view_.end_poll();
  inner_->set(kShared, "second");
  view_.begin_poll();
  EXPECT_EQ(read(), "second");
  EXPECT_EQ(read(), "second");
  EXPECT_EQ(inner_->reads_of(kShared), 2);
}

TEST_F(OncePerPoll, AnErrorIsSharedForThatPollOnly) {
  inner_->fail(kShared, EIO);
  view_.begin_poll();
  EXPECT_EQ(read(), "errno " + std::to_string(EIO));
  inner_->set(kShared, "well again");
  EXPECT_EQ(read(), "errno " + std::to_string(EIO));
  view_.begin_poll();
  EXPECT_EQ(read(), "well again");
}

TEST_F(OncePerPoll, TheFilesOfANodeAreSharedAsWell) {
  EXPECT_TRUE(is_shared_file("/sys/devices/system/node/node17/meminfo"));
  EXPECT_FALSE(is_shared_file("/sys/devices/system/node/online"));
  EXPECT_FALSE(is_shared_file("/proc/meminfo2"));
  EXPECT_FALSE(is_shared_file(""));
}

// A poll leaves a hanging read behind: no thread waits for it, and its late result is ignored.
TEST_F(OncePerPoll, AHangingReadDelaysNothingAndItsBytesStayOutOfLaterPolls) {
  FaultyKernelView faulty(*inner_);
  OncePerPollView view(std::shared_ptr<KernelView>(&faulty, [](KernelView*) {}));
  const auto read_through = [&view](Buffer& out) { return view.read_file(kShared, out).has_value() ? out.view() : "error"; };
  Buffer late;
  Buffer out;
  faulty.block_next(std::string(kShared));
  view.begin_poll();
  std::thread stuck([&] { read_through(late); });
  faulty.wait_until_blocked();
  EXPECT_EQ(read_through(out), "first") << "in the same poll";
  view.end_poll();
  view.begin_poll();
  inner_->set(kShared, "second");
  EXPECT_EQ(read_through(out), "second");
  inner_->set(kShared, "late");
  faulty.release();
  stuck.join();
  EXPECT_EQ(late.view(), "late") << "its own reader has it";
  EXPECT_EQ(read_through(out), "second");
  EXPECT_EQ(inner_->reads_of(kShared), 3);
}

TEST_F(OncePerPoll, ConcurrentReadersOfAFileEachReadIt) {
  inner_->block(kShared);
  view_.begin_poll();
  std::thread one([this] { EXPECT_EQ(read(), "first"); });
  inner_->wait_until_hanging(kShared);
  std::thread two([this] { EXPECT_EQ(read(), "first"); });
  EXPECT_TRUE(eventually([this] { return inner_->reads_of(kShared) == 2; }));
  inner_->release(kShared);
  one.join();
  two.join();
  EXPECT_EQ(read(), "first");
  EXPECT_EQ(inner_->reads_of(kShared), 2);
}

TEST_F(OncePerPoll, AViewThatThrowsLeavesNothingBehind) {
  inner_->make_throw(kShared);
  view_.begin_poll();
  EXPECT_THROW(read(), std::runtime_error);
  EXPECT_THROW(read(), std::runtime_error);
  EXPECT_EQ(inner_->reads_of(kShared), 2);
}

}  // namespace
}  // namespace memstat
