// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::pages {
namespace {

constexpr double kGiB = EvidenceOfMachine::kGiB;

TEST(Pages, InNoAccount) {
  EvidenceOfMachine machine;
  MetricEvidence& bytes = machine.metric("memstat_unaccounted_bytes", kGiB);
  EXPECT_EQ(machine.words(), "");
  bytes.value = 3 * kGiB;
  EXPECT_EQ(machine.words(), "wasteful unaccounted_large");
  machine.metric("memstat_accounted_part_missing", 1, {"per_cpu_pages"});
  EXPECT_EQ(machine.words(), "wasteful unaccounted_large") << "a small part";
  machine.metric("memstat_accounted_part_missing", 1, {"vmalloc"});
  EXPECT_EQ(machine.words(), "notable unaccounted_large") << "before 5.3 vmalloc areas are in it";
}

TEST(Pages, InPiecesWhileMemoryIsFree) {
  EvidenceOfMachine machine;
  machine.moved("memstat_page_order_failures_total", 9, {"9"});
  EXPECT_EQ(machine.words(), "") << "huge pages may fail";
  machine.moved("memstat_page_order_failures_total", 4, {"2"});
  EXPECT_EQ(machine.words(), "now fragmentation");
}

TEST(Pages, CompactionInVain) {
  EvidenceOfMachine machine;
  machine.moved("memstat_compaction_failures_total", 900);
  MetricEvidence& successes = machine.moved("memstat_compaction_successes_total", 900);
  EXPECT_EQ(machine.words(), "");
  successes.change.recent = 10;
  EXPECT_EQ(machine.words(), "wasteful compaction_fails");
}

TEST(Pages, AFewRefusedHugeOnesNeedOnlyAsManyFailuresOfCompaction) {
  EvidenceOfMachine machine;
  machine.moved("memstat_compaction_failures_total", 9);
  EXPECT_EQ(machine.words(), "") << "nothing was refused";
  MetricEvidence& refused = machine.moved("memstat_page_allocation_failures_total", 9, {"hugetlb"});
  EXPECT_EQ(machine.words(), "now compaction_fails");
  refused.change.recent = 10;
  EXPECT_EQ(machine.words(), "now compaction_fails") << "after failures it is not always tried";
  machine.moved("memstat_compaction_successes_total", 1);
  EXPECT_EQ(machine.words(), "now hugetlb_exhausted");
}

TEST(Pages, HugeOnesAreRefusedSinceMemoryIsInPieces) {
  EvidenceOfMachine machine;
  machine.moved("memstat_page_allocation_failures_total", 9, {"hugetlb"});
  machine.moved("memstat_compaction_failures_total", 900);
  machine.moved("memstat_compaction_successes_total", 10);
  EXPECT_EQ(machine.words(), "now compaction_fails");
  machine.evidence.available_bytes = 0.09 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words().substr(0, 21), "now hugetlb_exhausted") << "there is too little in any pieces";
}

