// SPDX-License-Identifier: BSD-2-Clause
// A source that replaces a roster, on a fake kernel: which of the two is read, and whose figures are shown.
#include "daemon/poll/poller.h"
#include "tests/support/fake_sources.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::string_view kStandInFile = "/fake/stand_in";

class PollerStandInTest : public testing::Test {
 protected:
  void start(Config config = {}) {
    config.poll.timeout = hours(1);  // no read of the fake kernel takes long, unless it hangs
    daemon_.emplace(OperatingSystem::kLinux, config, false, all_);
    view().set(kFakeRosterFile, "a 100\nb 200\n");
    view().set(kFakeContributorFile, "a 1\nb 2\n");
    view().set(kFakeSharedFile, "MemTotal: 1 kB\n");
    view().set(kStandInFile, "a 90\nb 180\n");
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

  FakeSources sources_;
  SourceDescriptor stand_in_ = [] {
    SourceDescriptor source = fake_roster();
    source.name = "b_stand_in";
    source.origin = kStandInFile;
    source.is_roster = false;
    source.replaces = "z_roster";
    source.steps = source_steps<ReaderState, open_nothing, read_fake<kStandInFile>, parse_fake<Field::kBytes>>();
    return source;
  }();
  std::array<const SourceDescriptor*, 3> all_ = {&sources_.contributor, &stand_in_, &sources_.roster};
  std::optional<PolledDaemon> daemon_;
};

TEST_F(PollerStandInTest, TheRosterIsNotReadWhileTheOtherIsUp) {
  start();
  EXPECT_TRUE(daemon_->poll());
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 0);
  EXPECT_EQ(view().reads_of(kStandInFile), 2);
  EXPECT_EQ(shown("bytes", "a"), "90");
  EXPECT_EQ(shown("failures_total", "b"), "2") << "contributors find the types";
  EXPECT_EQ(problem_of(daemon_->page()), "");
}

TEST_F(PollerStandInTest, AReplacedSourceIsReportedAndHasNoSeries) {
  start();
  daemon_->poll();
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  EXPECT_EQ(to_string(state("z_roster")), "replaced");
  EXPECT_EQ(daemon_->status("z_roster").error, "b_stand_in replaces it");
  EXPECT_THAT(daemon_->metrics.text(), Not(HasSubstr("z_roster")));
  EXPECT_EQ(up("b_stand_in"), "1");
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
}

TEST_F(PollerStandInTest, TypesAppearAndVanishWithTheRosterThatIsRead) {
  start();
  daemon_->poll();
  view().set(kStandInFile, "c 5\na 90\n");
  daemon_->poll();
  EXPECT_EQ(shown("bytes", "c"), "5");
  EXPECT_FALSE(shown("bytes", "b"));
}

TEST_F(PollerStandInTest, WhereItFailsTheRosterIsReadInTheSamePoll) {
  start();
  daemon_->poll();
  view().fail(kStandInFile, EIO);
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 1);
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_EQ(shown("failures_total", "a"), "1");
  EXPECT_EQ(up("z_roster"), "1");
  EXPECT_EQ(up("b_stand_in"), "0");
}

TEST_F(PollerStandInTest, WhenItComesBackTheRosterIsReplacedAgain) {
  start();
  view().fail(kStandInFile, EIO);
  daemon_->poll();
  view().set(kStandInFile, "a 90\nb 180\n");
  daemon_->poll();
  EXPECT_EQ(shown("bytes", "a"), "90");
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  EXPECT_FALSE(up("z_roster")) << "its earlier result is outdated";
  const int reads = view().reads_of(kFakeRosterFile);
  daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeRosterFile), reads);
  EXPECT_EQ(daemon_->own("memstat_source_types{source=\"z_roster\"}"), std::nullopt);
}

TEST_F(PollerStandInTest, ARosterOfALongIntervalIsReadAtOnceWhenItIsNeeded) {
  Config config;
  config.sources["z_roster"].interval = hours(1);
  start(config);
  view().fail(kStandInFile, EIO);
  daemon_->poll();
  view().set(kStandInFile, "a 90\n");
  daemon_->poll();
  view().fail(kStandInFile, EIO);
  daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 2);
  EXPECT_EQ(shown("bytes", "b"), "200");
}

