// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::quota {
namespace {

TEST(Quota, OfKeys) {
  EvidenceOfMachine machine;
  MetricEvidence& keys = machine.metric("memstat_table_user_used_ratio", 0.5, {"keys", "count"});
  EXPECT_EQ(machine.words(), "");
  keys.value = 0.85;
  EXPECT_EQ(machine.words(), "notable key_quota_full");
  keys.value = 1;
  EXPECT_EQ(machine.words(), "now key_quota_full");
}

}  // namespace
}  // namespace memstat::causes::quota
