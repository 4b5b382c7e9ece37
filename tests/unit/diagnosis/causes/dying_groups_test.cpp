// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::dying_groups {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(DyingGroups, AreNothingUntilTheyStay) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_dying_descendants", 500, {"/"});
  EXPECT_EQ(machine.words(), "") << "they were there before";
  machine.evidence.metrics[0].change.recent = 300;
  EXPECT_EQ(machine.words(), "notable cgroup_dying");
  machine.evidence.metrics[0].value = 5000;
  machine.evidence.metrics[0].change.since_start = 300;
  EXPECT_EQ(machine.words(), "notable cgroup_dying");
  machine.evidence.watched_seconds = 7200;
  EXPECT_EQ(machine.words(), "wasteful cgroup_dying");
}

TEST(DyingGroups, ExplainWhatTheyHold) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_dying_descendants", 500, {"/"}).change.recent = 300;
  machine.growing("account", "slab_unreclaimable", 300 * kMiB, 200 * kMiB, 300);
  ASSERT_EQ(machine.words(), "notable cgroup_dying");
  EXPECT_EQ(machine.find()[0].explains.size(), 1U);
}

TEST(DyingGroups, OfASmallMachineAreManySooner) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_dying_descendants", 600, {"/"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.total_bytes = EvidenceOfMachine::kGiB;
  machine.evidence.available_bytes = 0.5 * EvidenceOfMachine::kGiB;
  EXPECT_EQ(machine.words(), "notable cgroup_dying");
}

TEST(DyingGroups, OfVersion1AreGroupsThatOnlyMemoryHas) {
  EvidenceOfMachine machine;
  machine.metric("memstat_cgroup_hierarchy_groups", 5000, {"memory"});
  machine.metric("memstat_cgroup_hierarchy_groups", 4200, {"other"});
  EXPECT_EQ(machine.words(), "") << "containers that run";
  machine.evidence.metrics[1].value = 120;
  EXPECT_EQ(machine.words(), "notable cgroup_dying");
  machine.evidence.metrics[0].value = 65535;
  EXPECT_EQ(machine.words(), "now cgroup_dying");
}

}  // namespace
}  // namespace memstat::causes::dying_groups
