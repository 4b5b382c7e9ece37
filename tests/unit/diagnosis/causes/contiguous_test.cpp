// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::contiguous {
namespace {

class ContiguousMemory : public testing::Test {
 protected:
  ContiguousMemory() {
    TypeEvidence& zone = machine_.limited(Allocator::kUma, "mbuf_jumbo_9k", 100, 1000);
    zone.failures = {.total = 50, .since_start = 7, .recent = 7};
    machine_.metric("memstat_zone_largest_free_block_bytes", 4096, {"0", "0"});
    machine_.metric("memstat_zone_largest_free_block_bytes", 8192, {"1", "0"});
  }
  TypeEvidence& zone() { return machine_.evidence.types[0]; }

  EvidenceOfMachine machine_{EvidenceSystem::kFreeBsd};
};

TEST_F(ContiguousMemory, IsGoneWhenRequestsFailAndNoBlockIsLargeEnough) {
  EXPECT_EQ(machine_.words(), "now contiguous_memory_gone");
  const Finding finding = machine_.find().at(0);
  EXPECT_EQ(finding.headline, "Free memory is scattered: 7 requests for mbuf_jumbo_9k failed, 8 GiB is available");
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
  EXPECT_EQ(finding.refused, 7);
}

TEST_F(ContiguousMemory, OfAZoneInUseIsNotableBeforeRequestsFail) {
  zone().failures = {.total = 50, .since_start = 0, .recent = 0};
  EXPECT_EQ(machine_.words(), "notable contiguous_memory_gone");
  zone().objects = 0;
  EXPECT_EQ(machine_.words(), "") << "nothing needs it";
}

TEST_F(ContiguousMemory, IsThereInAnyDomain) {
  machine_.evidence.metrics[1].value = 16384;
  EXPECT_EQ(machine_.words(), "") << "another reason";
  zone().name = "mbuf_jumbo_16k";
  EXPECT_EQ(machine_.words(), "");
  machine_.evidence.metrics[1].value = 8192;
  EXPECT_EQ(machine_.words(), "now contiguous_memory_gone");
}

TEST_F(ContiguousMemory, IsNotTheCauseAtALimitOrWithoutFreeMemory) {
  machine_.evidence.available_bytes = 0.01 * machine_.evidence.total_bytes;
  EXPECT_EQ(machine_.words().find("contiguous"), std::string::npos) << machine_.words();
  machine_.evidence.available_bytes = 0.5 * machine_.evidence.total_bytes;
  zone().objects = 1000;
  zone().limit_used = 1;
  EXPECT_EQ(machine_.words(), "now mbuf_limit");
}

}  // namespace
}  // namespace memstat::causes::contiguous
