// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/clock.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(NextInSchedule, IsTheDueTimeUntilThatHasPassed) {
  EXPECT_EQ(next_in_schedule(1000, 100, 0), 1000);
  EXPECT_EQ(next_in_schedule(1000, 100, 999), 1000);
  EXPECT_EQ(next_in_schedule(1000, 100, 1000), 1100);
  EXPECT_EQ(next_in_schedule(1000, 100, 1099), 1100);
}

TEST(NextInSchedule, SkipsWhatASlowPollMissed) {
  EXPECT_EQ(next_in_schedule(0, 100, 730), 800);
  EXPECT_EQ(next_in_schedule(0, 100, 800), 900) << "a time that has come is not in the future";
}

/// As memstatctl record and the walk of other reports do: the next is due from the one before, and waited for.
TEST(NextInSchedule, PollsAfterASlowFirstOneDoNotBurst) {
  constexpr std::int64_t kInterval = 100;
  std::int64_t now = 7;
  std::int64_t due = now;
  std::vector<std::int64_t> begins;
  for (int poll = 0; poll < 8; ++poll) {
    now = std::max(now, due);
    begins.push_back(now);
    now += poll == 0 ? 1530 : 10;  // the first one asks all questions
    due = next_in_schedule(due, kInterval, now);
  }
  for (std::size_t i = 2; i < begins.size(); ++i) EXPECT_EQ(begins[i] - begins[i - 1], kInterval) << i;
  EXPECT_EQ((begins[1] - begins[0]) % kInterval, 0) << "it keeps the schedule";
}

TEST(NextInSchedule, AnIntervalOfNothingIsOneNanosecond) {
  EXPECT_EQ(next_in_schedule(5, 0, 9), 10);
  EXPECT_EQ(next_in_schedule(5, -3, 9), 10);
}

}  // namespace
}  // namespace memstat
