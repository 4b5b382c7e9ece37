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

}  // namespace
}  // namespace memstat::causes::arc
