// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/black_box.h"

#include <filesystem>

#include "core/diagnosis/diagnose.h"
#include "daemon/incidents/kill_watch.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/page.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class BlackBoxTest : public testing::Test {
 protected:
  void SetUp() override {
    kernel_->set("/proc/meminfo", "MemTotal: 1 kB\n");
    auto store = IncidentStore::open(directory_.file("incidents"), {}, {});
    ASSERT_TRUE(store);
    box_ = std::make_unique<BlackBox>(
        polls_, *std::move(store), metrics_,
        [this](LogLevel, std::string_view line) {
          const MutexLock lock(mutex_);
          lines_.emplace_back(line);
        },
        clock_);
  }
  void poll(const Findings& urgent = {}) {
    Buffer out;
    (void)polls_->read_file("/proc/meminfo", out);
    std::vector<std::size_t> indexes;
    for (std::size_t i = 0; i < urgent.size(); ++i) indexes.push_back(i);
    box_->polled(urgent, indexes);
    clock_.advance(std::chrono::seconds(5));
  }
  static Findings finding(std::string_view cause) {
    Finding finding;
    finding.cause = cause;
    finding.severity = Severity::kNow;
    finding.headline = "It is full";
    finding.is_about("table", "files");
    return {finding};
  }
  /// Polls of each incident, newest first.
  std::vector<std::uint64_t> polls_of() {
    std::vector<std::uint64_t> polls;
    for (const Incident& one : box_->incidents()) polls.push_back(one.polls);
    return polls;
  }
  std::size_t line_count() {
    const MutexLock lock(mutex_);
    return lines_.size();
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
  SelfMetrics metrics_{"1.2.3"};
  Mutex mutex_;
  std::vector<std::string> lines_ MEMSTAT_GUARDED_BY(mutex_);
  std::shared_ptr<FakeKernelView> kernel_ = std::make_shared<FakeKernelView>(OperatingSystem::kLinux);
  std::shared_ptr<RecentPolls> polls_ = std::make_shared<RecentPolls>(kernel_, 1 << 20, clock_);
  std::unique_ptr<BlackBox> box_;
};

TEST_F(BlackBoxTest, ACalmMachineWritesNothing) {
  for (int i = 0; i < 100; ++i) poll();
  box_.reset();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.file("incidents")));
}

TEST_F(BlackBoxTest, KeepsThePollsBeforeAndTheTenSecondsAfter) {
  poll();
  poll(finding("files_full"));
  EXPECT_TRUE(eventually([&] { return polls_of() == std::vector<std::uint64_t>{2}; })) << "at once";
  poll();
  poll();
  EXPECT_TRUE(eventually([&] { return polls_of() == std::vector<std::uint64_t>{4}; })) << "and again";
  poll();
  const Incident incident = box_->incidents().front();
  EXPECT_EQ(incident.object, "table/files");
  EXPECT_EQ(incident.headline, "It is full");
  box_.reset();
  EXPECT_EQ(value_of(metrics_.text(), "memstat_incidents_total{cause=\"files_full\"}").value_or("none"), "1");
}

TEST_F(BlackBoxTest, IsSoonOnDiskWithTheLastPollsAndThenHasAll) {
  for (int i = 0; i < 30; ++i) poll();
  poll(finding("files_full"));
  EXPECT_TRUE(eventually([&] { return polls_of() == std::vector<std::uint64_t>{BlackBox::kFirstPolls}; }));
  poll();
  poll();
  EXPECT_TRUE(eventually([&] { return !polls_of().empty() && polls_of()[0] > BlackBox::kFirstPolls; })) << polls_of()[0];
}

TEST_F(BlackBoxTest, OneOfACauseInAMinute) {
  for (int i = 0; i < 25; ++i) poll(finding("files_full"));  // 125 s
  poll(finding("swap_full"));
  EXPECT_TRUE(eventually([&] { return box_->incidents().size() == 4; })) << box_->incidents().size();
}

TEST_F(BlackBoxTest, AVictimHasOneIncident) {
  Findings kill = finding("cgroup_oom_kill");
  kill[0].killed = "hog (pid 7)";
  poll(kill);
  clock_.advance(std::chrono::minutes(4));
  kill[0].about[0].type = "another group, since older kills are forgotten";
  poll(kill);
  kill[0].killed = "hog (pid 8)";
  poll(kill);
  EXPECT_TRUE(eventually([&] { return box_->incidents().size() == 2; })) << box_->incidents().size();
  EXPECT_EQ(box_->incidents().front().killed, "hog (pid 8)");
}

TEST_F(BlackBoxTest, AClockThatIsSetBackReplacesNoIncident) {
  const std::chrono::nanoseconds then(clock_.realtime_ns());
  poll(finding("files_full"));
  EXPECT_TRUE(eventually([&] { return box_->incidents().size() == 1; }));
  clock_.advance(std::chrono::seconds(90));
  clock_.set_realtime(then);
  poll(finding("files_full"));
  EXPECT_TRUE(eventually([&] { return box_->incidents().size() == 2; })) << box_->incidents().size();
}

TEST_F(BlackBoxTest, AProblemIsSaidOnceUntilItIsOver) {
  std::filesystem::remove(directory_.file("incidents"));
  poll(finding("a"));
  EXPECT_TRUE(eventually([&] { return line_count() == 1; }));
  poll(finding("b"));
  poll(finding("c"));
  box_.reset();
  EXPECT_EQ(line_count(), 1U);
}

TEST(KillWatch, KnowsTheLinesOfKills) {
  EXPECT_TRUE(says_killed("4,1,2,-;Out of memory: Killed process 12 (python3) total-vm:1kB, anon-rss:1kB"));
  EXPECT_TRUE(says_killed("3,1,2,-;Memory cgroup out of memory: Killed process 12 (a) total-vm:1kB"));
  EXPECT_FALSE(says_killed("6,1,2,-;oom_reaper: reaped process 12 (a), now anon-rss:0kB"));
  EXPECT_FALSE(says_killed(""));
}

}  // namespace
}  // namespace memstat
