// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::bound_kill {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(BoundKill, IsIdentifiedByItsLog) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", 900 * kMiB);
  machine.evidence.kills = {{.command = "db", .constraint = "none", .group = "/db", .pid = 7, .program_bytes = 5e9}};
  EXPECT_EQ(machine.words(), "now machine_oom_kill");
  machine.evidence.kills[0].constraint = "memory_policy";
  ASSERT_EQ(machine.words(), "now numa_bound_oom");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "db (pid 7)");
  EXPECT_EQ(machine.find()[0].next.at(0), "numastat -m") << "the killed process has no memory any more";
}

}  // namespace
}  // namespace memstat::causes::bound_kill
