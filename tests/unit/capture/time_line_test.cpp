// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/time_line.h"

#include <fcntl.h>

#include <filesystem>

#include "core/capture/manifest.h"
#include "core/capture/recording_view.h"
#include "core/capture/replay_view.h"
#include "core/capture/thinned_recording.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'795'824'000 * kSecond;  // 2026-11-28T00:00:00Z

/// A capture whose polls, at these seconds after kStart, hold that second as /proc/stat.
std::unique_ptr<MemoryFiles> capture_of(const std::vector<int>& seconds, const std::string& cpus = "0-1") {
  auto files = std::make_unique<MemoryFiles>("kernel");
  EXPECT_TRUE(files->add_file("manifest.yaml", "format: 1\nos: linux\npage_size: 4096\ncpus_present: \"" + cpus + "\"\n"));
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const std::string poll = "00000" + std::to_string(i);
    const PollInfo info{.label = {}, .realtime_ns = kStart + seconds[i] * kSecond, .monotonic_ns = seconds[i] * kSecond + 1};
    EXPECT_TRUE(files->add_file(poll + "/poll.yaml", format_poll_info(info)));
    EXPECT_TRUE(files->add_file(poll + "/fs/proc/stat", std::to_string(seconds[i])));
    if (seconds[i] == 7) {
      EXPECT_TRUE(files->add_file(poll + "/errors.yaml", "- {path: /proc/x, errno: 13}\n"));
    }
  }
  return files;
}

class TimeLineOfArchives : public testing::Test {
 protected:
  void pack(const std::string& name, const CaptureFiles& files) {
    const std::string path = directory_.file(name);
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const auto packed = pack_capture(files, path, file.get());
    ASSERT_TRUE(packed) << to_string(packed.error());
  }
  /// What each poll of the directory holds.
  std::vector<std::string> polls() {
    auto opened = open_capture(directory_.path());
    EXPECT_TRUE(opened) << to_string(opened.error());
    std::vector<std::string> texts;
    if (!opened) return texts;
    notes_ = (*opened)->notes();
    Buffer text;
    for (std::size_t i = 0; i < (*opened)->poll_count(); ++i) {
      EXPECT_TRUE((*opened)->select_poll(i));
      EXPECT_TRUE((*opened)->read_file("/proc/stat", text));
      texts.emplace_back(text.view());
    }
    view_ = *std::move(opened);
    return texts;
  }

  TemporaryDirectory directory_;
  std::vector<std::string> notes_;
  std::unique_ptr<ReplayKernelView> view_;
};

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(TimeLineOfArchives, HasAllPollsInTheOrderOfTheirTimes) {
  pack("b.tar", *capture_of({0, 7}));
  pack("a.tar.zst", *capture_of({20, 30}));
  pack("c.tar.zst", *capture_of({10}));
  EXPECT_THAT(polls(), ElementsAre("0", "7", "10", "20", "30"));
  EXPECT_THAT(notes_, testing::IsEmpty());
  EXPECT_EQ(view_->errors_of(1).size(), 1U);
  EXPECT_EQ(view_->poll_info(4).realtime_ns, kStart + 30 * kSecond);
}

TEST_F(TimeLineOfArchives, CountsAPollOfTwoArchivesOnce) {
  pack("a.tar", *capture_of({0, 10}));
  pack("b.tar", *capture_of({10, 20}));
  EXPECT_THAT(polls(), ElementsAre("0", "10", "20"));
}

TEST_F(TimeLineOfArchives, HasThePollsThatARecorderHasNotPacked) {
  pack("rec.tar", *capture_of({0}));
  write_text(directory_.file("rec-2.tar"), "");
  const auto files = capture_of({10});
  const std::string polls_directory = directory_.file(".rec.tar.polls");
  for (const std::string name : {"manifest.yaml", "000000/poll.yaml", "000000/fs/proc/stat"}) {
    Buffer text;
    ASSERT_TRUE(files->read(name, text));
    write_text(polls_directory + "/" + name, std::string(text.view()));
  }
  EXPECT_THAT(polls(), ElementsAre("0", "10"));
}

TEST_F(TimeLineOfArchives, LeavesOutWhatIsDamagedOrOfAnotherMachine) {
  pack("a.tar", *capture_of({0}));
  pack("b.tar", *capture_of({5}, "0-63"));
  pack("c.tar", *capture_of({10}));
  write_text(directory_.file("d.tar"), std::string(700, 'x'));
  write_text(directory_.file("readme.txt"), "no archive");
  EXPECT_THAT(polls(), ElementsAre("0", "10"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("d.tar"), HasSubstr("b.tar: is of another machine")));
}

TEST_F(TimeLineOfArchives, OfDamagedArchivesOnlyIsTheErrorOfTheFirst) {
  write_text(directory_.file("d.tar"), std::string(700, 'x'));
  const auto opened = open_capture(directory_.path());
  ASSERT_FALSE(opened);
  EXPECT_THAT(to_string(opened.error()), HasSubstr("d.tar"));
}

