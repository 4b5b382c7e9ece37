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

TEST(Quota, NamesTheUserWithItsNumbers) {
  EvidenceOfMachine machine;
  machine.metric("memstat_table_user_used_ratio", 0.99, {"keys", "count"});
  machine.evidence.inspections.push_back(answer_to(
      "keys",
      {{.pid = 0, .command = "", .user = "0", .group = "", .name = "count", .count = 3, .bytes = {}, .limit = 1000000},
       {.pid = 0, .command = "", .user = "1000", .group = "", .name = "count", .count = 198, .bytes = {}, .limit = 200}}));
  const Finding finding = machine.find().at(0);
  EXPECT_EQ(finding.headline, "User 1000 has 99 % of the quota of kernel keys (count)");
  EXPECT_EQ(finding.facts.at(1).text, "198 of 200 keys");
  EXPECT_EQ(finding.who.at(0).name, "1000");
}

}  // namespace
}  // namespace memstat::causes::quota
