// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::group_swap {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(GroupSwap, IsUsedUpWhereItsLimitRefuses) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_swap_limit_bytes", 64 * kMiB, {"/a"});
  machine.metric("memstat_memcg_swap_bytes", 60 * kMiB, {"/a"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_memcg_swap_events_total", 3, {"/a", "fail"});
  EXPECT_EQ(machine.words(), "") << "the machine has no slot";
  machine.moved("memstat_memcg_swap_events_total", 30, {"/a", "max"});
  EXPECT_EQ(machine.words(), "wasteful cgroup_swap_full");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/a");
}

TEST(GroupSwap, ThatIsForbiddenIsNotUsedUp) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_swap_limit_bytes", 0, {"/a"});
  machine.metric("memstat_memcg_swap_bytes", 0, {"/a"});
  machine.moved("memstat_memcg_swap_events_total", 30, {"/a", "max"});
  EXPECT_EQ(machine.words(), "");
}

TEST(GroupSwap, OfAGroupThatIsNotReadIsCountedAbove) {
  EvidenceOfMachine machine;
  machine.moved("memstat_memcg_swap_events_total", 30, {"/kubepods/burstable", "max"});
  machine.moved("memstat_memcg_swap_events_total", 30, {"/kubepods", "max"});
  EXPECT_EQ(machine.words(), "") << "swap may be disabled for its pods";
  machine.metric("memstat_memcg_swap_bytes", kMiB, {"/kubepods/burstable"});
  machine.metric("memstat_memcg_swap_bytes", kMiB, {"/kubepods"});
  ASSERT_EQ(machine.words(), "notable cgroup_swap_full");
  EXPECT_EQ(machine.find()[0].headline, "A group below /kubepods/burstable has used up its swap limit");
}

}  // namespace
}  // namespace memstat::causes::group_swap
