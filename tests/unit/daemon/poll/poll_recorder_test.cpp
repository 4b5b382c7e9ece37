// SPDX-License-Identifier: BSD-2-Clause
// Recorded polls: in place and by the recorder's own thread, the log when the disk refuses them, and the counts.
#include "daemon/poll/poll_recorder.h"
#include "core/capture/archive.h"

#include "core/base/mutex.h"
#include "core/capture/replay_view.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/page.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class PollRecorderTest : public testing::Test {
 protected:
  PollRecorderTest() { kernel_.set(kRecordedFile, "MemTotal: 1 kB\n"); }
  void start(PollRecorder::Manner manner, std::uint64_t max_bytes = 1 << 20) {
    auto made = RecordingKernelView::create(kernel_, {.directory = directory_.file("rec"), .max_bytes = max_bytes}, clock_);
    ASSERT_TRUE(made) << to_string(made.error());
    recording_ = std::move(*made);
    recorder_ = std::make_unique<PollRecorder>(
        recording_, metrics_,
        [this](LogLevel, std::string_view line) {
          const MutexLock lock(mutex_);
          lines_.emplace_back(line);
        },
        manner);
  }
  /// One poll that reads one file of this many bytes.
  void poll(std::size_t size = 10) {
    kernel_.set(kRecordedFile, std::string(size, 'x'));
    Buffer out;
    EXPECT_EQ(recorder_->begin("poll"), clock_.monotonic_ns());
    EXPECT_TRUE(recording_->read_file(kRecordedFile, out));
    recorder_->finish();
    clock_.advance(std::chrono::seconds(1));
  }
  Result<void> stop() { return recorder_->stop(kTimeout); }
  [[nodiscard]] std::size_t recorded() const {
    auto replay = open_capture(directory_.file("rec"));
    return replay ? (*replay)->poll_count() : 0;
  }
  [[nodiscard]] std::string counted(const std::string& result) const {
    return value_of(metrics_.text(), "memstat_recording_polls_total{result=\"" + result + "\"}").value_or("none");
  }
  std::vector<std::string> lines() {
    const MutexLock lock(mutex_);
    return lines_;
  }

  static constexpr std::chrono::minutes kTimeout{10};
  static constexpr std::string_view kRecordedFile = "/proc/meminfo";
  TemporaryDirectory directory_;
  ManualClock clock_;
  FakeKernelView kernel_{OperatingSystem::kLinux, 2};
  SelfMetrics metrics_{"1.2.3"};
  std::shared_ptr<RecordingKernelView> recording_;
  std::unique_ptr<PollRecorder> recorder_;
  Mutex mutex_;
  std::vector<std::string> lines_ MEMSTAT_GUARDED_BY(mutex_);
};

TEST_F(PollRecorderTest, InPlaceEachPollIsThereBeforeTheNextOne) {
  start(PollRecorder::Manner::kInPlace);
  for (std::size_t polls = 1; polls <= 3; ++polls) {
    poll();
    EXPECT_EQ(recorded(), polls);
  }
  EXPECT_EQ(counted("written"), "3");
  EXPECT_TRUE(stop());
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(PollRecorderTest, InAThreadAllThatIsQueuedIsThereAtTheEnd) {
  start(PollRecorder::Manner::kInThread);
  for (int polls = 0; polls < 4; ++polls) poll();  // as many as may wait
  EXPECT_TRUE(stop());
  EXPECT_EQ(recorded(), 4U);
  EXPECT_EQ(counted("written"), "4");
  EXPECT_EQ(counted("dropped"), "0");
}

TEST_F(PollRecorderTest, AFailureOfTheDiskAndItsEndAreLoggedOnce) {
  start(PollRecorder::Manner::kInPlace, 64 << 10);
  poll();
  poll(100 << 10);  // larger than the maximum of all
  poll(100 << 10);
  EXPECT_THAT(lines(), ElementsAre(StartsWith("the recording is suspended; polling and serving continue: ")));
  poll();
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("suspended"), "the recording continues"));
  EXPECT_EQ(counted("failed"), "2");
  EXPECT_EQ(counted("written"), "2");
  const auto end = stop();
  ASSERT_FALSE(end) << "in place, any missing poll is an error";
  EXPECT_THAT(to_string(end.error()), HasSubstr("some polls were not recorded"));
}

TEST_F(PollRecorderTest, AServiceThatEndsWellHasRecordedItsLastPoll) {
  start(PollRecorder::Manner::kInThread, 64 << 10);
  poll(100 << 10);
  poll();
  EXPECT_TRUE(stop()) << "it recovered";
  EXPECT_EQ(counted("failed"), "1");
  EXPECT_EQ(counted("written"), "1");
}

}  // namespace
}  // namespace memstat
