// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/stop_deadline.h"

#include "tests/support/manual_clock.h"
#include "tests/support/test.h"

#include <future>
#include <string>

namespace memstat {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr seconds kPatience{60};
constexpr milliseconds kNever{std::chrono::hours(1)};
constexpr StopDeadline::Times kAtOnce{.patience = milliseconds(1), .limit = kNever};

TEST(StopDeadline, ExpiresOnceWithTheStepThatHangs) {
  std::promise<std::string> expired;
  StopDeadline deadline([&](std::string_view step) { expired.set_value(std::string(step)); });
  deadline.begin(kAtOnce, "the step");
  EXPECT_EQ(expired.get_future().get(), "the step");
}

TEST(StopDeadline, DoesNotExpireOnceItIsCancelled) {
  std::promise<void> expired;
  std::future<void> has_expired = expired.get_future();
  {
    StopDeadline deadline([&](std::string_view) { expired.set_value(); });
    deadline.begin({.patience = kNever, .limit = kNever}, "");
    deadline.cancel();
    deadline.progress();
    EXPECT_EQ(has_expired.wait_for(milliseconds(0)), std::future_status::timeout);
    deadline.begin(kAtOnce, "");  // and can begin again
    EXPECT_EQ(has_expired.wait_for(kPatience), std::future_status::ready);
  }
}

/// Counts how often the deadline looks at the CPU time: twice when it renews itself.
class LookedAtClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t monotonic_ns() const override { return clock_.monotonic_ns(); }
  [[nodiscard]] std::int64_t realtime_ns() const override { return clock_.realtime_ns(); }
  [[nodiscard]] std::int64_t cpu_ns() const override {
    const std::int64_t used_ns = clock_.cpu_ns();
    ++looks_;
    return used_ns;
  }
  void advance(std::chrono::nanoseconds by) { clock_.advance(by); }
  /// This much time passes, in which the process computes, and the deadline renews itself.
  void compute(std::chrono::nanoseconds by) {
    const int before = looks_;
    clock_.compute(std::chrono::nanoseconds(kComputedNs));
    clock_.advance(by);
    while (looks_ < before + 2) std::this_thread::yield();
  }

 private:
  ManualClock clock_;
  mutable std::atomic<int> looks_{0};
};

class SlowStop : public testing::Test {
 protected:
  void begin(seconds limit) { deadline_.begin({.patience = seconds(1), .limit = limit}, "first"); }
  bool is_expired() { return has_expired_.wait_for(milliseconds(20)) == std::future_status::ready; }

  LookedAtClock clock_;
  std::promise<std::string> expired_;
  std::future<std::string> has_expired_ = expired_.get_future();
  StopDeadline deadline_{[this](std::string_view step) { expired_.set_value(std::string(step)); }, clock_};
};

TEST_F(SlowStop, IsNotKilledWhileItComputesButWhenItHangs) {
  begin(seconds(100));
  for (int i = 0; i < 5; ++i) clock_.compute(seconds(1));
  EXPECT_FALSE(is_expired());
  clock_.advance(seconds(1));
  EXPECT_EQ(has_expired_.wait_for(kPatience), std::future_status::ready);
}

TEST_F(SlowStop, IsNotKilledWhileItMakesProgress) {
  begin(seconds(100));
  for (int i = 0; i < 5; ++i) {
    clock_.advance(milliseconds(900));
    deadline_.progress();
  }
  clock_.advance(milliseconds(900));
  deadline_.next("second");
  clock_.advance(milliseconds(900));
  EXPECT_FALSE(is_expired());
  clock_.advance(milliseconds(100));
  EXPECT_EQ(has_expired_.get(), "second");
}

TEST_F(SlowStop, IsKilledAtTheLimitWhateverItDoes) {
  begin(seconds(2));
  clock_.compute(seconds(1));
  deadline_.progress();
  clock_.advance(seconds(1));
  EXPECT_EQ(has_expired_.get(), "first");
}

}  // namespace
}  // namespace memstat
