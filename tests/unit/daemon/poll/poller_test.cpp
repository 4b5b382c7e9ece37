// SPDX-License-Identifier: BSD-2-Clause
// Consecutive polls of a fake kernel, with the real sources.
#include "daemon/poll/poller.h"

#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

/// Only the test's end waits for a hanging read.
Config patient() { return of_fake_kernel({}); }

class LinuxPollerTest : public testing::Test {
 protected:
  LinuxPollerTest() { set({{"dentry", 100}}); }
  void set(std::initializer_list<std::pair<std::string_view, std::uint64_t>> caches) {
    view().set(kSlabinfo, slabinfo(caches));
  }
  FakeKernelView& view() { return *daemon_.view; }
  [[nodiscard]] std::optional<std::string> shown(std::string_view metric, std::string_view type) const {
    return type_value(daemon_.page(), metric, "slab", type);
  }
  PolledDaemon daemon_{OperatingSystem::kLinux, patient()};
};

TEST_F(LinuxPollerTest, APollPublishesTheTypesAndTheSourcesOwnSeries) {
  daemon_.poller->open_sources();
  EXPECT_TRUE(daemon_.poll());
  EXPECT_EQ(shown("objects", "dentry"), "100");
  EXPECT_EQ(shown("bytes", "dentry"), "6400");
  EXPECT_EQ(shown("held_bytes", "dentry"), "16384");
  EXPECT_EQ(problem_of(daemon_.page()), "");
  EXPECT_EQ(daemon_.own("memstat_source_up{source=\"linux_slabinfo\"}"), "1");
  EXPECT_EQ(daemon_.own("memstat_source_types{source=\"linux_slabinfo\"}"), "1");
  EXPECT_EQ(daemon_.own("memstat_source_read_seconds_count{source=\"linux_slabinfo\"}"), "1");
  EXPECT_EQ(daemon_.own("memstat_poll_timestamp_seconds"), "1700000010");
  EXPECT_EQ(daemon_.own("memstat_source_last_success_timestamp_seconds{source=\"linux_slabinfo\"}"), "1700000010");
  EXPECT_EQ(daemon_.own("memstat_series"), std::to_string(daemon_.pool.current()->series));
  EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kUp);
  EXPECT_EQ(daemon_.status("linux_slabinfo").types, 1U);
  EXPECT_THAT(daemon_.log, IsEmpty());
}

TEST_F(LinuxPollerTest, TheBootTimeFollowsTheClockWhenSomebodySetsIt) {
  view().set("/proc/stat", "btime 1600000000\n");
  daemon_.poller->open_sources();
  daemon_.poll();
  EXPECT_EQ(daemon_.own("memstat_boot_timestamp_seconds"), "1600000000");
  daemon_.clock.set_realtime(hours(1));
  view().set("/proc/stat", "btime 300\n");
  daemon_.poll();
  EXPECT_EQ(daemon_.own("memstat_boot_timestamp_seconds"), "300");
  EXPECT_EQ(daemon_.pool.current()->boot_time_ns(), 300'000'000'000);
  view().set("/proc/stat", "btime 301\n");
  daemon_.poll();
  EXPECT_EQ(daemon_.own("memstat_boot_timestamp_seconds"), "300") << "not read while the clock continues normally";
}

TEST_F(LinuxPollerTest, AFailedSourceIsDownItsTypesGoAndComeBack) {
  daemon_.poll();
  view().fail(kSlabinfo, EIO);
  EXPECT_FALSE(daemon_.poll());
  EXPECT_EQ(daemon_.page(), "");
  EXPECT_EQ(daemon_.own("memstat_source_up{source=\"linux_slabinfo\"}"), "0");
  EXPECT_EQ(daemon_.own("memstat_source_errors_total{reason=\"io\",source=\"linux_slabinfo\"}"), "1");
  EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kDown);
  EXPECT_THAT(daemon_.status("linux_slabinfo").error, HasSubstr("linux_slabinfo: /proc/slabinfo: Input/output error"));
  set({{"dentry", 120}});
  EXPECT_TRUE(daemon_.poll());
  EXPECT_EQ(shown("delta_bytes", "dentry"), "1280");
  EXPECT_EQ(daemon_.own("memstat_source_up{source=\"linux_slabinfo\"}"), "1");
  EXPECT_EQ(daemon_.status("linux_slabinfo").error, "");
}

