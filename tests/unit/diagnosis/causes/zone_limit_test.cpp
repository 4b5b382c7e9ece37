// SPDX-License-Identifier: BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::zone_limit {
namespace {

constexpr std::pair<const char*, const char*> kZones[] = {
    {"mbuf_limit", "mbuf_jumbo_page"},         {"socket_zone_full", "socket"},  {"pf_full", "pf states"},
    {"ipfw_full", "IPFW dynamic states data"}, {"swap_metadata_full", "swblk"}, {"syncache_full", "syncache"},
    {"tcp_reassembly_full", "tcpreass"},       {"zone_full", "NCLNODE"}};

TEST(ZoneLimit, EachZoneHasItsCause) {
  for (const auto& [cause, zone] : kZones) {
    EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
    machine.limited(Allocator::kUma, zone, 1000, 1000).failures.recent = 3;
    EXPECT_EQ(machine.words(), std::string("now ") + cause);
  }
}

TEST(ZoneLimit, EventsThatNobodyReadsAreNotable) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kUma, "DEVCTL", 1000, 1000).failures.recent = 3;
  EXPECT_EQ(machine.words(), "notable devctl_full");
}

TEST(ZoneLimit, BuffersOfAPageAreReplacedByClustersWhileThereAreAny) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kUma, "mbuf_jumbo_page", 200, 200).failures.recent = 3;
  EXPECT_THAT(machine.find().at(0).effect, testing::HasSubstr("fail with ENOBUFS")) << "nothing is known of clusters";
  machine.limited(Allocator::kUma, "mbuf_cluster", 500, 1000);
  EXPECT_THAT(machine.find().at(0).effect, testing::HasSubstr("fall back to clusters"));
}

TEST(ZoneLimit, AFullTableOfAddressesDoesNotRefuseConnections) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kUma, "pf states", 1000, 1000).failures.recent = 3;
  EXPECT_THAT(machine.find().at(0).effect, testing::HasSubstr("refuses new connections"));
  machine.evidence.types[0].name = "pf table entries";
  EXPECT_THAT(machine.find().at(0).effect, testing::HasSubstr("do not load"));
  EXPECT_THAT(machine.find().at(0).next, testing::Contains(testing::HasSubstr("pfctl -vvsTables")));
}

TEST(ZoneLimit, SleepersAreConfirmedInOnePoll) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.evidence.polls = 1;
  machine.limited(Allocator::kUma, "mbuf_cluster", 2200, 2200).sleepers = 8;
  EXPECT_EQ(machine.find().at(0).certainty, Certainty::kConfirmed);
}

TEST(ZoneLimit, CachedItemsThatFillALimitAreHealthy) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  TypeEvidence& zone = machine.limited(Allocator::kUma, "socket", 188, 32110);
  zone.limit_used = 0.992;
  EXPECT_EQ(machine.words(), "");
  zone.failures.total = 231;
  EXPECT_EQ(machine.words(), "notable zone_cached");
}

TEST(ZoneLimit, BucketsAndPacketsAreSilent) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kUma, "64 Bucket", 10, 10).failures.recent = 264;
  machine.limited(Allocator::kUma, "mbuf_packet", 10, 10).failures.recent = 2;
  machine.type(Allocator::kUma, "vmem btag").failures.recent = 62;
  EXPECT_EQ(machine.words(), "");
}

}  // namespace
}  // namespace memstat::causes::zone_limit
