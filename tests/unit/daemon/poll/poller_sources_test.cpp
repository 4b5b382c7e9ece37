// SPDX-License-Identifier: BSD-2-Clause
// When and in which order a poller reads its sources, which of two it reads, and which of them are down or not permitted: a
// roster, a contributor and a replacement of the roster on a fake kernel.
#include "daemon/poll/poller.h"

#include <thread>

#include "tests/support/fake_sources.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kStandInFile = "/fake/stand_in";

template <const std::string_view& kFile>
Result<void> keep_fake(KernelView& view, RawBytes&) {
  return view.keep_open(kFile);
}

SourceDescriptor fake_stand_in() {
  SourceDescriptor source = fake_roster();
  source.name = "b_stand_in";
  source.origin = kStandInFile;
  source.is_roster = false;
  source.replaces = "z_roster";
  source.needs = "CAP_C";
  source.steps = source_steps<ReaderState, keep_fake<kStandInFile>, read_fake<kStandInFile>, parse_fake<Field::kBytes>>();
  return source;
}

class PollerSourcesTest : public testing::Test {
 protected:
  PollerSourcesTest() {
    contributor_.needs = "CAP_A,CAP_B";
    contributor_.steps = source_steps<ReaderState, keep_fake<kFakeContributorFile>, read_fake<kFakeContributorFile>,
                                      parse_fake<Field::kFailures>>();
  }
  /// Call this after changing the sources. `refused`: files that the kernel refuses from the beginning.
  void start(Config config = {}, std::initializer_list<std::string_view> refused = {}, bool is_replay = false) {
    config.poll.timeout = hours(1);  // no read of the fake kernel takes long, unless it hangs
    daemon_.emplace(OperatingSystem::kLinux, config, false, all_, is_replay);
    view().set(kFakeRosterFile, "a 100\nb 200\n");
    view().set(kFakeContributorFile, "a 1\nb 2\n");
    view().set(kStandInFile, "a 90\nb 180\n");
    view().set(kFakeSharedFile, "MemTotal: 1 kB\n");
    for (const std::string_view file : refused) view().fail(file, EPERM);
    daemon_->poller->open_sources();
  }
  FakeKernelView& view() { return *daemon_->view; }
  [[nodiscard]] std::optional<std::string> shown(std::string_view metric, std::string_view type) const {
    return type_value(daemon_->page(), metric, "vmalloc", type);
  }
  [[nodiscard]] SourceState state(std::string_view source) const { return daemon_->status(source).state; }
  [[nodiscard]] std::optional<std::string> up(std::string_view source) const {
    return daemon_->own("memstat_source_up{source=\"" + std::string(source) + "\"}");
  }
  [[nodiscard]] std::optional<std::string> not_permitted(std::string_view source, std::string_view needs) const {
    return daemon_->own("memstat_source_not_permitted{needs=\"" + std::string(needs) + "\",source=\"" + std::string(source) +
                        "\"}");
  }

  SourceDescriptor roster_ = fake_roster();
  SourceDescriptor contributor_ = fake_contributor();
  SourceDescriptor stand_in_ = fake_stand_in();
  std::vector<const SourceDescriptor*> all_ = {&contributor_, &roster_};
  std::optional<PolledDaemon> daemon_;
};

