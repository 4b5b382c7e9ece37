// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/poll_loop.h"

#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// N polls that are due at once, then at most one more, at `later_ns`.
class FakePacer final : public PollPacer {
 public:
  explicit FakePacer(int polls, std::optional<std::int64_t> later_ns = {}) : polls_(polls), later_ns_(later_ns) {}

  std::optional<std::int64_t> next_due_ns() override {
    return finished < polls_ ? std::optional<std::int64_t>(0) : later_ns_;
  }
  std::int64_t begin() override { return ++begun; }
  void finish() override { ++finished; }
  void configure(const Config& config) override { interval_ns = config.poll.interval.count(); }
  [[nodiscard]] bool can_poll_between() const override { return polls_between; }
  void finish_between() override { ++finished_between; }

  bool polls_between = true;
  std::atomic<int> finished_between = 0;
  std::atomic<int> begun = 0;
  std::atomic<int> finished = 0;
  std::atomic<std::int64_t> interval_ns = 0;

 private:
  int polls_;
  std::optional<std::int64_t> later_ns_;
};

constexpr std::int64_t kMuchLater = INT64_MAX / 2;

class PollLoopTest : public testing::Test {
 protected:
  PollLoopTest() { daemon_.view->set(kSlabinfo, slabinfo({{"dentry", 1}})); }
  PolledDaemon daemon_{OperatingSystem::kLinux};
};

TEST_F(PollLoopTest, PollsWhenDueAndReportsTheEndOnce) {
  FakePacer pacer(3);
  std::atomic<int> ended = 0;
  PollLoop loop(*daemon_.poller, pacer, [&] { ++ended; });
  loop.start();
  ASSERT_TRUE(eventually([&] { return ended == 1; }));
  EXPECT_EQ(pacer.begun, 3);
  EXPECT_EQ(pacer.finished, 3);
  EXPECT_EQ(daemon_.pool.current()->generation(), 3U);
  loop.configure(of_fake_kernel({}));  // wakes it up again
  ASSERT_TRUE(eventually([&] { return pacer.interval_ns != 0; }));
  loop.stop();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(pacer.begun, 3);
}

