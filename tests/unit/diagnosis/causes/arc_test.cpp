// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::arc {
namespace {

class Arc : public testing::Test {
 protected:
  /// Shares of memory.
  std::string words(double size, double target, double least, double available) {
    const double total = machine_.evidence.total_bytes;
    machine_.evidence.metrics.clear();
    machine_.part("kmem", (size + 0.05) * total);
    machine_.metric("memstat_zfs_arc_bytes", size * total);
    machine_.metric("memstat_zfs_arc_target_bytes", target * total);
    machine_.metric("memstat_zfs_arc_min_bytes", least * total);
    machine_.evidence.available_bytes = available * total;
    return machine_.words();
  }

  EvidenceOfMachine machine_{EvidenceSystem::kFreeBsd};
};

TEST_F(Arc, ALargeOneIsHealthy) {
  EXPECT_EQ(words(0.85, 0.85, 0.03, 0.85), "");
  EXPECT_EQ(words(0.85, 0.5, 0.03, 0.5), "") << "it shrinks, and memory is not short";
  EXPECT_EQ(words(0.2, 0.199, 0.03, 0.05), "") << "it shrinks";
}

TEST_F(Arc, IsStuckAboveItsTargetWhileMemoryIsShort) { EXPECT_EQ(words(0.4, 0.1, 0.03, 0.09), "wasteful arc_stuck"); }

TEST_F(Arc, ExplainsTheKernelsOwnMemory) { EXPECT_EQ(words(0.8, 0.1, 0.03, 0.09), "wasteful arc_stuck"); }

TEST_F(Arc, AMinimumThatWasRaisedKeepsIt) {
  EXPECT_EQ(words(0.4, 0.4, 0.4, 0.09), "wasteful arc_stuck");
  EXPECT_EQ(words(0.4, 0.4, 0.4, 0.11), "") << "memory is not short";
  EXPECT_EQ(words(0.05, 0.4, 0.4, 0.09), "") << "it is small";
}

/// A machine with Linux and an ARC of 8 of 16 GiB, which is in what is available.
EvidenceOfMachine with_linux_arc(double free) {
  EvidenceOfMachine machine;
  machine.metric("memstat_zfs_arc_bytes", 8 * EvidenceOfMachine::kGiB);
  machine.metric("memstat_zfs_arc_target_bytes", 8 * EvidenceOfMachine::kGiB);
  machine.metric("memstat_zfs_arc_min_bytes", EvidenceOfMachine::kGiB / 2);
  machine.evidence.available_bytes = 7.5 * EvidenceOfMachine::kGiB + free;
  machine.part("arc", 8 * EvidenceOfMachine::kGiB);
  return machine;
}

TEST(ArcOfLinux, IsACacheAndHealthy) { EXPECT_EQ(with_linux_arc(EvidenceOfMachine::kMiB).words(), ""); }

TEST(ArcOfLinux, ThatDidNotShrinkInTimeExplainsAKill) {
  EvidenceOfMachine machine = with_linux_arc(EvidenceOfMachine::kMiB);
  machine.moved("memstat_oom_kills_total", 1);
  machine.metric("memstat_allocation_stalls_total", 0, {"Normal"});
  machine.evidence.kills = {
      {.command = "cc1", .constraint = "none", .group = "/b", .pid = 7, .program_bytes = 1e8, .seconds_ago = 2}};
  ASSERT_EQ(machine.words(), "now arc_stuck");
  EXPECT_EQ(machine.find()[0].headline, "Memory ran out while the ZFS cache (ARC) held 8 GiB: it did not shrink in time");
  EXPECT_EQ(machine.find()[0].explains.size(), 1U);
}

}  // namespace
}  // namespace memstat::causes::arc