TEST_F(TimeLineOfArchives, WithoutAnArchiveIsNoCapture) {
  write_text(directory_.file("readme.txt"), "no archive");
  EXPECT_TRUE(fails(open_capture(directory_.path()), ErrorCode::kNotPresent));
}

/// Records polls into a directory that becomes thinner, under a clock that the test moves.
class Thinned : public TimeLineOfArchives {
 protected:
  Thinned() { begin(); }
  void begin(std::uint64_t max_bytes = 0) {
    recording_.reset();
    thinned_.reset();
    auto opened = ThinnedRecording::open(directory_.path(), max_bytes);
    ASSERT_TRUE(opened) << to_string(opened.error());
    thinned_ = *std::move(opened);
    kernel_ = *ReplayKernelView::open(capture_of({0}));
    auto recording = RecordingKernelView::create(
        *kernel_, {.directory = thinned_->polls_directory(), .max_age_ns = ThinnedRecording::kUnfiledNs}, clock_);
    ASSERT_TRUE(recording) << to_string(recording.error());
    recording_ = *std::move(recording);
  }
  /// Polls until `end`, seconds after kStart.
  void record(std::int64_t end, std::int64_t interval) {
    Buffer text;
    for (; second_ < end; second_ += interval, clock_.advance(std::chrono::seconds(interval))) {
      const auto filed = thinned_->file_until(clock_.realtime_ns());
      ASSERT_TRUE(filed) << to_string(filed.error());
      recording_->begin_poll({});
      ASSERT_TRUE(recording_->read_file("/proc/stat", text));
      ASSERT_TRUE(recording_->end_poll());
    }
  }
  /// Times of the polls that are left, in seconds after kStart.
  std::vector<std::int64_t> seconds() {
    (void)polls();
    std::vector<std::int64_t> times;
    for (std::size_t i = 0; view_ != nullptr && i < view_->poll_count(); ++i)
      times.push_back((view_->poll_info(i).realtime_ns - kStart) / kSecond);
    return times;
  }
  std::vector<std::string> archives() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (!entry.path().filename().string().starts_with('.')) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  ManualClock clock_{1, kStart};
  std::int64_t second_ = 0;
  std::unique_ptr<ReplayKernelView> kernel_;
  std::optional<ThinnedRecording> thinned_;
  std::unique_ptr<RecordingKernelView> recording_;
};

TEST_F(Thinned, KeepsEveryPollOfTheLastHour) {
  record(3600, 10);
  const std::vector<std::int64_t> times = seconds();
  ASSERT_EQ(times.size(), 360U);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], static_cast<std::int64_t>(i) * 10);
  EXPECT_EQ(archives().size(), 11U);  // the last five minutes are not packed yet
}

TEST_F(Thinned, KeepsOneAMinuteOfTheDayAndOneAnHourOfWhatIsOlder) {
  constexpr std::int64_t kHour = 3600;
  record(27 * kHour, 120);
  record(31 * kHour, 30);
  const std::vector<std::int64_t> times = seconds();
  std::size_t hourly = 0;
  std::size_t by_minutes = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const std::int64_t age = 31 * kHour - times[i];
    if (age > 26 * kHour) {
      EXPECT_EQ(times[i] - times[i - 1], kHour) << times[i];
      ++hourly;
    } else if (age > 2 * kHour && age < 4 * kHour) {
      EXPECT_EQ(times[i] - times[i - 1], 60) << times[i];
      ++by_minutes;
    }
  }
  EXPECT_EQ(times.front(), 0);
  EXPECT_EQ(hourly, 4U);
  EXPECT_EQ(by_minutes, 119U);
  EXPECT_THAT(archives(), testing::Contains("20261128Z.tar.zst"));
}

TEST_F(Thinned, GoesOnAfterARecorderThatWasKilled) {
  record(900, 10);
  begin();
  record(1800, 10);
  EXPECT_EQ(seconds().size(), 180U);
}

TEST_F(Thinned, PacksTheRestAtTheEnd) {
  record(100, 10);
  ASSERT_TRUE(thinned_->finish());
  ASSERT_TRUE(recording_->remove_everything());
  EXPECT_THAT(archives(), ElementsAre("20261128T0000Z.tar.zst"));
  EXPECT_EQ(seconds().size(), 10U);
}

TEST_F(Thinned, RemovesTheOldestBeyondItsSize) {
  begin(40'000);
  record(7200, 10);
  EXPECT_GT(seconds().front(), 0);
  EXPECT_EQ(seconds().back(), 7190);
}

TEST_F(Thinned, TakesOverNoOtherDirectory) {
  const TemporaryDirectory other;
  write_text(other.file("notes.txt"), "mine");
  EXPECT_TRUE(fails(ThinnedRecording::open(other.path(), 0), ErrorCode::kData));
}

}  // namespace
}  // namespace memstat
