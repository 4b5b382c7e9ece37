// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/round_robin.h"

#include "tests/support/manual_clock.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// The indices of the five things that fit if each read lasts `each`, and where the next round begins: "012 3".
std::string turns(std::uint32_t first, std::chrono::nanoseconds each, std::int64_t budget_ns = 2'500) {
  ManualClock clock;
  RoundRobin read(clock, budget_ns, first);
  std::string taken;
  for (int thing = 0; thing < 5; ++thing) {
    read.next_thing();
    if (!read.take()) continue;
    taken += std::to_string(thing);
    clock.advance(each);
  }
  return taken + " " + std::to_string(read.next_first());
}

TEST(RoundRobin, TakesThingsAsLongAsTheBudgetLasts) {
  EXPECT_EQ(turns(0, std::chrono::nanoseconds(0)), "01234 0");
  EXPECT_EQ(turns(0, std::chrono::nanoseconds(1000)), "012 3");
  EXPECT_EQ(turns(3, std::chrono::nanoseconds(1000)), "34 0") << "those before the first have had their turn";
  EXPECT_EQ(turns(0, std::chrono::nanoseconds(500)), "01234 0") << "the last begins within it";
}

TEST(RoundRobin, TakesOneThingWhateverTheBudgetIs) {
  EXPECT_EQ(turns(0, std::chrono::seconds(9)), "0 1");
  EXPECT_EQ(turns(0, std::chrono::nanoseconds(0), 0), "0 1");
  EXPECT_EQ(turns(4, std::chrono::seconds(9), 0), "4 0");
}

}  // namespace
}  // namespace memstat
