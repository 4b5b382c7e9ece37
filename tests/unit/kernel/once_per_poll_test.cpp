// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/once_per_poll.h"

#include "core/capture/archive.h"
#include "core/capture/recording_view.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/faulty_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
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

TEST_F(OncePerPoll, FilesBelowADirectoryThatItCameNearArePassedOn) {
  view_.begin_poll();
  const NearDirectory near = view_.come_near("/proc");
  Buffer out;
  for (int read = 0; read < 2; ++read) ASSERT_TRUE(view_.read_near(near, kOther, out));
  EXPECT_EQ(out.view(), "other");
  EXPECT_EQ(inner_->reads_of(kOther), 2);
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

TEST_F(OncePerPoll, OtherFilesAreReadEachTime) {
  view_.begin_poll();
  EXPECT_EQ(read(kOther), "other");
  EXPECT_EQ(read(kOther), "other");
  EXPECT_EQ(inner_->reads_of(kOther), 2);
}

TEST_F(OncePerPoll, OutsideOfAPollEverythingIsPassedOn) {
  read();
  view_.begin_poll();
  read();
  view_.end_poll();
  read();
  read();
  EXPECT_EQ(inner_->reads_of(kShared), 4);
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

TEST_F(OncePerPoll, ARecordingBelowItHasTheFileOfEachPoll) {
  const TemporaryDirectory directory;
  const ManualClock clock;
  auto recording = RecordingKernelView::create(*inner_, {.directory = directory.file("recording")}, clock);
  ASSERT_TRUE(recording);
  RecordingKernelView& recorder = **recording;
  OncePerPollView view(std::shared_ptr<KernelView>(std::move(*recording)));
  Buffer out;
  for (const char* text : {"poll 0", "poll 1"}) {
    inner_->set(kShared, text);
    recorder.begin_poll("test");
    view.begin_poll();
    for (int reader = 0; reader < 3; ++reader) ASSERT_TRUE(view.read_file(kShared, out));
    view.end_poll();
    ASSERT_TRUE(recorder.end_poll());
  }
  const auto replay = open_capture(directory.file("recording"));
  ASSERT_TRUE(replay) << to_string(replay.error());
  for (std::size_t poll = 0; poll < 2; ++poll) {
    ASSERT_TRUE((*replay)->select_poll(poll));
    ASSERT_TRUE((*replay)->read_file(kShared, out));
    EXPECT_EQ(out.view(), "poll " + std::to_string(poll));
  }
}

}  // namespace
}  // namespace memstat
