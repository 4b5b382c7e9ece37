// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/evidence_builder.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kPollNs = 10'000'000'000;

TEST(CounterMemory, RemembersTheCountersThatAreKeptUnderTheirNewNumbers) {
  CounterMemory memory;
  memory.begin(0);
  for (std::uint64_t number = 0; number < 100; ++number) memory.change(number, 10.0 * static_cast<double>(number), true);
  memory.begin(kPollNs);
  memory.change(70, 730, true);
  memory.keep(std::array<std::uint32_t, 2>{70, 3});
  memory.begin(2 * kPollNs);
  const Count first = memory.change(0, 740, true);
  EXPECT_EQ(first.since_start, 40);
  EXPECT_EQ(first.last, 10);
  EXPECT_EQ(memory.change(1, 31, true).recent, 1);
  EXPECT_EQ(memory.change(2, 500, true).recent, 0) << "is new";
}

TEST(CounterMemory, ForgetsOnlyForgottenCountersWhenItShrinks) {
  CounterMemory memory;
  memory.begin(0);
  for (std::uint64_t number = 0; number < 100; ++number) memory.change(number, 10, true);
  for (std::uint64_t number = 0; number < 100; ++number) {
    if (number != 5) memory.forget(number);
  }
  memory.shrink();
  memory.begin(kPollNs);
  EXPECT_EQ(memory.change(5, 12, true).since_start, 2);
  EXPECT_EQ(memory.change(99, 12, true).since_start, 0);
}

TEST(CounterMemory, KnowsHowLongACounterHasStoodStill) {
  CounterMemory memory;
  const auto poll = [&](std::int64_t polls, double value) {
    memory.begin(polls * kPollNs);
    return memory.change(0, value, true).still;
  };
  poll(0, 5);
  EXPECT_EQ(poll(1, 9), 0);
  EXPECT_EQ(poll(2, 9), 10);
  EXPECT_EQ(poll(5, 9), 40);
  EXPECT_EQ(poll(6, 10), 0);
}

}  // namespace
}  // namespace memstat
