// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::process_threads {
namespace {

TEST(ProcessThreads, AreFullWhenAThreadIsRefused) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  TypeEvidence& type = machine.type(Allocator::kTable, "process_threads");
  type.limit_objects = 1500;
  type.failures = {.total = 9, .since_start = 0, .recent = 0};
  EXPECT_EQ(machine.words(), "") << "refusals of before";
  type.failures.recent = 2;
  EXPECT_EQ(machine.words(), "now process_threads_full");
  EXPECT_EQ(machine.find().at(0).headline, "A process is at the limit of 1500 threads: 2 requests failed");
  machine.evidence.system = EvidenceSystem::kLinux;
  EXPECT_EQ(machine.words(), "");
}

}  // namespace
}  // namespace memstat::causes::process_threads