TEST_F(LinuxPollerTest, AnUnchangedErrorIsLoggedOnceThenCounted) {
  daemon_.poll();
  view().fail(kSlabinfo, EIO);
  for (int i = 0; i < 5; ++i) daemon_.poll();
  EXPECT_THAT(daemon_.logged(LogLevel::kError), ElementsAre(HasSubstr("/proc/slabinfo")));
  EXPECT_EQ(daemon_.own("memstat_source_errors_total{reason=\"io\",source=\"linux_slabinfo\"}"), "5");
  view().fail(kSlabinfo, EACCES);
  daemon_.poll();
  EXPECT_THAT(daemon_.logged(LogLevel::kError), SizeIs(2)) << "another error is logged again";
  EXPECT_EQ(daemon_.own("memstat_source_errors_total{reason=\"permission\",source=\"linux_slabinfo\"}"), "1");
  set({{"dentry", 1}});
  daemon_.poll();
  EXPECT_THAT(daemon_.logged(LogLevel::kInfo), ElementsAre(HasSubstr("linux_slabinfo: is up again")));
}

TEST_F(LinuxPollerTest, AnInterfaceThatIsNotThereIsAbsentAndNotDown) {
  view().fail(kSlabinfo, ENOENT);
  daemon_.poller->open_sources();
  EXPECT_FALSE(daemon_.poll());
  EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kAbsent);
  EXPECT_FALSE(daemon_.own("memstat_source_up{source=\"linux_slabinfo\"}"));
  EXPECT_THAT(daemon_.metrics.text(), Not(HasSubstr("linux_slabinfo")));
  EXPECT_THAT(daemon_.log, IsEmpty());
  EXPECT_THAT(daemon_.status("linux_slabinfo").error, HasSubstr("/proc/slabinfo")) << "the status says why";
  set({{"dentry", 1}});
  const int reads = view().reads_of(kSlabinfo);
  EXPECT_FALSE(daemon_.poll(seconds(59)));
  EXPECT_EQ(view().reads_of(kSlabinfo), reads) << "it is looked for once a minute";
  EXPECT_TRUE(daemon_.poll(seconds(1)));
  EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kUp);
}

TEST_F(LinuxPollerTest, WhileNoFileCanBeOpenedWhatTheKernelLacksIsStillAbsentAndTheRestIsDown) {
  view().fail(kSlabinfo, ENOENT);
  daemon_.poller->open_sources();
  daemon_.poll();
  for (const int error : {ENFILE, EMFILE}) {
    view().fail(kSlabinfo, error);
    daemon_.poll(seconds(60));
    EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kAbsent) << error;
    EXPECT_THAT(daemon_.status("linux_slabinfo").error, HasSubstr("No such file"));
    EXPECT_FALSE(daemon_.own("memstat_source_up{source=\"linux_slabinfo\"}"));
  }
  EXPECT_THAT(daemon_.log, IsEmpty());
  set({{"dentry", 1}});
  daemon_.poll(seconds(60));
  view().fail(kSlabinfo, ENFILE);
  daemon_.poll(seconds(60));
  EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kDown);
  EXPECT_EQ(daemon_.own("memstat_source_up{source=\"linux_slabinfo\"}"), "0");
}

TEST_F(LinuxPollerTest, AMissingRequiredSourceIsDown) {
  Config config = patient();
  config.sources["linux_slabinfo"].enabled = Switch::kOn;
  daemon_.poller->configure(config);
  view().fail(kSlabinfo, ENOENT);
  daemon_.poll();
  EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kDown);
  EXPECT_EQ(daemon_.own("memstat_source_errors_total{reason=\"not_present\",source=\"linux_slabinfo\"}"), "1");
}

TEST_F(LinuxPollerTest, ReportsUnopenableFilesOnceWhileItHasPrivileges) {
  view().fail(kSlabinfo, EACCES);
  daemon_.poller->open_sources();
  EXPECT_THAT(daemon_.logged(LogLevel::kDebug), ElementsAre(HasSubstr("root")));
  EXPECT_FALSE(daemon_.poll());
  EXPECT_FALSE(daemon_.poll());
  EXPECT_EQ(daemon_.log.size(), 1U);
  EXPECT_THAT(daemon_.status("linux_slabinfo").error, HasSubstr("root"));
}