TEST(Pages, ThatMayNotWait) {
  EvidenceOfMachine machine;
  machine.moved("memstat_gfp_failures_total", 3, {"page", "user"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_gfp_failures_total", 3, {"page", "atomic"});
  EXPECT_EQ(machine.words(), "now atomic_failures");
}

TEST(Pages, APoolThatIsUsedOrYoungIsHealthy) {
  EvidenceOfMachine machine;
  TypeEvidence& pool = machine.type(Allocator::kHugetlb, "2MiB");
  pool.object_bytes = 2 * EvidenceOfMachine::kMiB;
  pool.free_objects = 1500;
  pool.objects = 500;
  machine.evidence.uptime_seconds = 3600;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.types[0].free_objects = 2000;
  EXPECT_EQ(machine.words(), "notable hugetlb_unused") << "a quarter of memory, and little is used";
  machine.evidence.types[0].free_objects = 1500;
  machine.evidence.uptime_seconds = 1e6;
  EXPECT_EQ(machine.words(), "notable hugetlb_unused");
  machine.metric("memstat_hugetlb_reserved_pages", 1500, {"2MiB"});
  EXPECT_EQ(machine.words(), "notable hugetlb_exhausted") << "reserved, so not idle; and none is left";
}

TEST(Pages, OfPoolsThatRefuse) {
  EvidenceOfMachine machine;
  machine.moved("memstat_page_allocation_failures_total", 9, {"thp_fault"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_page_allocation_failures_total", 9, {"hugetlb"});
  EXPECT_EQ(machine.words(), "now hugetlb_exhausted");
}

TEST(Pages, AFullPoolIsWorthAWordSinceItMayBeOnPurpose) {
  EvidenceOfMachine machine;
  TypeEvidence& pool = machine.type(Allocator::kHugetlb, "2MiB");
  pool.objects = 500;
  pool.free_objects = 20;
  EXPECT_EQ(machine.words(), "");
  machine.metric("memstat_hugetlb_reserved_pages", 20, {"2MiB"});
  EXPECT_EQ(machine.words(), "notable hugetlb_exhausted");
  EXPECT_NE(machine.find()[0].next[0].find("hugetlbfs"), std::string::npos) << "a file may hold them without a program";
  pool.objects = 0;
  EXPECT_EQ(machine.words(), "notable hugetlb_exhausted") << "reserved to the last, and none used yet";
  pool.limit_objects = 21;
  EXPECT_EQ(machine.words(), "") << "the kernel may make one more";
  pool.limit_objects = 20;
  EXPECT_EQ(machine.words(), "notable hugetlb_exhausted");
  pool.free_objects = 0;
  machine.evidence.metrics[0].value = 0;
  EXPECT_EQ(machine.words(), "") << "no pool";
}

TEST(Pages, OfDevicesAndOfCompressedSwap) {
  EvidenceOfMachine devices;
  devices.type(Allocator::kCma, "reserved").failures.recent = 4;
  EXPECT_EQ(devices.words(), "now cma_exhausted");
  EvidenceOfMachine swap;
  TypeEvidence& cache = swap.type(Allocator::kZswap, "zswap");
  cache.failures.recent = 4;
  cache.limit_used = 0.3;
  EXPECT_EQ(swap.words(), "") << "it refuses what does not compress";
  cache.limit_used = 1;
  EXPECT_EQ(swap.words(), "wasteful zswap_full");
}

TEST(Pages, OfOtherNodes) {
  EvidenceOfMachine machine;
  MetricEvidence& foreign = machine.moved("memstat_numa_events_total", 1000, {"1", "foreign"});
  EXPECT_EQ(machine.words(), "");
  foreign.change.recent = 1e6;
  EXPECT_EQ(machine.words(), "notable numa_node_full");
}

TEST(Pages, AnIdlePoolIsFoundByItsBytes) {
  EvidenceOfMachine machine;
  TypeEvidence& pool = machine.type(Allocator::kHugetlb, "2MiB");
  pool.object_bytes = 2 * EvidenceOfMachine::kMiB;
  pool.objects = pool.bytes = 0;
  pool.held_bytes = 0.2 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words(), "notable hugetlb_unused");
}

TEST(Pages, InNoAccountThatAreHalfAsManyCountWhereTheyCameLately) {
  EvidenceOfMachine machine;
  MetricEvidence& unaccounted = machine.metric("memstat_unaccounted_bytes", 0.06 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "");
  unaccounted.change.since_start = 0.05 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words(), "wasteful unaccounted_large");
}

TEST(Pages, LittleThatNoAccountHasIsFoundWhereAGroupWasChargedForIt) {
  EvidenceOfMachine machine;
  machine.metric("memstat_unaccounted_bytes", 600 * EvidenceOfMachine::kMiB);
  EXPECT_EQ(machine.words(), "");
  machine.metric("memstat_memcg_part_bytes", 500 * EvidenceOfMachine::kMiB, {"/system.slice", "kernel"});
  machine.metric("memstat_memcg_part_bytes", 480 * EvidenceOfMachine::kMiB, {"/system.slice/log.service", "kernel"});
  ASSERT_EQ(machine.words(), "notable unaccounted_large");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kLikely);
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/system.slice/log.service");
  machine.metric("memstat_memcg_part_bytes", 450 * EvidenceOfMachine::kMiB, {"/system.slice/log.service", "slab"});
  ASSERT_EQ(machine.find().size(), 1U);
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/system.slice") << "the kernel memory of the service is slab";
  machine.metric("memstat_memcg_part_bytes", 450 * EvidenceOfMachine::kMiB, {"/system.slice", "slab"});
  EXPECT_EQ(machine.words(), "");
}

TEST(Pages, ANodeAtItsMarkNeedsNoFlood) {
  EvidenceOfMachine machine;
  machine.moved("memstat_numa_events_total", 300 * 100, {"0", "foreign"});
  EXPECT_EQ(machine.words(), "") << "a hundred a second come and go";
  machine.metric("memstat_zone_watermark_bytes", 100 * EvidenceOfMachine::kMiB, {"0", "Normal", "high"});
  TypeEvidence& zone = machine.type(Allocator::kPage, "node 0 Normal");
  zone.object_bytes = 4096;
  zone.free_objects = 20 * EvidenceOfMachine::kMiB / 4096;
  EXPECT_EQ(machine.words(), "notable numa_node_full");
  machine.evidence.types[0].free_objects = EvidenceOfMachine::kGiB / 4096;
  EXPECT_EQ(machine.words(), "");
}

TEST(Pages, AFullPoolOfZswapRefusesWithoutBeingCounted) {
  EvidenceOfMachine machine;
  TypeEvidence& pool = machine.type(Allocator::kZswap, "zswap");
  pool.limit_bytes = 100 * EvidenceOfMachine::kMiB;
  pool.bytes = 85 * EvidenceOfMachine::kMiB;
  EXPECT_EQ(machine.words(), "");
  pool.bytes_change.recent = 30 * EvidenceOfMachine::kMiB;
  machine.growing("account", "zswap", 85 * EvidenceOfMachine::kMiB, 30 * EvidenceOfMachine::kMiB, 300);
  EXPECT_EQ(machine.words(), "notable zswap_full") << "its growth has that cause";
  EXPECT_EQ(machine.find()[0].headline, "Compressed swap (zswap) is nearly full: 85 MiB of 100 MiB");
  pool.bytes_change = {};
  machine.evidence.growing.clear();
  pool.bytes = 91 * EvidenceOfMachine::kMiB;
  EXPECT_EQ(machine.words(), "notable zswap_full");
  machine.moved("memstat_paged_pages_total", 300, {"swap", "in"});
  EXPECT_EQ(machine.words(), "notable zswap_full");
  machine.moved("memstat_paged_pages_total", 300, {"swap", "out"});
  EXPECT_EQ(machine.words(), "wasteful zswap_full");
}

TEST(Pages, RingsThatProcessesMapExplainWhatNoAccountHas) {
  EvidenceOfMachine machine;
  machine.metric("memstat_unaccounted_bytes", 600 * EvidenceOfMachine::kMiB);
  InspectionAnswer rings;
  rings.question = "rings";
  rings.things = "mappings";
  rings.holders = {
      {.pid = 812, .command = "tcpdump", .user = {}, .group = {}, .name = "sockets", .count = 5, .bytes = 200U << 20U}};
  machine.evidence.inspections = {rings};
  EXPECT_EQ(machine.words(), "") << "a third of it";
  machine.evidence.inspections[0].holders[0].bytes = 500U << 20U;
  ASSERT_EQ(machine.words(), "notable unaccounted_large");
  EXPECT_EQ(diagnose(machine.evidence).findings[0].who.at(0).name, "tcpdump (pid 812)");
  const auto facts = [&] {
    std::string all;
    const Diagnosis diagnosis = diagnose(machine.evidence);
    for (const Fact& fact : diagnosis.findings.at(0).facts) all += fact.text + "\n";
    return all;
  };
  EXPECT_THAT(facts(), testing::HasSubstr("processes have mapped 500 MiB of ring buffers\n"));
  EXPECT_THAT(facts(), testing::Not(testing::HasSubstr("examined")));
  machine.evidence.inspections[0].is_cut = true;
  machine.evidence.inspections[0].parts = "processes";
  machine.evidence.inspections[0].seen = 90;
  EXPECT_THAT(facts(), testing::HasSubstr("processes have mapped at least 500 MiB of ring buffers\n"));
  EXPECT_THAT(facts(), testing::HasSubstr("examined: 90 processes\n"));
}

TEST(Pages, CompactionThatFailsNowAndThenIsNotable) {
  EvidenceOfMachine machine;
  machine.moved("memstat_compaction_failures_total", 50);
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_compaction_failures_total", 30);
  EXPECT_EQ(machine.words(), "notable compaction_fails");
}

TEST(Pages, ThatNobodyCountsMayBeOfAModuleThatIsLoaded) {
  EvidenceOfMachine machine;
  machine.metric("memstat_unaccounted_bytes", 8 * kGiB);
  Holder balloon;
  balloon.name = "hv_balloon";
  machine.evidence.inspections = {answer_to("modules", {balloon})};
  const Findings found = machine.find();
  ASSERT_EQ(machine.words(), "wasteful unaccounted_large");
  EXPECT_EQ(found[0].next.at(0), "cat /sys/kernel/debug/hv-balloon");
  EXPECT_TRUE(found[0].who.empty()) << "it is loaded, which proves nothing";
}

}  // namespace
}  // namespace memstat::causes::pages
