// SPDX-License-Identifier: BSD-2-Clause
// Sources that lack a privilege, on a fake kernel: not permitted if no type is missing without them, down otherwise.
#include "daemon/poll/poller.h"
#include "tests/support/fake_sources.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::string_view kIteratorFile = "/fake/iterator";

template <const std::string_view& kFile>
Result<void> keep_fake(KernelView& view, RawBytes&) {
  return view.keep_open(kFile);
}

class PollerRefusalTest : public testing::Test {
 protected:
  PollerRefusalTest() {
    sources_.contributor.needs = "CAP_A,CAP_B";
    sources_.contributor.steps = source_steps<ReaderState, keep_fake<kFakeContributorFile>, read_fake<kFakeContributorFile>,
                                              parse_fake<Field::kFailures>>();
    sources_.roster.needs = "root";
  }
  /// Call this after changing the sources. `refused`: files that the kernel refuses from the beginning.
  void start(std::initializer_list<std::string_view> refused, Config config = {}) {
    config.poll.timeout = hours(1);  // no read of the fake kernel takes long
    daemon_.emplace(OperatingSystem::kLinux, config, false, all_);
    for (const std::string_view file : {kFakeRosterFile, kFakeContributorFile, kIteratorFile}) allow(file);
    view().set(kFakeSharedFile, "MemTotal: 1 kB\n");
    for (const std::string_view file : refused) view().fail(file, EPERM);
    daemon_->poller->open_sources();
  }
  FakeKernelView& view() { return *daemon_->view; }
  void allow(std::string_view file) { view().set(file, "a 100\nb 200\n"); }
  [[nodiscard]] SourceState state(std::string_view source) const { return daemon_->status(source).state; }
  [[nodiscard]] std::optional<std::string> up(std::string_view source) const {
    return daemon_->own("memstat_source_up{source=\"" + std::string(source) + "\"}");
  }
  [[nodiscard]] std::optional<std::string> not_permitted(std::string_view source, std::string_view needs) const {
    return daemon_->own("memstat_source_not_permitted{needs=\"" + std::string(needs) + "\",source=\"" + std::string(source) +
                        "\"}");
  }
  [[nodiscard]] std::optional<std::string> shown(std::string_view metric, std::string_view type) const {
    return type_value(daemon_->page(), metric, "vmalloc", type);
  }

  FakeSources sources_;
  SourceDescriptor stand_in_ = [] {
    SourceDescriptor source = fake_roster();
    source.name = "b_stand_in";
    source.origin = kIteratorFile;
    source.is_roster = false;
    source.replaces = "z_roster";
    source.needs = "CAP_C";
    source.steps =
        source_steps<ReaderState, keep_fake<kIteratorFile>, read_fake<kIteratorFile>, parse_fake<Field::kBytes>>();
    return source;
  }();
  std::vector<const SourceDescriptor*> all_ = {&sources_.contributor, &stand_in_, &sources_.roster};
  std::optional<PolledDaemon> daemon_;
};

TEST_F(PollerRefusalTest, ASourceThatAddsValuesIsNotPermittedAndNotDown) {
  start({kFakeContributorFile});
  EXPECT_EQ(state("a_contributor"), SourceState::kNotPermitted) << "known before the first poll";
  EXPECT_TRUE(daemon_->poll());
  EXPECT_EQ(to_string(state("a_contributor")), "not permitted");
  EXPECT_EQ(daemon_->status("a_contributor").needs, "CAP_A,CAP_B");
  EXPECT_THAT(daemon_->status("a_contributor").error, HasSubstr(kFakeContributorFile));
  EXPECT_EQ(not_permitted("a_contributor", "CAP_A,CAP_B"), "1");
  EXPECT_FALSE(up("a_contributor"));
  EXPECT_THAT(daemon_->metrics.text(), Not(HasSubstr("memstat_source_errors_total{")));
  EXPECT_EQ(shown("bytes", "a"), "100");
  EXPECT_FALSE(shown("failures_total", "a"));
  EXPECT_EQ(problem_of(daemon_->page()), "");
}

TEST_F(PollerRefusalTest, OneLineOfTheLogNamesWhatItNeeds) {
  start({kFakeContributorFile});
  for (int poll = 0; poll < 20; ++poll) daemon_->poll();
  EXPECT_THAT(daemon_->logged(LogLevel::kInfo),
              ElementsAre(testing::StartsWith("a_contributor: not permitted, needs CAP_A,CAP_B: /fake/contributor: ")));
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
}

TEST_F(PollerRefusalTest, IsTriedOnceAMinuteAndWorksOncePermitted) {
  start({kFakeContributorFile});
  daemon_->poll();
  allow(kFakeContributorFile);
  daemon_->poll(seconds(59));
  EXPECT_EQ(state("a_contributor"), SourceState::kNotPermitted);
  daemon_->poll(seconds(1));
  EXPECT_EQ(up("a_contributor"), "1");
  EXPECT_FALSE(not_permitted("a_contributor", "CAP_A,CAP_B"));
  EXPECT_EQ(daemon_->status("a_contributor").needs, "");
  EXPECT_EQ(shown("failures_total", "a"), "100");
}

TEST_F(PollerRefusalTest, ASourceThatNeedsNoPrivilegeIsDownWhenItIsRefused) {
  sources_.contributor.needs = {};
  start({kFakeContributorFile});
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kDown);
  EXPECT_EQ(up("a_contributor"), "0");
}

