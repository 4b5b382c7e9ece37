// SPDX-License-Identifier: BSD-2-Clause
// When polls are due: absolute deadlines on the live kernel, the capture's own times in a replay.
#include "daemon/poll/pacer.h"
#include "core/capture/archive.h"

#include "tests/support/fixtures.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kSecond = 1'000'000'000;

class LivePacerTest : public testing::Test {
 protected:
  LivePacer pacer() { return {daemon_.clock, daemon_.metrics, recorder_, daemon_.config, {}}; }
  std::string missed() { return daemon_.own("memstat_poll_missed_total").value_or("none"); }

  PolledDaemon daemon_{OperatingSystem::kLinux};
  PollRecorder recorder_;
};

TEST_F(LivePacerTest, TheFirstPollIsDueAtOnceAndTheOthersAnIntervalApart) {
  const std::int64_t start = daemon_.clock.monotonic_ns();
  LivePacer live = pacer();
  EXPECT_EQ(live.next_due_ns(), start);
  EXPECT_EQ(live.begin(), start);
  daemon_.clock.advance(milliseconds(300));  // a poll takes its time; the deadlines do not move
  live.finish();
  EXPECT_EQ(live.next_due_ns(), start + 10 * kSecond);
  EXPECT_EQ(missed(), "0");
}

TEST_F(LivePacerTest, DeadlinesThatPassedAreCountedAndSkipped) {
  const std::int64_t start = daemon_.clock.monotonic_ns();
  LivePacer live = pacer();
  live.begin();
  daemon_.clock.advance(seconds(35));
  live.finish();
  EXPECT_EQ(live.next_due_ns(), start + 40 * kSecond);
  EXPECT_EQ(missed(), "3");
}

TEST_F(LivePacerTest, ANewIntervalCountsFromNow) {
  LivePacer live = pacer();
  live.begin();
  live.finish();
  daemon_.clock.advance(seconds(4));
  Config config;
  config.poll.interval = seconds(1);
  live.configure(config);
  EXPECT_EQ(live.next_due_ns(), daemon_.clock.monotonic_ns() + kSecond);
}

class ReplayPacerTest : public testing::Test {
 protected:
  /// A Linux capture whose polls are at 0 s, 10 s and 40 s, with 1, 2 and 3 active objects in a cache.
  ReplayPacerTest() {
    write_text(directory_.file("manifest.yaml"), "format: 1\nos: linux\npage_size: 4096\ncpus_present: \"0\"\n");
    const int at[] = {0, 10, 40};
    for (int i = 0; i < 3; ++i) {
      const std::string poll = "00000" + std::to_string(i);
      write_text(directory_.file(poll + "/fs/proc/slabinfo"), slabinfo({{"cache", static_cast<std::uint64_t>(i) + 1}}));
      write_text(directory_.file(poll + "/poll.yaml"), "label: p\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: " +
                                                           std::to_string((100 + at[i]) * kSecond) + "\n");
    }
    auto opened = open_capture(directory_.path());
    if (!opened) std::abort();
    capture_ = *std::move(opened);
    poller_ = std::make_unique<Poller>(capture_, clock_, metrics_, pool_, of_fake_kernel({}),
                                       Poller::Options{.everything = true, .log = {}});
    poller_->open_sources();
  }
  std::optional<std::string> shown(std::string_view metric) {
    const auto snapshot = pool_.current();
    return value_of(std::string(page_of(*snapshot, kFallbackFormat)),
                    std::string(metric) + R"({allocator="slab",type="cache"})");
  }
  void poll(ReplayPacer& pacer) {
    ASSERT_TRUE(pacer.next_due_ns());
    ASSERT_TRUE(poller_->poll(pacer.begin()));
    pacer.finish();
  }

  TemporaryDirectory directory_;
  std::shared_ptr<ReplayKernelView> capture_;
  ManualClock clock_;
  SelfMetrics metrics_{"test"};
  SnapshotPool pool_;
  PollRecorder recorder_;
  std::unique_ptr<Poller> poller_;
};

TEST_F(ReplayPacerTest, KeepsTheCapturesTimesDividedByTheSpeed) {
  const std::int64_t start = clock_.monotonic_ns();
  ReplayPacer pacer(clock_, *capture_, *poller_, recorder_, {.speed = 10});
  EXPECT_EQ(pacer.next_due_ns(), start);
  poll(pacer);
  EXPECT_EQ(pacer.next_due_ns(), start + 1 * kSecond);
  poll(pacer);
  EXPECT_EQ(pacer.next_due_ns(), start + 3 * kSecond);
}

TEST_F(ReplayPacerTest, HoldsTheLastPollAtItsEnd) {
  ReplayPacer pacer(clock_, *capture_, *poller_, recorder_, {});
  for (int i = 0; i < 3; ++i) poll(pacer);
  EXPECT_FALSE(pacer.next_due_ns());
  EXPECT_EQ(shown("memstat_type_objects"), "3");
  EXPECT_EQ(shown("memstat_type_delta_objects"), "1");
  // 2 x 64 B in the 40 s between the first poll and the last, whatever the current time.
  EXPECT_EQ(shown("memstat_type_growth_bytes_per_second"), "3.2");
}

}  // namespace
}  // namespace memstat
