// SPDX-License-Identifier: BSD-2-Clause
// The recording of a daemon's run: its directory or archive, what is packed when, and what happens to the polls of a killed
// run.
#include "daemon/poll/recorder.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/capture/archive.h"
#include "core/capture/replay_view.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    service_.is_service = true;
    config_.capture.record = directory_.file("rec.tar");
  }

  static std::shared_ptr<FakeKernelView> kernel(std::uint32_t cpus = 2) {
    auto made = std::make_shared<FakeKernelView>(OperatingSystem::kLinux, cpus);
    made->set(kFileOfPolls, "MemTotal: 1 kB\n");
    return made;
  }
  std::unique_ptr<Recorder> create(const Recorder::Options& options, std::uint32_t cpus = 2) {
    auto made = Recorder::create(kernel(cpus), config_, clock_, options);
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? *std::move(made) : nullptr;
  }
  Error refusal(const Recorder::Options& options) {
    const auto made = Recorder::create(kernel(), config_, clock_, options);
    EXPECT_FALSE(made);
    return made ? Error() : made.error();
  }
  void poll(Recorder& recorder) {
    Buffer out;
    recorder.view()->begin_poll("poll");
    EXPECT_TRUE(recorder.view()->read_file(kFileOfPolls, out));
    EXPECT_TRUE(recorder.view()->end_poll());
    clock_.advance(std::chrono::seconds(1));
  }
  /// A run with one poll, which is killed.
  void leave_a_poll(std::uint32_t cpus = 2) { poll(*create(service_, cpus)); }

  [[nodiscard]] std::size_t polls_in(const std::string& name) const {
    const auto capture = open_capture(directory_.file(name));
    EXPECT_TRUE(capture) << to_string(capture.error());
    return capture ? (*capture)->poll_count() : 0;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }
  [[nodiscard]] std::uintmax_t size_of(const std::string& name) const {
    return std::filesystem::file_size(directory_.file(name));
  }

  static constexpr std::string_view kFileOfPolls = "/proc/meminfo";
  TemporaryDirectory directory_;
  ManualClock clock_;
  Config config_;
  Recorder::Options once_;
  Recorder::Options service_;
};

TEST_F(RecorderTest, ADirectoryHasEachPollAtOnce) {
  config_.capture.record = directory_.file("rec");
  const auto recorder = create(service_);
  EXPECT_EQ(recorder->path(), config_.capture.record);
  EXPECT_THAT(recorder->writable_paths(), ElementsAre(config_.capture.record));
  poll(*recorder);
  EXPECT_EQ(polls_in("rec"), 1U);
  EXPECT_TRUE(recorder->finish([] { return true; })) << "there is nothing to pack";
  EXPECT_EQ(polls_in("rec"), 1U);
}

TEST_F(RecorderTest, AServiceNumbersItsArchivesAndOnceRefusesATakenName) {
  std::ofstream(config_.capture.record) << "of another day";
  const Error error = refusal(once_);
  EXPECT_EQ(error.system_errno, EEXIST);
  EXPECT_THAT(to_string(error), HasSubstr("never overwrites"));
  EXPECT_THAT(files(), ElementsAre("rec.tar"));

  const auto recorder = create(service_);
  EXPECT_EQ(recorder->path(), directory_.file("rec-2.tar"));
  poll(*recorder);
  EXPECT_TRUE(recorder->finish());
  EXPECT_EQ(polls_in("rec-2.tar"), 1U);
  EXPECT_EQ(size_of("rec.tar"), 14U);
}

TEST_F(RecorderTest, PollsOfAnotherMachineGoIntoNoArchive) {
  leave_a_poll(4);
  const auto recorder = create(service_, 2);
  ASSERT_NE(recorder, nullptr);
  poll(*recorder);
  EXPECT_TRUE(recorder->finish());
  EXPECT_EQ(polls_in("rec.tar"), 1U);
  EXPECT_THAT(files(), ElementsAre("rec.tar"));
}

TEST_F(RecorderTest, WithoutTimeToPackThePollsStayForTheNextRun) {
  const auto recorder = create(service_);
  poll(*recorder);
  const auto finished = recorder->finish([] { return true; });
  ASSERT_TRUE(fails(finished, ErrorCode::kTimeout));
  EXPECT_THAT(to_string(finished.error()), HasSubstr("the polls are in " + directory_.file(".rec.tar.polls")));
  EXPECT_EQ(size_of("rec.tar"), 0U) << "half an archive is useless";
  EXPECT_EQ(polls_in(".rec.tar.polls"), 1U);
}

TEST_F(RecorderTest, AnArchiveThatWasRemovedMeanwhileLosesNoPolls) {
  const auto recorder = create(once_);
  poll(*recorder);
  std::filesystem::remove(directory_.file("rec.tar"));
  const auto finished = recorder->finish();
  ASSERT_FALSE(finished);
  EXPECT_THAT(to_string(finished.error()), HasSubstr("rec.tar: was removed during the recording"));
  EXPECT_THAT(to_string(finished.error()), HasSubstr("the polls are in " + directory_.file(".rec.tar.polls")));
  EXPECT_EQ(polls_in(".rec.tar.polls"), 1U);
}

TEST_F(RecorderTest, NamesTheKernelOfAReplay) {
  CaptureManifest replayed;
  replayed.release = "5.10.0-test";
  replayed.machine = "x86_64";
  replayed.how = "by hand";
  once_.replayed = &replayed;
  config_.capture.record = directory_.file("rec");
  poll(*create(once_));
  const auto capture = open_capture(directory_.file("rec"));
  ASSERT_TRUE(capture) << to_string(capture.error());
  EXPECT_EQ((*capture)->manifest().release, "5.10.0-test");
  EXPECT_EQ((*capture)->manifest().machine, "x86_64");
  EXPECT_EQ((*capture)->manifest().how, "Recorded by memstatd from a replayed capture: by hand");
}

/// The account to which memstatd switches, which may not write to the directory: it can reach only the polls.
TEST_F(RecorderTest, WritesThePollsOnlyWhereTheDirectoryIsClosedToTheAccount) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes directories for others";
  constexpr std::int64_t kOther = 54321;
  service_.owner = {.user = kOther, .group = kOther};
  EXPECT_THAT(create(service_)->writable_paths(), ElementsAre(directory_.file(".rec.tar.polls")));

  ASSERT_EQ(::chmod(directory_.path().c_str(), 0707), 0);
  EXPECT_THAT(create(service_)->writable_paths(), ElementsAre(directory_.path())) << "all may write";
  ASSERT_EQ(::chown(directory_.path().c_str(), static_cast<uid_t>(-1), kOther), 0);
  EXPECT_THAT(create(service_)->writable_paths(), ElementsAre(directory_.file(".rec.tar.polls"))) << "its group may not";
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0770), 0);
  EXPECT_THAT(create(service_)->writable_paths(), ElementsAre(directory_.path()));
}

}  // namespace
}  // namespace memstat
