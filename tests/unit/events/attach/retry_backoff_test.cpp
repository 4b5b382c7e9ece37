// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/governor.h"

#include "tests/support/test.h"

namespace memstat::events {
namespace {

constexpr std::int64_t kMinute = RetryBackoff::kFirstNs;

/// The time until something given up now is due again, in minutes.
std::int64_t delay(const RetryBackoff& retry_backoff, std::int64_t now_ns) {
  for (std::int64_t minutes = 0; minutes <= 100; ++minutes) {
    if (retry_backoff.is_due(now_ns + minutes * kMinute)) return minutes;
  }
  return -1;
}

TEST(RetryBackoff, IsAMinuteLaterThenTwiceAsLongUpToAnHour) {
  RetryBackoff retry_backoff;
  retry_backoff.begun(0);
  std::int64_t now = 5 * kMinute;
  for (const std::int64_t minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
    retry_backoff.given_up(now);
    EXPECT_EQ(delay(retry_backoff, now), minutes);
    EXPECT_FALSE(retry_backoff.is_due(now + minutes * kMinute - 1));
    now += minutes * kMinute;
    retry_backoff.begun(now);
    now += kMinute / 6;
  }
}

TEST(RetryBackoff, BeginsAnewWithWhatLastedForAnHour) {
  RetryBackoff retry_backoff;
  retry_backoff.begun(0);
  retry_backoff.given_up(0);
  retry_backoff.begun(kMinute);
  retry_backoff.given_up(2 * kMinute);
  EXPECT_EQ(delay(retry_backoff, 2 * kMinute), 2);
  retry_backoff.begun(4 * kMinute);
  retry_backoff.given_up(63 * kMinute);
  EXPECT_EQ(delay(retry_backoff, 63 * kMinute), 4);
  retry_backoff.begun(67 * kMinute);
  retry_backoff.given_up(127 * kMinute);
  EXPECT_EQ(delay(retry_backoff, 127 * kMinute), 1);
}

}  // namespace
}  // namespace memstat::events