TEST_F(LinuxPollerTest, RunningOutOfFilesIsNotLaterBlamedOnTheAccount) {
  view().fail(kSlabinfo, EMFILE);
  daemon_.poller->open_sources();
  view().fail(kSlabinfo, EACCES);  // privileges are gone
  daemon_.poll();
  EXPECT_THAT(daemon_.logged(LogLevel::kError), ElementsAre(HasSubstr("Too many open files")));
  EXPECT_THAT(daemon_.status("linux_slabinfo").error, HasSubstr("Too many open files"));
}

TEST_F(LinuxPollerTest, AVanishedTypeLeavesAtOnceAndKeepsItsSlotsForTheRetention) {
  Config config = patient();
  config.retention = 2;
  daemon_.poller->configure(config);
  const auto poll_with = [this](std::initializer_list<std::pair<std::string_view, std::uint64_t>> caches) {
    set(caches);
    daemon_.poll();
  };
  poll_with({{"flap", 10}, {"dentry", 1}});
  poll_with({{"dentry", 1}});
  EXPECT_FALSE(shown("objects", "flap"));
  poll_with({{"dentry", 1}});
  poll_with({{"flap", 11}, {"dentry", 1}});
  EXPECT_EQ(shown("delta_bytes", "flap"), "64") << "gone for two polls, nothing is lost";
  for (int i = 0; i < 3; ++i) poll_with({{"dentry", 1}});
  poll_with({{"flap", 12}, {"dentry", 1}});
  EXPECT_EQ(shown("objects", "flap"), "12");
  EXPECT_FALSE(shown("delta_bytes", "flap")) << "gone for three, it is new";
}

TEST_F(LinuxPollerTest, ANewConfigurationTakesEffectWithTheNextPollAndNothingCountedIsLost) {
  daemon_.poll();
  Config config = patient();
  config.tier = Tier::kMinimal;
  config.limits.push_back({.allocator = {}, .type = *NamePattern::compile("den.*"), .bytes = {}, .objects = 150});
  daemon_.poller->configure(config);
  set({{"dentry", 160}});
  daemon_.poll();
  EXPECT_EQ(shown("limit_objects", "dentry"), "150");
  EXPECT_EQ(shown("limit_hits_total", "dentry"), "1");
  EXPECT_FALSE(shown("held_bytes", "dentry")) << "not in the minimal tier";
  daemon_.poller->configure(patient());
  set({{"dentry", 161}});
  daemon_.poll();
  EXPECT_EQ(shown("delta_bytes", "dentry"), "64");
  EXPECT_FALSE(shown("limit_objects", "dentry"));
}

TEST_F(LinuxPollerTest, FiltersAndBoundsOfANewConfigurationAreInForceWithTheNextPoll) {
  const auto has = [&](std::string_view type) { return shown("bytes", type).has_value(); };
  const auto unlisted = [&] { return value_of(daemon_.page(), "memstat_unlisted_bytes{allocator=\"slab\"}"); };
  set({{"dentry", 100}, {"filp", 7}, {"inode", 50}});
  daemon_.poll();
  EXPECT_TRUE(has("dentry") && has("filp") && has("inode"));
  EXPECT_EQ(unlisted(), "0");
  Config config = patient();
  config.filters.exclude.push_back({.allocator = {}, .type = *NamePattern::compile("dent.*")});
  config.min_bytes = 1000;
  daemon_.poller->configure(config);
  daemon_.poll();
  EXPECT_TRUE(!has("dentry") && !has("filp") && has("inode"));
  EXPECT_EQ(unlisted(), "448") << "filtered types are not in the sum";
  EXPECT_EQ(daemon_.own("memstat_source_types{source=\"linux_slabinfo\"}"), "3");
  config.filters = {.include = {{.allocator = *NamePattern::compile("uma"), .type = {}}}, .exclude = {}};
  daemon_.poller->configure(config);
  daemon_.poll();
  EXPECT_EQ(daemon_.page(), "");
  daemon_.poller->configure(patient());
  daemon_.poll();
  EXPECT_TRUE(has("dentry") && has("filp") && has("inode"));
  EXPECT_EQ(shown("delta_bytes", "dentry"), "0") << "it was followed all the time";
}

