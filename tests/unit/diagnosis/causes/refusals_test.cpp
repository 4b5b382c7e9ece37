// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::refusals {
namespace {

TEST(Refusals, AnyTypeThatRefusesIsNamedButAFewAreNot) {
  EvidenceOfMachine machine;
  TypeEvidence& type = machine.type(Allocator::kSocket, "SCTP");
  type.failures = {.total = 4, .since_start = 4, .recent = 4};
  EXPECT_EQ(machine.words(), "");
  type.failures.recent = 12;
  EXPECT_EQ(machine.words(), "notable requests_refused");
  const Finding finding = machine.find().at(0);
  EXPECT_EQ(finding.headline, "socket SCTP refused 12 requests in 5 min");
  EXPECT_EQ(finding.next.at(0), "memstatctl show socket/SCTP");
}

TEST(Refusals, ACauseOfTheSameAllocatorExplainsThem) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "conntrack", 1000, 1000).failures = {.total = 50, .since_start = 50, .recent = 50};
  EXPECT_EQ(machine.words(), "now conntrack_full");
}

TEST(Refusals, AnotherLimitThatIsReached) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kCma, "reserved", 94, 100);
  EXPECT_EQ(machine.words(), "");
  machine.limited(Allocator::kCma, "linux,cma", 96, 100);
  EXPECT_EQ(machine.words(), "notable limit_reached");
  EXPECT_EQ(machine.find().at(0).headline, "cma linux,cma has reached its limit: 96 of 100 (96 %)");
}

TEST(Refusals, AGroupAtItsLimitIsJudgedByOtherCauses) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/web.service");
  group.bytes = group.limit_bytes = 1e9;
  group.limit_used = 1;
  EXPECT_EQ(machine.words(), "") << "page cache";
  group.is_limit_configured = true;
  EXPECT_EQ(machine.words(), "notable limit_reached") << "of memstatd's configuration";
}

}  // namespace
}  // namespace memstat::causes::refusals
