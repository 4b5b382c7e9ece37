// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/previous_boot.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "core/capture/archive.h"
#include "core/model/kernel_log.h"
#include "daemon/incidents/incident_keeper.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

// Composed in the form of fs/pstore/platform.c, of lines as in Linux 6.12's mm/oom_kill.c; no machine crashed for them.
/// The lower numbers are the later lines.
std::string part(int number) { return read_text(fixture_path("previous_boot/dmesg-ramoops-" + std::to_string(number))); }

LogTable table_of(const PreviousBoot& boot) {
  LogTable table;
  EXPECT_FALSE(read_log_table(boot.log, table));
  return table;
}

TEST(PreviousBoot, HasThePanicAndTheEventsOfTheKernelInOrder) {
  const auto boot = read_previous_log(part(0) + part(1));
  ASSERT_TRUE(boot);
  EXPECT_EQ(boot->headline, "The machine stopped: Kernel panic - not syncing: System is deadlocked on memory");
  EXPECT_EQ(boot->uptime_ns, 101'260'000'000);
  const LogTable table = table_of(*boot);
  ASSERT_EQ(table.size, 2U) << "a program wrote the third";
  EXPECT_EQ(table.events[0].event, LogEvent::kOomKill);
  EXPECT_EQ(table.events[1].event, LogEvent::kNobodyToKill);
  EXPECT_EQ(table.events[0].time_us, 100'000'009U);
  EXPECT_THAT(std::string(table.events[0].more[0]), testing::HasSubstr("invoked oom-killer"));
}

TEST(PreviousBoot, WithoutAPanicHasItsLastLine) {
  const auto boot = read_previous_log("[    1.5] one\n[    2.5] two");
  ASSERT_TRUE(boot);
  EXPECT_EQ(boot->headline, "The machine stopped: two");
}

TEST(PreviousBoot, OfDamagedTextIsNoneOrReadable) {
  EXPECT_FALSE(read_previous_log(""));
  EXPECT_FALSE(read_previous_log("Panic#1 Part1\n\n<>[1.2] x\n<4>[a.b] x\n[1.2]\n[99999999999999.1] x\n"));
  const std::string whole = part(0) + part(1);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    if (const auto boot = read_previous_log(std::string_view(whole).substr(0, size))) (void)table_of(*boot);
  }
}

class PreviousBootFiles : public testing::Test {
 protected:
  void store(const std::string& name, std::string_view text, std::int64_t seconds) {
    const std::string path = directory_.file("pstore/" + name);
    write_text(path, std::string(text));
    timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 0}, {.tv_sec = seconds, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  TemporaryDirectory directory_;
  const std::string place_ = directory_.file("pstore");
  const std::string_view places_[1] = {place_};
};

TEST_F(PreviousBootFiles, TheNewestBootIsFoundInAllItsParts) {
  EXPECT_FALSE(find_previous_boot(places_)) << "there is no such directory";
  store("1764400000/dmesg.txt", "<6>[    1.5] an older boot\n", 1'764'400'000);
  store("1764500000/dmesg-efi-1", part(1), 1'764'500'000);
  store("1764500000/dmesg-efi-2", part(0), 1'764'500'001);
  store("1764500000/console-1", "<6>[  999.5] not a dump\n", 1'764'600'000);
  const auto boot = find_previous_boot(places_);
  ASSERT_TRUE(boot);
  EXPECT_EQ(boot->realtime_ns, 1'764'500'001'000'000'000);
  EXPECT_EQ(table_of(*boot).size, 2U);
}

TEST_F(PreviousBootFiles, IsAnIncidentOnce) {
  store("dmesg-ramoops-0", part(1) + part(0), 1'764'500'001);
  IncidentsConfig config;
  config.directory = directory_.file("incidents");
  ManualClock clock;
  for (int start = 0; start < 2; ++start) {
    std::shared_ptr<KernelView> view = std::make_shared<FakeKernelView>(OperatingSystem::kLinux, 1);
    IncidentKeeper keeper;
    keeper.open(view, config, clock, {.log = [](LogLevel, std::string_view) {}, .previous_logs = places_});
    SelfMetrics metrics{"1.2.3"};
    keeper.start(metrics, [] {});
    keeper.stop();
    const auto kept = list_incidents(config.directory);
    ASSERT_TRUE(kept);
    ASSERT_EQ(kept->size(), 1U);
    const Incident& incident = kept->front();
    EXPECT_EQ(incident.file.substr(0, 30), "20251130T105321Z-previous_boot");
    EXPECT_EQ(incident.problem, "");
    EXPECT_TRUE(open_capture(config.directory + "/" + incident.file));
  }
}

}  // namespace
}  // namespace memstat