TEST_F(LinuxPollerTest, EverythingMeansEverythingExceptFilteredTypes) {
  Config config = patient();
  config.series_limit = 1;
  config.min_bytes = 1'000'000;
  config.filters.exclude.push_back({.allocator = {}, .type = *NamePattern::compile("filp")});
  PolledDaemon once(OperatingSystem::kLinux, config, true);
  once.view->set(kSlabinfo, slabinfo({{"dentry", 100}, {"filp", 7}, {"inode", 50}}));
  once.poll();
  EXPECT_EQ(once.pool.current()->row_count(), 2U);
  EXPECT_EQ(once.own("memstat_series_dropped"), "0");
}

TEST_F(LinuxPollerTest, TheFirstMatchingLimitCounts) {
  Config config = patient();
  config.limits.push_back({.allocator = *NamePattern::compile("uma"), .type = {}, .bytes = 1, .objects = {}});
  config.limits.push_back({.allocator = {}, .type = *NamePattern::compile("dentry"), .bytes = 2, .objects = {}});
  config.limits.push_back({.allocator = {}, .type = {}, .bytes = 3, .objects = {}});
  daemon_.poller->configure(config);
  set({{"dentry", 1}, {"filp", 1}});
  daemon_.poll();
  EXPECT_EQ(shown("limit_bytes", "dentry"), "2");
  EXPECT_EQ(shown("limit_bytes", "filp"), "3");
}

TEST_F(LinuxPollerTest, AReplayThatStartsOverForgetsEverything) {
  Config config = patient();
  config.sources["linux_slabinfo"].interval = seconds(30);
  daemon_.poller->configure(config);
  daemon_.poller->poll(std::chrono::nanoseconds(seconds(1000)).count());
  daemon_.poller->poll(std::chrono::nanoseconds(seconds(1030)).count());
  EXPECT_EQ(shown("delta_bytes", "dentry"), "0");
  daemon_.poller->forget_everything();
  const int reads = view().reads_of(kSlabinfo);
  daemon_.poller->poll(std::chrono::nanoseconds(seconds(1000)).count());  // time went back
  EXPECT_EQ(view().reads_of(kSlabinfo), reads + 1);
  EXPECT_EQ(shown("objects", "dentry"), "100");
  EXPECT_FALSE(shown("delta_bytes", "dentry"));
}

TEST_F(LinuxPollerTest, WhenSlowReadersHoldEverySnapshotThePollIsCountedAsNotShown) {
  std::vector<std::shared_ptr<const RenderedSnapshot>> held;
  for (std::size_t i = 0; i < SnapshotPool::kSize; ++i) {
    daemon_.poll();
    held.push_back(daemon_.pool.current());
  }
  EXPECT_EQ(daemon_.own("memstat_snapshots_skipped_total"), "0");
  const auto timestamp = daemon_.own("memstat_poll_timestamp_seconds");
  set({{"dentry", 7}});
  EXPECT_TRUE(daemon_.poll());
  EXPECT_EQ(daemon_.own("memstat_snapshots_skipped_total"), "1");
  EXPECT_EQ(daemon_.own("memstat_poll_timestamp_seconds"), timestamp) << "the shown values are from then";
  EXPECT_EQ(shown("objects", "dentry"), "100");
  held.clear();
  daemon_.poll();
  EXPECT_EQ(shown("objects", "dentry"), "7");
}

