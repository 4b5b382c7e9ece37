// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/comeback.h"

#include <gtest/gtest.h>

namespace memstat::events {
namespace {

constexpr std::int64_t kMinute = Comeback::kFirstNs;

/// After how long what is given up now becomes due, in minutes.
std::int64_t delay(const Comeback& comeback, std::int64_t now_ns) {
  for (std::int64_t minutes = 0; minutes <= 100; ++minutes) {
    if (comeback.is_due(now_ns + minutes * kMinute)) return minutes;
  }
  return -1;
}

TEST(Comeback, IsAMinuteLaterThenTwiceAsLongUpToAnHour) {
  Comeback comeback;
  comeback.begun(0);
  std::int64_t now = 5 * kMinute;
  for (const std::int64_t minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
    comeback.given_up(now);
    EXPECT_EQ(delay(comeback, now), minutes);
    EXPECT_FALSE(comeback.is_due(now + minutes * kMinute - 1));
    now += minutes * kMinute;
    comeback.begun(now);
    now += kMinute / 6;
  }
}

TEST(Comeback, WaitsAsLongForWhatCannotBeBegun) {
  Comeback comeback;
  comeback.begun(0);
  std::int64_t now = kMinute;
  for (const std::int64_t minutes : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    comeback.given_up(now);
    EXPECT_EQ(delay(comeback, now), minutes) << "an hour in which it was not there is no success";
    now += minutes * kMinute;
  }
}

TEST(Comeback, BeginsAnewWithWhatLastedForAnHour) {
  Comeback comeback;
  comeback.begun(0);
  comeback.given_up(0);
  comeback.begun(kMinute);
  comeback.given_up(2 * kMinute);
  EXPECT_EQ(delay(comeback, 2 * kMinute), 2);
  comeback.begun(4 * kMinute);
  comeback.given_up(63 * kMinute);
  EXPECT_EQ(delay(comeback, 63 * kMinute), 4);
  comeback.begun(67 * kMinute);
  comeback.given_up(127 * kMinute);
  EXPECT_EQ(delay(comeback, 127 * kMinute), 1);
}

}  // namespace
}  // namespace memstat::events