TEST_F(PollerRefusalTest, AnyOtherErrorIsAFailure) {
  start({});
  view().fail(kFakeContributorFile, EIO);
  daemon_->poller->open_sources();
  daemon_->poll();
  EXPECT_EQ(up("a_contributor"), "0");
  view().fail(kFakeContributorFile, EPERM);  // privileges have been dropped since
  daemon_->poll();
  EXPECT_EQ(up("a_contributor"), "0") << "opening failed for another reason";
}

TEST_F(PollerRefusalTest, ASourceThatIsRefusedLaterIsDown) {
  start({});
  daemon_->poll();
  view().fail(kFakeContributorFile, EACCES);
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kDown);
  EXPECT_EQ(up("a_contributor"), "0");
}

TEST_F(PollerRefusalTest, AnEnabledSourceThatIsRefusedIsDown) {
  Config config;
  config.sources["a_contributor"].enabled = Switch::kOn;
  start({kFakeContributorFile}, config);
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kDown);
  EXPECT_EQ(up("a_contributor"), "0");
  config.sources["a_contributor"].enabled = Switch::kAuto;
  daemon_->poller->configure(config);
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kNotPermitted);
  EXPECT_FALSE(up("a_contributor"));
}

TEST_F(PollerRefusalTest, SwitchedOffItHasNoSeries) {
  start({kFakeContributorFile});
  daemon_->poll();
  Config config = daemon_->config;
  config.sources["a_contributor"].enabled = Switch::kOff;
  daemon_->poller->configure(config);
  daemon_->poll();
  EXPECT_EQ(state("a_contributor"), SourceState::kOff);
  EXPECT_EQ(daemon_->status("a_contributor").needs, "");
  EXPECT_THAT(daemon_->metrics.text(), Not(HasSubstr("a_contributor")));
}

TEST_F(PollerRefusalTest, ARosterThatNothingReplacesIsDown) {
  sources_.roster.steps =
      source_steps<ReaderState, keep_fake<kFakeRosterFile>, read_fake<kFakeRosterFile>, parse_fake<Field::kBytes>>();
  all_ = {&sources_.contributor, &sources_.roster};
  start({kFakeRosterFile});
  EXPECT_EQ(state("z_roster"), SourceState::kDown);
  daemon_->poll();
  EXPECT_EQ(up("z_roster"), "0");
  EXPECT_EQ(daemon_->status("z_roster").needs, "root");
  EXPECT_FALSE(not_permitted("z_roster", "root"));
  EXPECT_EQ(daemon_->own("memstat_source_errors_total{reason=\"permission\",source=\"z_roster\"}"), "1");
  EXPECT_THAT(daemon_->logged(LogLevel::kError), ElementsAre(HasSubstr(kFakeRosterFile)));
}

TEST_F(PollerRefusalTest, TheReplacementOfARosterThatIsUpIsNotPermitted) {
  start({kIteratorFile});
  EXPECT_EQ(state("b_stand_in"), SourceState::kNotPermitted);
  daemon_->poll();
  EXPECT_EQ(not_permitted("b_stand_in", "CAP_C"), "1");
  EXPECT_FALSE(up("b_stand_in"));
  EXPECT_EQ(up("z_roster"), "1");
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
}

TEST_F(PollerRefusalTest, WithTheRosterRefusedAsWellBothAreDown) {
  start({kIteratorFile, kFakeRosterFile});
  daemon_->poll();
  EXPECT_EQ(up("b_stand_in"), "0");
  EXPECT_EQ(up("z_roster"), "0");
  EXPECT_FALSE(not_permitted("b_stand_in", "CAP_C"));
}

TEST_F(PollerRefusalTest, IsDownIfTheRosterIsOffOrAbsent) {
  Config config;
  config.sources["z_roster"].enabled = Switch::kOff;
  start({kIteratorFile}, config);
  daemon_->poll();
  EXPECT_EQ(up("b_stand_in"), "0") << "off";
  start({kIteratorFile});
  view().fail(kFakeRosterFile, ENOENT);
  daemon_->poller->open_sources();
  daemon_->poll();
  EXPECT_EQ(up("b_stand_in"), "0") << "absent";
}

TEST_F(PollerRefusalTest, ItFollowsItsRosterDownAndUp) {
  start({kIteratorFile});
  daemon_->poll();
  view().fail(kFakeRosterFile, EIO);
  daemon_->poll();
  EXPECT_EQ(up("b_stand_in"), "0") << "in the poll in which the types are lost";
  EXPECT_FALSE(not_permitted("b_stand_in", "CAP_C"));
  allow(kFakeRosterFile);
  daemon_->poll();
  EXPECT_FALSE(up("b_stand_in"));
  EXPECT_EQ(not_permitted("b_stand_in", "CAP_C"), "1");
}

TEST_F(PollerRefusalTest, ARefusedRosterIsReplacedWhileTheOtherHasItsTypes) {
  start({kFakeRosterFile});
  daemon_->poll();
  EXPECT_EQ(state("z_roster"), SourceState::kReplaced);
  EXPECT_EQ(up("b_stand_in"), "1");
  EXPECT_FALSE(up("z_roster"));
  EXPECT_THAT(daemon_->logged(LogLevel::kError), IsEmpty());
  view().fail(kIteratorFile, EIO);
  daemon_->poll();
  EXPECT_EQ(up("z_roster"), "0") << "now nothing replaces it";
  EXPECT_EQ(up("b_stand_in"), "0");
}

}  // namespace
}  // namespace memstat