TEST_F(LinuxPollerTest, FindingsHaveGrowthOnceItWasSearched) {
  view().set("/proc/meminfo", "MemTotal: 100000 kB\nMemFree: 50000 kB\n");
  daemon_.poller->open_sources();
  const auto poll = [&](std::uint64_t number) {
    set({{"leaking", 100'000 + 20'000 * number}, {"dentry", 100}});
    daemon_.poll();
  };
  for (std::uint64_t number = 0; number < 20; ++number) poll(number);
  constexpr std::string_view kSeries = "memstat_finding{cause=\"slab_leak\",object=\"slab/leaking\"}";
  EXPECT_FALSE(daemon_.own(kSeries).has_value());
  daemon_.poller->look_for_growth(0);
  for (std::uint64_t number = 20; number < 22; ++number) poll(number);
  EXPECT_EQ(daemon_.own(kSeries), "1");
  std::vector<std::string> in_api;
  for (const Finding& finding : daemon_.poller->diagnosis().findings) in_api.push_back(finding.cause);
  EXPECT_THAT(in_api, testing::Contains("slab_leak")) << "the same answer in the API";
}

class FreeBsdPollerTest : public testing::Test {
 protected:
  static Config config() {
    Config config = patient();
    config.tier = Tier::kFull;
    return config;
  }
  void SetUp() override {
    daemon_.view->set(kMallocStats, MallocStream(4).add("temp", {{0, {100, 40, 10, 4, 1}}, {1, {50, 0, 5, 0, 4}}}).bytes());
    daemon_.view->set(kZoneStats,
                      UmaStream(4).add({.name = "mbuf", .size = 256, .rsize = 256, .allocs = 30, .frees = 10}).bytes());
    const std::uint32_t sizes[] = {16, 32, 64, 0};
    daemon_.view->set("vm.malloc.zone_sizes", std::string(reinterpret_cast<const char*>(sizes), sizeof sizes));
  }
  void TearDown() override { daemon_.view->release(kMallocStats); }
  PolledDaemon daemon_{OperatingSystem::kFreeBsd, config()};
};

TEST_F(FreeBsdPollerTest, AStuckSourceTakesNothingElseDownAndRecovers) {
  daemon_.poll();
  daemon_.view->block(kMallocStats);
  Config impatient = config();
  impatient.poll.timeout = seconds(5);  // in which the others answer, on a busy machine
  daemon_.poller->configure(impatient);
  EXPECT_TRUE(daemon_.poll());
  EXPECT_EQ(daemon_.status("freebsd_malloc").state, SourceState::kDown);
  EXPECT_EQ(daemon_.status("freebsd_uma").state, SourceState::kUp);
  daemon_.poller->configure(config());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(daemon_.poll());
  EXPECT_EQ(daemon_.own("memstat_source_errors_total{reason=\"timeout\",source=\"freebsd_malloc\"}"), "4");
  EXPECT_EQ(daemon_.view->reads_of(kMallocStats), 2) << "not read again before it returns";
  EXPECT_FALSE(type_value(daemon_.page(), "bytes", "malloc", "temp"));
  EXPECT_EQ(type_value(daemon_.page(), "objects", "uma", "mbuf"), "20");

  daemon_.view->release(kMallocStats);
  ASSERT_TRUE(eventually([&] { return daemon_.poller->stuck_count() == 0; }));
  EXPECT_TRUE(daemon_.poll());
  EXPECT_EQ(daemon_.status("freebsd_malloc").state, SourceState::kUp);
  EXPECT_EQ(type_value(daemon_.page(), "allocations_total", "malloc", "temp"), "15");
}

TEST_F(FreeBsdPollerTest, PerCpuSeriesAreForTheAllocatorsAndTypesThatAreConfigured) {
  daemon_.poll();
  EXPECT_THAT(daemon_.page(), Not(HasSubstr("memstat_cpu_")));
  Config with = config();
  with.per_cpu.allocators.push_back(*NamePattern::compile("malloc"));
  daemon_.poller->configure(with);
  daemon_.poll();
  EXPECT_EQ(value_of(daemon_.page(), "memstat_cpu_allocations_total{allocator=\"malloc\",type=\"temp\",cpu=\"1\"}"), "5");
  EXPECT_THAT(daemon_.page(), Not(HasSubstr("memstat_cpu_allocations_total{allocator=\"uma\"")));
  with.per_cpu.types.push_back(*NamePattern::compile("nothing"));
  daemon_.poller->configure(with);
  daemon_.poll();
  EXPECT_THAT(daemon_.page(), Not(HasSubstr("memstat_cpu_")));
  EXPECT_THAT(daemon_.page(), Not(HasSubstr("size_class")));
}

}  // namespace
}  // namespace memstat
