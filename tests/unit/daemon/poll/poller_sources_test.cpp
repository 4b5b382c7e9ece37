// SPDX-License-Identifier: BSD-2-Clause
// When and in which order a poller reads its sources: a roster and a contributor on a fake kernel.
#include "daemon/poll/poller.h"
#include "tests/support/fake_sources.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class PollerSourcesTest : public testing::Test {
 protected:
  /// Call this after changing `sources`.
  void start(Config config = {}, bool is_replay = false) {
    config.poll.timeout = hours(1);  // no read of the fake kernel takes long
    daemon_.emplace(OperatingSystem::kLinux, config, false, sources_.all, is_replay);
    view().set(kFakeRosterFile, "a 100\nb 200\n");
    view().set(kFakeContributorFile, "a 1\nb 2\n");
    view().set(kFakeSharedFile, "MemTotal: 1 kB\n");
    daemon_->poller->open_sources();
  }
  FakeKernelView& view() { return *daemon_->view; }
  [[nodiscard]] std::optional<std::string> shown(std::string_view metric, std::string_view type) const {
    return type_value(daemon_->page(), metric, "vmalloc", type);
  }
  [[nodiscard]] SourceState state(std::string_view source) const { return daemon_->status(source).state; }

  FakeSources sources_;
  std::optional<PolledDaemon> daemon_;
};

TEST_F(PollerSourcesTest, RostersAreReadFirstSoThatTheFirstPageHasTheContributorsFigures) {
  start();
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_EQ(shown("failures_total", "a"), "1");
  EXPECT_EQ(shown("failures_total", "b"), "2");
}

TEST_F(PollerSourcesTest, ANewTypeHasTheContributorsFiguresInItsFirstPoll) {
  start();
  daemon_->poll();
  view().set(kFakeRosterFile, "c 300\na 100\nb 200\n");
  view().set(kFakeContributorFile, "c 3\na 1\nb 2\n");
  daemon_->poll();
  EXPECT_EQ(shown("failures_total", "c"), "3");
}

TEST_F(PollerSourcesTest, TypesThatAContributorNoLongerNamesLeaveThePage) {
  start();
  daemon_->poll();
  view().set(kFakeContributorFile, "a 1\n");
  daemon_->poll();
  EXPECT_FALSE(shown("failures_total", "b"));
  EXPECT_EQ(shown("bytes", "b"), "200");
}

TEST_F(PollerSourcesTest, ADownContributorTakesItsOwnFiguresOnly) {
  start();
  daemon_->poll();
  view().fail(kFakeContributorFile, EIO);
  EXPECT_TRUE(daemon_->poll());
  EXPECT_FALSE(shown("failures_total", "a"));
  EXPECT_EQ(shown("bytes", "a"), "100");
  view().set(kFakeContributorFile, "a 5\nb 2\n");
  daemon_->poll();
  EXPECT_EQ(shown("failures_total", "a"), "5");
}

TEST_F(PollerSourcesTest, ASourcesOwnIntervalHoldsWhereTheConfigurationGivesNoneAndItsFiguresStayMeanwhile) {
  sources_.contributor.interval = seconds(30);
  start();
  for (int poll = 0; poll < 7; ++poll) {
    view().set(kFakeRosterFile, "a " + std::to_string(100 + poll) + "\nb 200\n");
    view().set(kFakeContributorFile, "a " + std::to_string(10 + poll) + "\nb 2\n");
    daemon_->poll();
    EXPECT_EQ(shown("bytes", "a"), std::to_string(100 + poll));
    EXPECT_EQ(shown("failures_total", "a"), std::to_string(10 + poll / 3 * 3));
  }
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 3) << "at 0, 30 and 60 s";
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 7);
}

TEST_F(PollerSourcesTest, TheConfigurationsIntervalBeatsTheSourcesOwn) {
  sources_.contributor.interval = hours(1);
  Config config;
  config.sources["a_contributor"].interval = seconds(20);
  start(config);
  for (int poll = 0; poll < 5; ++poll) daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 3);
}

