// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::pressure {
namespace {

constexpr double kGiB = EvidenceOfMachine::kGiB;

TEST(Pressure, StallsOfAllProgramsAreNowOfSomeWasteful) {
  EvidenceOfMachine machine;
  machine.moved("memstat_pressure_stall_seconds_total", 3, {"full"});
  machine.moved("memstat_pressure_stall_seconds_total", 45, {"some"});
  EXPECT_EQ(machine.words(), "") << "15 % of the time";
  machine.evidence.metrics.clear();
  machine.moved("memstat_pressure_stall_seconds_total", 75, {"some"});
  EXPECT_EQ(machine.words(), "wasteful memory_stalls");
  machine.moved("memstat_pressure_stall_seconds_total", 33, {"full"});
  EXPECT_EQ(machine.words(), "now memory_stalls");
}

TEST(Pressure, DirectReclaimNeedsStalledTime) {
  EvidenceOfMachine machine;
  machine.moved("memstat_allocation_stalls_total", 6000, {"Normal"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_pressure_stall_seconds_total", 20, {"some"});
  EXPECT_EQ(machine.words(), "wasteful direct_reclaim");
}

TEST(Pressure, LittleAvailableIsWorseUnderPressure) {
  EvidenceOfMachine machine;
  machine.part("anonymous", 14 * kGiB);
  machine.evidence.available_bytes = 0.9 * kGiB;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.available_bytes = 0.7 * kGiB;
  EXPECT_EQ(machine.words(), "wasteful memory_low");
  machine.moved("memstat_pressure_stall_seconds_total", 33, {"full"});
  EXPECT_EQ(machine.words(), "now memory_low") << "the stalls are its symptom";
}

TEST(Pressure, ATwentiethOfALargeMachineIsEnough) {
  EvidenceOfMachine machine;
  machine.part("hugetlb", 1400 * kGiB);
  machine.evidence.total_bytes = 1536 * kGiB;
  machine.evidence.available_bytes = 40 * kGiB;
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_pressure_stall_seconds_total", 30, {"full"});
  EXPECT_EQ(machine.words(), "now memory_low");
  machine.evidence.metrics.erase(machine.evidence.metrics.end() - 1);
  machine.evidence.available_bytes = 3 * kGiB;
  EXPECT_EQ(machine.words(), "now memory_low");
}

TEST(Pressure, TwoSecondsAreEnoughForHalfASecond) {
  EvidenceOfMachine machine;
  machine.evidence.recent_seconds = machine.evidence.watched_seconds = 2;
  machine.moved("memstat_pressure_stall_seconds_total", 0.4, {"full"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_pressure_stall_seconds_total", 0.6, {"full"}).change.recent = 0.6;
  machine.evidence.metrics.erase(machine.evidence.metrics.begin());
  EXPECT_EQ(machine.words(), "now memory_stalls");
}

TEST(Pressure, SlowSwapIsThrashingWhereProgramsWait) {
  EvidenceOfMachine machine;
  machine.moved("memstat_paged_pages_total", 100 * 300, {"swap", "in"});
  machine.moved("memstat_paged_pages_total", 100 * 300, {"swap", "out"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_pressure_stall_seconds_total", 62, {"some"});
  EXPECT_EQ(machine.words(), "now swap_thrash") << "it is why they wait";
}

TEST(Pressure, SwapThatComesBackIsThrashingAndColdPagesAreNot) {
  EvidenceOfMachine machine;
  machine.moved("memstat_paged_pages_total", 1e6, {"swap", "out"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_paged_pages_total", 1e6, {"swap", "in"});
  EXPECT_EQ(machine.words(), "now swap_thrash");
}

TEST(Pressure, FullSwapMattersWhileMemoryIsShort) {
  EvidenceOfMachine machine;
  machine.metric("memstat_swap_total_bytes", 2 * kGiB);
  MetricEvidence& free = machine.metric("memstat_swap_free_bytes", 0);
  EXPECT_EQ(machine.words(), "");
  machine.evidence.available_bytes = kGiB;
  EXPECT_EQ(machine.words(), "wasteful swap_full");
  free.value = 0.09 * 2 * kGiB;
  EXPECT_EQ(machine.words(), "wasteful swap_full");
  EXPECT_THAT(machine.find()[0].headline, testing::StartsWith("91 % of swap (2 GiB) is in use"));
  machine.evidence.system = EvidenceSystem::kFreeBsd;
  EXPECT_THAT(machine.find()[0].next, testing::ElementsAre("swapinfo -h"));
  free.value = 0.11 * 2 * kGiB;
  EXPECT_EQ(machine.words(), "notable swap_full");
  free.value = 0.16 * 2 * kGiB;
  EXPECT_EQ(machine.words(), "");
}

TEST(Pressure, AZoneBelowItsReserveAndOneThatKeepsItForOthers) {
  EvidenceOfMachine machine;
  machine.metric("memstat_zone_watermark_bytes", 1e6, {"0", "Normal", "min"});
  machine.metric("memstat_zone_watermark_bytes", 1e6, {"0", "DMA", "min"});
  TypeEvidence& zone = machine.type(Allocator::kPage, "node 0 Normal");
  zone.bytes = kGiB;
  zone.free_objects = 1000;
  zone.object_bytes = 4096;
  TypeEvidence& dma = machine.type(Allocator::kPage, "node 0 DMA");
  dma.free_objects = 0;
  dma.object_bytes = 4096;
  dma.bytes = 15e6;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.types[0].free_objects = 100;
  EXPECT_EQ(machine.words(), "now zone_short");
}

TEST(Pressure, OfFreeBsdIsPerDomain) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.metric("memstat_zone_watermark_bytes", 4e6, {"0", "free", "severe"});
  TypeEvidence& free = machine.type(Allocator::kPage, "domain 0 free");
  free.object_bytes = 4096;
  free.free_objects = 100000;
  EXPECT_EQ(machine.words(), "");
  free.free_objects = 900;
  EXPECT_EQ(machine.words(), "now domain_exhausted");
}

TEST(Pressure, ThePageDaemonFallsShortAndSwaps) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.moved("memstat_page_events_total", 4, {"daemon_shortfall"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_paged_pages_total", 1000, {"swap", "out"});
  EXPECT_EQ(machine.words(), "wasteful page_daemon_short");
}

TEST(Pressure, ReclaimThatWaitsForTheDisk) {
  EvidenceOfMachine machine;
  MetricEvidence& pages = machine.moved("memstat_throttled_written_pages_total", 30);
  EXPECT_EQ(machine.words(), "");
  pages.change.recent = 9000;
  EXPECT_EQ(machine.words(), "wasteful writers_throttled");
}

TEST(Pressure, WritersWaitAboveTheMiddleOfBothThresholds) {
  EvidenceOfMachine machine;
  machine.metric("memstat_dirty_threshold_bytes", 1e9, {"background"});
  machine.metric("memstat_dirty_threshold_bytes", 2e9, {"throttle"});
  machine.metric("memstat_dirty_bytes", 1.9e9);
  EXPECT_EQ(machine.words(), "") << "nobody waits";
  machine.moved("memstat_io_pressure_stall_seconds_total", 100, {"some"});
  EXPECT_EQ(machine.words(), "wasteful writers_throttled");
  machine.metric("memstat_memcg_part_bytes", 1.8e9, {"/backup", "file_dirty"});
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/backup");
  machine.evidence.recent_seconds = 20;
  EXPECT_EQ(machine.words(), "notable writers_throttled") << "a burst";
}

TEST(Pressure, LittleMemoryNamesTheLargestPartExceptCaches) {
  EvidenceOfMachine machine;
  machine.part("page_cache", 12 * kGiB);
  machine.part("shared", 9 * kGiB);
  machine.evidence.available_bytes = 0.7 * kGiB;
  machine.metric("memstat_memcg_part_bytes", 8 * kGiB, {"/app", "shmem"});
  machine.moved("memstat_pressure_stall_seconds_total", 33, {"full"});
  const Findings found = machine.find();
  ASSERT_EQ(found.at(0).cause, "memory_low");
  EXPECT_EQ(found[0].about.at(0).type, "shared");
  EXPECT_EQ(found[0].inspection, "tmpfs");
  EXPECT_EQ(found[0].who.at(0).name, "/app");
  machine.metric("memstat_unaccounted_bytes", 10 * kGiB);
  EXPECT_EQ(machine.find().at(0).about.at(0).type, "unaccounted");
}

TEST(Pressure, KswapdThatGaveUp) {
  EvidenceOfMachine machine;
  MetricEvidence& node = machine.metric("memstat_node_unreclaimable", 0, {"0"});
  EXPECT_EQ(machine.words(), "");
  node.value = 1;
  EXPECT_EQ(machine.words(), "") << "the state of an hour ago; memory is free";
  machine.evidence.available_bytes = 0.08 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words(), "now kswapd_gave_up");
}

TEST(Pressure, WritersOfAGroupWaitAtItsOwnShareOfDirtyPages) {
  EvidenceOfMachine machine;
  machine.metric("memstat_dirty_bytes", 15 * EvidenceOfMachine::kMiB);
  machine.metric("memstat_writeback_bytes", 0);
  machine.metric("memstat_dirty_threshold_bytes", EvidenceOfMachine::kGiB, {"background"});
  machine.metric("memstat_dirty_threshold_bytes", 2 * EvidenceOfMachine::kGiB, {"throttle"});
  machine.metric("memstat_throttled_written_pages_total", 0);
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/backup.service");
  group.limit_bytes = 100 * EvidenceOfMachine::kMiB;
  group.bytes = 95 * EvidenceOfMachine::kMiB;
  machine.metric("memstat_memcg_part_bytes", 14 * EvidenceOfMachine::kMiB, {"/backup.service", "file_dirty"});
  EXPECT_EQ(machine.words(), "") << "nobody waits";
  machine.moved("memstat_io_pressure_stall_seconds_total", 200, {"some"});
  ASSERT_EQ(machine.words(), "notable writers_throttled");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/backup.service");
  machine.metric("memstat_memcg_anonymous_bytes", 0, {"/backup.service"});
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_memcg_part_bytes") one.value = EvidenceOfMachine::kMiB;
  }
  EXPECT_EQ(machine.words(), "") << "hardly anything is dirty";
}

TEST(Pressure, LittleIsLeftOfASmallMachine) {
  EvidenceOfMachine machine;
  machine.evidence.total_bytes = 4 * kGiB;
  machine.part("anonymous", 3 * kGiB);
  machine.evidence.available_bytes = 0.5 * kGiB;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.available_bytes = 0.3 * kGiB;
  EXPECT_EQ(machine.words(), "notable memory_low");
  machine.metric("memstat_sysv_shm_unattached_bytes", 0.1 * kGiB);
  EXPECT_EQ(machine.words(), "wasteful sysv_shm_unattached, notable memory_low") << "which may be well";
}

TEST(Pressure, AFewStallsOfAllocationsAreNotable) {
  EvidenceOfMachine machine;
  machine.moved("memstat_allocation_stalls_total", 900, {"Normal"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_pressure_stall_seconds_total", 9, {"some"});
  EXPECT_EQ(machine.words(), "notable direct_reclaim");
}

TEST(Pressure, ShorterStallsMatterOnlyWhileTheMachineIsShort) {
  EvidenceOfMachine machine;
  machine.moved("memstat_pressure_stall_seconds_total", 35, {"some"});
  EXPECT_EQ(machine.words(), "") << "perhaps of a group at its limit";
  machine.evidence.available_bytes = 2 * kGiB;
  EXPECT_EQ(machine.words(), "notable memory_stalls");
}

TEST(Pressure, WritersThatWaitedMostOfTheWindowAreFoundAfterTheyStopped) {
  EvidenceOfMachine machine;
  machine.evidence.recent_seconds = 75;
  machine.metric("memstat_dirty_threshold_bytes", 1e9, {"background"});
  machine.metric("memstat_dirty_threshold_bytes", 2e9, {"throttle"});
  machine.metric("memstat_throttled_written_pages_total", 0);
  machine.metric("memstat_dirty_bytes", 1e6).change.highest = 1.6e9;
  MetricEvidence& stalls = machine.moved("memstat_io_pressure_stall_seconds_total", 61.5, {"some"});
  stalls.change.still = 6;
  ASSERT_EQ(machine.words(), "notable writers_throttled");
  EXPECT_EQ(machine.find()[0].headline, "Writers waited for the disk 82 % of the time until 6 s ago");
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_dirty_bytes") one.change.highest = 1e8;
  }
  EXPECT_EQ(machine.words(), "") << "readers wait for a disk, too";
}

}  // namespace
}  // namespace memstat::causes::pressure