TEST_F(PollerSourcesTest, RostersAreReadFirstSoThatTheFirstPageHasTheContributorsFigures) {
  start();
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_EQ(shown("failures_total", "b"), "2");
  view().set(kFakeContributorFile, "a 1\n");
  daemon_->poll();
  EXPECT_FALSE(shown("failures_total", "b")) << "which the contributor no longer names";
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
  contributor_.interval = seconds(30);
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

TEST_F(PollerSourcesTest, TheConfigurationsIntervalBeatsTheSourcesOwnAndAnEarlyPollDoesNotDelayIt) {
  contributor_.interval = hours(1);
  Config config;
  config.sources["a_contributor"].interval = seconds(20);
  for (const milliseconds apart : {milliseconds(10'000), milliseconds(9990)}) {
    start(config);
    for (int poll = 0; poll < 5; ++poll) daemon_->poll(apart);
    EXPECT_EQ(view().reads_of(kFakeContributorFile), 3);
  }
}

TEST_F(PollerSourcesTest, AReplayKeepsTheLastValuesOfASlowSourceUntilItIsOverdue) {
  contributor_.interval = seconds(30);
  start({}, {}, true);
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

TEST_F(PollerSourcesTest, ASourceThatIsOffByDefaultIsReadWhenItIsSwitchedOnOnly) {
  contributor_.is_on_by_default = false;
  start();
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kOff);
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 0);
  EXPECT_THAT(daemon_->metrics.text(), Not(HasSubstr("a_contributor")));
  Config config = daemon_->config;
  config.sources["a_contributor"].enabled = Switch::kOn;
  daemon_->poller->configure(config);
  daemon_->poll();
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

TEST_F(PollerSourcesTest, AReplayWaitsLongerForItsCaptureThanTheTimeoutForKernels) {
  Config config;
  start(config, {}, true);
  config.poll.timeout = milliseconds(1);
  daemon_->poller->configure(config);
  view().block(kFakeSharedFile);
  std::jthread busy_machine([this] {
    view().wait_until_hanging(kFakeSharedFile);
    std::this_thread::sleep_for(milliseconds(50));
    view().release(kFakeSharedFile);
  });
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(state("z_roster"), SourceState::kUp);
}

// ---- a source that lacks a privilege -------------------------------------------------------------------------------------

TEST_F(PollerSourcesTest, ARefusedSourceThatAddsValuesIsNotPermittedAndTriedOnceAMinute) {
  start({}, {kFakeContributorFile});
  EXPECT_EQ(state("a_contributor"), SourceState::kNotPermitted) << "known before the first poll";
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(daemon_->status("a_contributor").needs, "CAP_A,CAP_B");
  EXPECT_EQ(not_permitted("a_contributor", "CAP_A,CAP_B"), "1");
  EXPECT_FALSE(up("a_contributor"));
  EXPECT_THAT(daemon_->metrics.text(), Not(HasSubstr("memstat_source_errors_total{")));
  EXPECT_EQ(shown("bytes", "a"), "100");
  view().set(kFakeContributorFile, "a 1\n");
  daemon_->poll(seconds(59));
  EXPECT_EQ(state("a_contributor"), SourceState::kNotPermitted);
  EXPECT_THAT(daemon_->logged(LogLevel::kDebug),
              ElementsAre(StartsWith("a_contributor: not permitted, needs CAP_A,CAP_B: /fake/contributor: ")));
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
  daemon_->poll(seconds(1));
  EXPECT_EQ(up("a_contributor"), "1");
  EXPECT_FALSE(not_permitted("a_contributor", "CAP_A,CAP_B"));
  EXPECT_EQ(daemon_->status("a_contributor").needs, "");
  EXPECT_EQ(shown("failures_total", "a"), "1");
}

TEST_F(PollerSourcesTest, AnyOtherFailureIsDown) {
  start();
  view().fail(kFakeContributorFile, EIO);
  daemon_->poller->open_sources();
  daemon_->poll();
  EXPECT_EQ(up("a_contributor"), "0");
  view().fail(kFakeContributorFile, EPERM);  // privileges have been dropped since
  daemon_->poll();
  EXPECT_EQ(up("a_contributor"), "0") << "opening failed for another reason";
  start();
  daemon_->poll();
  view().fail(kFakeContributorFile, EACCES);
  daemon_->poll();
  EXPECT_EQ(up("a_contributor"), "0") << "it was permitted before";
  contributor_.needs = {};
  start({}, {kFakeContributorFile});
  daemon_->poll();
  EXPECT_EQ(up("a_contributor"), "0") << "it needs no privilege";
}

// ---- a source that replaces a roster -------------------------------------------------------------------------------------

class PollerStandInTest : public PollerSourcesTest {
 protected:
  PollerStandInTest() { all_ = {&contributor_, &stand_in_, &roster_}; }
};

TEST_F(PollerStandInTest, TheRosterIsNotReadWhileTheOtherIsUp) {
  start();
  EXPECT_TRUE(daemon_->poll());
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 0);
  EXPECT_EQ(shown("bytes", "a"), "90");
  EXPECT_EQ(shown("failures_total", "b"), "2") << "contributors find the types";
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  EXPECT_EQ(daemon_->status("z_roster").error, "b_stand_in replaces it");
  EXPECT_THAT(daemon_->metrics.text(), Not(HasSubstr("z_roster")));
  EXPECT_EQ(up("b_stand_in"), "1");
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
}

TEST_F(PollerStandInTest, WhereItFailsTheRosterIsReadInTheSamePollUntilItComesBack) {
  for (const int error : {EIO, ENOENT}) {
    start();
    view().fail(kStandInFile, error);
    EXPECT_TRUE(daemon_->poll());
    EXPECT_EQ(shown("bytes", "a"), "100");
    EXPECT_EQ(shown("failures_total", "a"), "1");
    EXPECT_EQ(up("z_roster"), "1");
    EXPECT_EQ(up("b_stand_in").value_or("absent"), error == EIO ? "0" : "absent");
    view().set(kStandInFile, "a 90\nb 180\n");
    daemon_->poll(seconds(60));  // an absent source is tried again
    EXPECT_EQ(shown("bytes", "a"), "90");
    EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
    EXPECT_FALSE(up("z_roster")) << "its earlier result is outdated";
    const int reads = view().reads_of(kFakeRosterFile);
    daemon_->poll();
    EXPECT_EQ(view().reads_of(kFakeRosterFile), reads);
    EXPECT_EQ(daemon_->own("memstat_source_types{source=\"z_roster\"}"), std::nullopt);
  }
}

TEST_F(PollerStandInTest, IntervalsOfEitherDoNotDelayTheRosterWhenItIsNeededNorBringItBackBefore) {
  Config config;
  config.sources["z_roster"].interval = hours(1);
  config.sources["b_stand_in"].interval = seconds(30);
  start(config);
  for (int i = 0; i < 3; ++i) daemon_->poll();
  EXPECT_EQ(view().reads_of(kStandInFile), 1);
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 0);
  for (int reads = 1; reads <= 2; ++reads) {
    view().fail(kStandInFile, EIO);
    daemon_->poll(seconds(30));
    EXPECT_EQ(view().reads_of(kFakeRosterFile), reads);
    EXPECT_EQ(shown("bytes", "b"), "200");
    view().set(kStandInFile, "a 90\n");
    daemon_->poll(seconds(30));
    EXPECT_FALSE(shown("bytes", "b"));
  }
}

TEST_F(PollerStandInTest, AReloadThatSwitchesItOffHasTheRosterReadAgain) {
  start();
  daemon_->poll();
  Config config = daemon_->config;
  config.sources["b_stand_in"].enabled = Switch::kOff;
  daemon_->poller->configure(config);
  daemon_->poll();
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_EQ(up("z_roster"), "1");
  EXPECT_FALSE(up("b_stand_in"));
}

TEST_F(PollerStandInTest, ARecordingHasBothAndShowsTheSame) {
  start();
  view().set_recorded(true);
  daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 1);
  EXPECT_EQ(view().reads_of(kStandInFile), 1);
  EXPECT_EQ(shown("bytes", "a"), "90");
  view().fail(kFakeRosterFile, EIO);  // which only the recording needs to read
  daemon_->poll();
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
}