TEST_F(PollerStandInTest, BetweenItsOwnReadsTheRosterIsReplacedAsWell) {
  Config config;
  config.sources["b_stand_in"].interval = seconds(30);
  start(config);
  for (int i = 0; i < 4; ++i) daemon_->poll();
  EXPECT_EQ(view().reads_of(kStandInFile), 2);
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 0);
  EXPECT_EQ(shown("bytes", "a"), "90");
}

TEST_F(PollerStandInTest, SwitchedOffItReplacesNothing) {
  Config config;
  config.sources["b_stand_in"].enabled = Switch::kOff;
  start(config);
  daemon_->poll();
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_EQ(state("b_stand_in"), SourceState::kOff);
  EXPECT_EQ(state("z_roster"), SourceState::kUp);
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

TEST_F(PollerStandInTest, ARosterThatIsSwitchedOffIsNotNeeded) {
  Config config;
  config.sources["z_roster"].enabled = Switch::kOff;
  start(config);
  daemon_->poll();
  EXPECT_EQ(shown("bytes", "a"), "90");
  EXPECT_EQ(state("z_roster"), SourceState::kOff);
}

TEST_F(PollerStandInTest, AKernelWithoutItHasTheRoster) {
  start();
  view().fail(kStandInFile, ENOENT);
  daemon_->poll();
  EXPECT_EQ(state("b_stand_in"), SourceState::kAbsent);
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_EQ(up("z_roster"), "1");
}

TEST_F(PollerStandInTest, ARecordingHasBothAndShowsTheSame) {
  start();
  view().set_recorded(true);
  daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeRosterFile), 1);
  EXPECT_EQ(view().reads_of(kStandInFile), 1);
  EXPECT_EQ(shown("bytes", "a"), "90");
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  view().fail(kFakeRosterFile, EIO);  // which only the recording needs to read
  daemon_->poll();
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
}

// ---- a contributor whose figures the replacement has
// ----------------------------------------------------------------

FieldMask given_when_read;
Result<void> read_unless_given(KernelView& view, RawBytes& raw, ReaderState& state) {
  given_when_read = state.given_fields;
  if (state.given_fields.has(Field::kFailures)) return system_error("/fake/needless", ENOENT);
  return read_fake<kFakeContributorFile>(view, raw);
}

class PollerGivenTest : public PollerStandInTest {
 protected:
  PollerGivenTest() {
    stand_in_.fields = FieldMask(Field::kBytes, Field::kFailures);
    sources_.contributor.steps =
        source_steps<ReaderState, read_unless_given, read_unless_given, parse_fake<Field::kFailures>>();
  }
};

TEST_F(PollerGivenTest, IsNotOpenedWhereTheOtherOneIs) {
  start();
  EXPECT_EQ(given_when_read, FieldMask(Field::kBytes, Field::kFailures)) << "when it was opened";
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 0);
  EXPECT_EQ(state(sources_.contributor.name), SourceState::kReplaced);
  EXPECT_EQ(daemon_->status(sources_.contributor.name).error, "b_stand_in has its figures");
  daemon_->poll();
  EXPECT_EQ(view().reads_of(kFakeContributorFile), 0);
  EXPECT_EQ(state(sources_.contributor.name), SourceState::kReplaced);
  EXPECT_FALSE(up(sources_.contributor.name));
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
}

TEST_F(PollerGivenTest, IsReadAfterTheOtherOneFailed) {
  start();
  daemon_->poll();
  view().fail(kStandInFile, EIO);
  daemon_->poll();
  daemon_->clock.advance(seconds(60));  // an absent source is tried again
  daemon_->poll();
  EXPECT_EQ(shown("failures_total", "b"), "2");
  EXPECT_EQ(up(sources_.contributor.name), "1");
  view().set(kStandInFile, "a 90\nb 180\n");
  daemon_->poll();
  daemon_->poll();
  EXPECT_EQ(state(sources_.contributor.name), SourceState::kReplaced) << "its previous state does not make this a failure";
}

TEST(ReadingOrder, HasThoseThatStandInBeforeRostersAndTheseBeforeOthers) {
  FakeSources sources;
  SourceDescriptor stand_in = fake_contributor();
  stand_in.name = "zz_stand_in";
  stand_in.replaces = "z_roster";
  const std::array<const SourceDescriptor*, 3> all = {&sources.contributor, &sources.roster, &stand_in};
  EXPECT_THAT(in_reading_order(all), testing::ElementsAre(&stand_in, &sources.roster, &sources.contributor));
}

}  // namespace
}  // namespace memstat
