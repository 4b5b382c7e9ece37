// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::thrash {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(Thrash, NeedsRefaultsAndStallsAndNamesTheGroup) {
  EvidenceOfMachine machine;
  machine.moved("memstat_refaulted_pages_total", 900000, {"file"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_pressure_stall_seconds_total", 30, {"full"});
  EXPECT_EQ(machine.words(), "now reclaim_thrash");
  machine.moved("memstat_memcg_refaulted_pages_total", 800000, {"/a", "file"});
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/a");
  machine.evidence.recent_seconds = 2;
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_pressure_stall_seconds_total") one.change.recent = 0.4;
  }
  EXPECT_EQ(machine.words(), "") << "less than half a second is chance";
  EXPECT_GT(kMiB, 0);
}

TEST(Thrash, OfASlowDiskHasFewPagesAndLongWaits) {
  EvidenceOfMachine machine;
  machine.moved("memstat_refaulted_pages_total", 60000, {"file"});
  machine.moved("memstat_pressure_stall_seconds_total", 20, {"full"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[0].change.recent = 40;
  EXPECT_EQ(machine.words(), "now reclaim_thrash");
}

TEST(Thrash, OfAGroupAtItsLimitIsNotTheMachines) {
  EvidenceOfMachine machine;
  machine.moved("memstat_refaulted_pages_total", 900000, {"file"});
  machine.moved("memstat_pressure_stall_seconds_total", 18, {"full"});
  machine.moved("memstat_reclaim_scanned_pages_total", 400000, {"kswapd"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_reclaim_scanned_pages_total", 100000, {"proactive"});
  EXPECT_EQ(machine.words(), "") << "reclaim on request";
  machine.moved("memstat_reclaim_scanned_pages_total", 100000, {"direct"});
  EXPECT_EQ(machine.words(), "now reclaim_thrash");
  machine.metric("memstat_allocation_stalls_total", 4, {"normal"});
  EXPECT_EQ(machine.words(), "") << "no allocation waited: the pages are those of groups";
}

TEST(Thrash, IsFoundByWhatComesBackWhereTheKernelCountsNoWaits) {
  EvidenceOfMachine machine;
  machine.moved("memstat_refaulted_pages_total", 1200 * 300, {"file"});
  machine.moved("memstat_reclaimed_pages_total", 2000 * 300, {"kswapd"});
  machine.moved("memstat_reclaim_scanned_pages_total", 3000 * 300, {"kswapd"});
  EXPECT_EQ(machine.words(), "") << "no allocation waited";
  machine.moved("memstat_allocation_stalls_total", 20 * 300, {"normal"});
  EXPECT_EQ(machine.words(), "now reclaim_thrash");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
  EXPECT_EQ(machine.find()[0].facts.at(0).text,
            "60 % of the reclaimed pages came back, and 20 allocations a second had to reclaim memory first");
  machine.moved("memstat_pressure_stall_seconds_total", 3, {"some"});
  EXPECT_EQ(machine.words(), "now reclaim_thrash") << "it counts few of the waits";
  machine.moved("memstat_reclaimed_pages_total", 3000 * 300, {"direct"});
  EXPECT_EQ(machine.words(), "") << "a backup that reads much once";
}

TEST(Thrash, ShorterWaitsArePossible) {
  EvidenceOfMachine machine;
  machine.moved("memstat_refaulted_pages_total", 300 * 300, {"file"});
  machine.moved("memstat_pressure_stall_seconds_total", 25, {"some"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_pressure_stall_seconds_total", 35, {"some"});
  machine.evidence.metrics.erase(machine.evidence.metrics.begin());
  EXPECT_EQ(machine.words(), "notable reclaim_thrash");
}

}  // namespace
}  // namespace memstat::causes::thrash