TEST_F(PollerStandInTest, RefusedItIsNotPermittedWhileTheRosterIsUpAndElseDown) {
  start({}, {kStandInFile});
  daemon_->poll();
  EXPECT_EQ(not_permitted("b_stand_in", "CAP_C"), "1");
  EXPECT_FALSE(up("b_stand_in"));
  view().fail(kFakeRosterFile, EIO);
  daemon_->poll();
  EXPECT_EQ(up("b_stand_in"), "0") << "in the poll in which the types are lost";
  EXPECT_FALSE(not_permitted("b_stand_in", "CAP_C"));
  view().set(kFakeRosterFile, "a 100\n");
  daemon_->poll();
  EXPECT_FALSE(up("b_stand_in"));
  EXPECT_EQ(not_permitted("b_stand_in", "CAP_C"), "1");
  start({}, {kStandInFile});
  view().fail(kFakeRosterFile, ENOENT);
  daemon_->poller->open_sources();
  daemon_->poll();
  EXPECT_EQ(up("b_stand_in"), "0") << "without a roster";
}

TEST_F(PollerStandInTest, ARefusedRosterIsReplacedWhileTheOtherHasItsTypes) {
  start({}, {kFakeRosterFile});
  daemon_->poll();
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  EXPECT_FALSE(up("z_roster"));
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
  view().fail(kStandInFile, EIO);
  daemon_->poll();
  EXPECT_EQ(up("z_roster"), "0") << "now nothing replaces it";
  EXPECT_EQ(up("b_stand_in"), "0");
}

// ---- a contributor whose figures the replacement has ---------------------------------------------------------------------

FieldMask given_when_read;

Result<void> read_unless_given(KernelView& view, RawBytes& raw, ReaderState& state) {
  given_when_read = state.given_fields;
  if (state.given_fields.has(Field::kFailures)) return system_error("/fake/needless", ENOENT);
  return read_fake<kFakeContributorFile>(view, raw);
}

TEST_F(PollerStandInTest, AContributorWhoseFiguresItHasIsReadOnlyAfterItFailed) {
  stand_in_.fields = FieldMask(Field::kBytes, Field::kFailures);
  contributor_.steps = source_steps<ReaderState, read_unless_given, read_unless_given, parse_fake<Field::kFailures>>();
  start();
  EXPECT_EQ(given_when_read, FieldMask(Field::kBytes, Field::kFailures)) << "when it was opened";
  daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 0);
  EXPECT_EQ(state("a_contributor"), SourceState::kReplaced);
  EXPECT_EQ(daemon_->status("a_contributor").error, "b_stand_in has its figures");
  EXPECT_FALSE(up("a_contributor"));
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
  view().fail(kStandInFile, EIO);
  daemon_->poll();
  daemon_->clock.advance(seconds(60));  // an absent source is tried again
  daemon_->poll();
  EXPECT_EQ(shown("failures_total", "b"), "2");
  EXPECT_EQ(up("a_contributor"), "1");
  view().set(kStandInFile, "a 90\nb 180\n");
  daemon_->poll();
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kReplaced) << "its previous state does not make this a failure";
}

}  // namespace
}  // namespace memstat