TEST_F(PollLoopTest, ANewConfigurationTakesEffectWhileItWaits) {
  FakePacer pacer(1, kMuchLater);
  PollLoop loop(*daemon_.poller, pacer, {});
  loop.start();
  ASSERT_TRUE(eventually([&] { return pacer.finished == 1; }));
  Config config = of_fake_kernel({});
  config.poll.interval = std::chrono::seconds(42);
  config.sources["linux_slabinfo"].enabled = Switch::kOff;
  loop.configure(config);
  ASSERT_TRUE(eventually([&] { return pacer.interval_ns == 42'000'000'000; }));
  EXPECT_EQ(daemon_.status("linux_slabinfo").state, SourceState::kOff);
  loop.stop();
  EXPECT_EQ(pacer.begun, 1) << "a reload is not a poll";
}

TEST_F(PollLoopTest, StopDoesNotWaitForASourceThatDoesNotAnswer) {
  daemon_.view->block(kSlabinfo);
  FakePacer pacer(1, kMuchLater);
  PollLoop loop(*daemon_.poller, pacer, {});
  loop.start();
  daemon_.view->wait_until_hanging(kSlabinfo);
  loop.stop();
  EXPECT_TRUE(daemon_.view->is_hanging(kSlabinfo)) << "stopped while the read was still under way";
  EXPECT_EQ(daemon_.poller->stuck_count(), 1U);
  EXPECT_EQ(pacer.finished, 0) << "a recording of the interrupted poll would lack a source";
  daemon_.view->release(kSlabinfo);
  EXPECT_TRUE(eventually([&] { return daemon_.poller->stuck_count() == 0; }));
}

TEST_F(PollLoopTest, IsLateOnlyWhileAPollThatWasDueHasNotEnded) {
  constexpr std::chrono::nanoseconds kNow{0};
  daemon_.view->block(kSlabinfo);
  FakePacer pacer(2, kMuchLater);  // due at 0 of the clock, long ago
  PollLoop loop(*daemon_.poller, pacer, {});
  EXPECT_FALSE(loop.is_late(kNow)) << "it has not begun";
  loop.start();
  daemon_.view->wait_until_hanging(kSlabinfo);
  EXPECT_TRUE(loop.is_late(kNow));
  daemon_.view->release(kSlabinfo);
  ASSERT_TRUE(eventually([&] { return pacer.finished == 2; }));
  EXPECT_TRUE(eventually([&] { return !loop.is_late(kNow); })) << "it waits for the next one";
}

using std::chrono::steady_clock;
constexpr std::chrono::minutes kLong{10};

TEST_F(PollLoopTest, AScrapeThatFindsAYoungPollDoesNotTouchTheKernel) {
  FakePacer pacer(1, kMuchLater);
  PollLoop loop(*daemon_.poller, pacer, {});
  loop.start();
  ASSERT_TRUE(loop.refresh(kLong, steady_clock::now() + kLong)) << "waits for the first one at most";
  const int begun = pacer.begun;
  EXPECT_TRUE(loop.refresh(kLong, steady_clock::now()));
  EXPECT_EQ(pacer.begun, begun);
}

TEST_F(PollLoopTest, AScrapeThatFindsAnOldPollHasTheKernelPolledAndTheBeatStays) {
  FakePacer pacer(1, kMuchLater);
  PollLoop loop(*daemon_.poller, pacer, {});
  loop.start();
  ASSERT_TRUE(eventually([&] { return pacer.finished == 1; }));
  EXPECT_TRUE(loop.refresh(std::chrono::nanoseconds(0), steady_clock::now() + kLong));
  EXPECT_EQ(pacer.begun, 2);
  EXPECT_EQ(pacer.finished, 1) << "none that was due";
  EXPECT_EQ(pacer.finished_between, 1);
}

/// Counts the scrapes that have determined how old a poll they accept: each first reads the time.
class ScrapesClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t monotonic_ns() const override {
    const std::int64_t now = system_clock().monotonic_ns();
    if (is_scrape_) ++asked;
    is_scrape_ = false;
    return now;
  }
  [[nodiscard]] std::int64_t realtime_ns() const override { return system_clock().realtime_ns(); }
  /// The calling thread is about to scrape.
  static void begin_scrape() { is_scrape_ = true; }
  mutable std::atomic<int> asked = 0;

 private:
  inline static thread_local bool is_scrape_ = false;
};

TEST_F(PollLoopTest, ScrapesThatWaitShareOnePollAndNoneWaitsBeyondItsDeadline) {
  FakePacer pacer(1, kMuchLater);
  const ScrapesClock clock;
  PollLoop loop(*daemon_.poller, pacer, {}, {}, clock);
  loop.start();
  ASSERT_TRUE(eventually([&] { return pacer.finished == 1; }));
  daemon_.view->block(kSlabinfo);
  std::vector<std::thread> scrapes;
  std::atomic<int> refreshed = 0;
  for (int i = 0; i < 8; ++i) {
    scrapes.emplace_back([&] {
      ScrapesClock::begin_scrape();
      refreshed += loop.refresh(std::chrono::nanoseconds(0), steady_clock::now() + kLong) ? 1 : 0;
    });
  }
  ASSERT_TRUE(eventually([&] { return pacer.begun == 2 && clock.asked == 8; }));
  EXPECT_FALSE(loop.refresh(std::chrono::nanoseconds(0), steady_clock::now() + std::chrono::milliseconds(20)));
  daemon_.view->release(kSlabinfo);
  for (std::thread& scrape : scrapes) scrape.join();
  EXPECT_EQ(refreshed, 8);
  EXPECT_LE(pacer.begun, 3) << "scrapes that arrive during the first poll may share a second one";
}

TEST_F(PollLoopTest, AReplayIsNotPolledForAScrape) {
  FakePacer pacer(1, kMuchLater);
  pacer.polls_between = false;
  PollLoop loop(*daemon_.poller, pacer, {});
  loop.start();
  ASSERT_TRUE(eventually([&] { return pacer.finished == 1; }));
  EXPECT_FALSE(loop.refresh(std::chrono::nanoseconds(0), steady_clock::now() + kLong));
  EXPECT_EQ(pacer.begun, 1);
}

TEST_F(PollLoopTest, StoppingEndsTheWaitOfScrapes) {
  FakePacer pacer(1, kMuchLater);
  PollLoop loop(*daemon_.poller, pacer, {});
  loop.start();
  ASSERT_TRUE(eventually([&] { return pacer.finished == 1; }));
  daemon_.view->block(kSlabinfo);
  std::atomic<bool> returned = false;
  std::thread scrape([&] {
    loop.refresh(std::chrono::nanoseconds(0), steady_clock::now() + kLong);
    returned = true;
  });
  ASSERT_TRUE(eventually([&] { return pacer.begun == 2; }));
  loop.stop();
  scrape.join();
  EXPECT_TRUE(returned);
  daemon_.view->release(kSlabinfo);
}

}  // namespace
}  // namespace memstat