TEST_F(PollerSourcesTest, AnEarlyPollDoesNotDelayASourceWithItsOwnInterval) {
  sources_.contributor.interval = seconds(20);
  start();
  for (int poll = 0; poll < 5; ++poll) daemon_->poll(milliseconds(9990));
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 3);
}

TEST_F(PollerSourcesTest, AReplayKeepsTheLastValuesOfASlowSourceUntilItIsOverdue) {
  sources_.contributor.interval = seconds(30);
  start({}, true);
  daemon_->poll();
  view().fail(kFakeContributorFile, ENOENT);  // as in polls of a capture in which it was not due
  for (int poll = 0; poll < 6; ++poll) {
    daemon_->poll();
    EXPECT_EQ(shown("failures_total", "a"), "1");
    EXPECT_EQ(state("a_contributor"), SourceState::kUp);
  }
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kDown) << "70 s after it was read";
  view().set(kFakeContributorFile, "a 4\nb 2\n");
  daemon_->poll();
  EXPECT_EQ(shown("failures_total", "a"), "4") << "read in any poll that has it";
}

TEST_F(PollerSourcesTest, ASourceOfEventsIsReadInTheirMode) {
  sources_.contributor.is_on_by_default = false;
  sources_.contributor.is_traced = true;
  Config config;
  config.events_mode = EventsMode::kCounters;
  start(config);
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kUp);
  EXPECT_EQ(shown("failures_total", "a"), "1");
}

TEST_F(PollerSourcesTest, ASourceThatIsOffByDefaultIsReadWhenItIsSwitchedOnOnly) {
  sources_.contributor.is_on_by_default = false;
  start();
  EXPECT_EQ(state("a_contributor"), SourceState::kOff);
  daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 0);
  EXPECT_FALSE(shown("failures_total", "a"));
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_THAT(daemon_->metrics.text(), testing::Not(testing::HasSubstr("a_contributor")));
  Config config = daemon_->config;
  config.sources["a_contributor"].enabled = Switch::kOn;
  daemon_->poller->configure(config);
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kUp);
  EXPECT_EQ(shown("failures_total", "a"), "1");
  config.sources["a_contributor"].enabled = Switch::kAuto;
  daemon_->poller->configure(config);
  EXPECT_EQ(state("a_contributor"), SourceState::kOff);
}

TEST_F(PollerSourcesTest, AFileThatBothWantIsReadOnceAPoll) {
  start();
  for (int poll = 1; poll <= 3; ++poll) {
    daemon_->poll();
    EXPECT_EQ(view().reads_of(kFakeSharedFile), poll);
  }
  view().fail(kFakeSharedFile, EIO);
  EXPECT_FALSE(daemon_->poll());
  EXPECT_EQ(view().reads_of(kFakeSharedFile), 4);
  EXPECT_EQ(state("z_roster"), SourceState::kDown);
  EXPECT_EQ(state("a_contributor"), SourceState::kDown) << "with the same error";
}

TEST_F(PollerSourcesTest, AFileThatARosterHangsInIsReadByTheContributorAgainInTheNextPoll) {
  Config config;
  start(config);
  daemon_->poll();
  config.poll.timeout = milliseconds(1);
  daemon_->poller->configure(config);
  view().block(kFakeSharedFile);
  daemon_->poll();
  view().wait_until_hanging(kFakeSharedFile);
  EXPECT_EQ(state("z_roster"), SourceState::kDown);
  view().release(kFakeSharedFile);
  ASSERT_TRUE(eventually([this] { return daemon_->poller->stuck_count() == 0; }));
  config.poll.timeout = hours(1);
  daemon_->poller->configure(config);
  view().set(kFakeContributorFile, "a 9\n");
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(state("z_roster"), SourceState::kUp);
  EXPECT_EQ(shown("failures_total", "a"), "9");
}

}  // namespace
}  // namespace memstat
