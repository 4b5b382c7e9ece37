// SPDX-License-Identifier: BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::large_part {
namespace {

struct LargePart {
  const char* words;
  const char* part;
  double healthy;  // shares of memory
  double large;
  EvidenceSystem system = EvidenceSystem::kLinux;
};
constexpr LargePart kAlways[] = {{"notable page_tables_large", "page_tables", 0.02, 0.06},
                                 {"notable kernel_stacks_large", "kernel_stacks", 0.01, 0.03},
                                 {"notable percpu_large", "percpu", 0.01, 0.05},
                                 {"notable vmalloc_large", "vmalloc", 0.02, 0.06},
                                 {"notable sockets_large", "sockets", 0.02, 0.04},
                                 {"wasteful tracing_large", "tracing", 0.01, 0.03},
                                 {"notable memory_poisoned", "hardware_corrupted", 0, 1e-6},
                                 {"notable unswappable_large", "unswappable", 0.01, 0.2, EvidenceSystem::kFreeBsd},
                                 {"notable pv_entries_large", "pv_entries", 0.01, 0.03, EvidenceSystem::kFreeBsd}};
constexpr LargePart kWhenShort[] = {{"wasteful shared_memory_large", "shared", 0.1, 0.4},
                                    {"wasteful compressed_large", "zsmalloc", 0.1, 0.4},
                                    {"notable gpu_memory_large", "gpu", 0.1, 0.4},
                                    {"notable laundry_large", "laundry", 0.1, 0.3, EvidenceSystem::kFreeBsd},
                                    {"wasteful kernel_memory_large", "wired_other", 0.1, 0.4, EvidenceSystem::kFreeBsd}};

TEST(LargePart, PagesThatTheKernelSetsAsideNowAreConfirmed) {
  EvidenceOfMachine machine;
  MetricEvidence& part = machine.part("hardware_corrupted", 4e5);
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible) << "perhaps years ago";
  part.change.recent = 4e5;
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kConfirmed);
}

TEST(LargePart, GraphicsBuffersOfMostMemoryAreNotableWhileMemoryIsAvailable) {
  EvidenceOfMachine machine;
  MetricEvidence& part = machine.part("gpu", 0.35 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "");
  part.value = 0.5 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words(), "notable gpu_memory_large");
}

TEST(LargePart, EachIsSilentBelowItsShare) {
  for (const LargePart& one : kAlways) {
    EvidenceOfMachine machine(one.system);
    MetricEvidence& part = machine.part(one.part, one.healthy * machine.evidence.total_bytes);
    EXPECT_EQ(machine.words(), "") << one.words;
    part.value = one.large * machine.evidence.total_bytes;
    EXPECT_EQ(machine.words(), one.words);
  }
}

TEST(LargePart, WhatMayBeLargeIsSilentWhileMemoryIsAvailable) {
  for (const LargePart& one : kWhenShort) {
    EvidenceOfMachine machine(one.system);
    MetricEvidence& part = machine.part(one.part, one.large * machine.evidence.total_bytes);
    EXPECT_EQ(machine.words(), "") << one.words;
    machine.evidence.available_bytes = 0.08 * machine.evidence.total_bytes;
    EXPECT_EQ(machine.words(), one.words);
    part.value = one.healthy * machine.evidence.total_bytes;
    EXPECT_EQ(machine.words(), "") << one.words;
  }
}

TEST(LargePart, SharedMemoryOfMostIsWorthAWordWhileThereIsRoom) {
  EvidenceOfMachine machine;
  MetricEvidence& shared = machine.part("shared", 0.45 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "") << "a database";
  shared.value = 0.6 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words(), "notable shared_memory_large");
}

TEST(LargePart, ABalloonThatGrewExplainsTheLoss) {
  EvidenceOfMachine machine;
  const double bytes = 0.2 * machine.evidence.total_bytes;
  machine.metric("memstat_memory_total_bytes", machine.evidence.total_bytes).change.since_start = -bytes;
  machine.metric("memstat_balloon_bytes", bytes);
  EXPECT_EQ(machine.words(), "notable memory_lost") << "the balloon was as large before";
  machine.evidence.metrics.front().change.since_start = bytes;
  EXPECT_EQ(machine.words(), "notable balloon_inflated");
  EXPECT_EQ(machine.find().at(0).explains.size(), 1U);
  machine.evidence.metrics.front().value = 17 * EvidenceOfMachine::kGiB;
  EXPECT_EQ(machine.find().at(0).headline, "The host has taken back 17 GiB, 52 % of all memory");
}

TEST(LargePart, ABalloonOfAThirdOfTheMachineIsWorthAWordWhileThereIsRoom) {
  EvidenceOfMachine machine;
  machine.metric("memstat_balloon_bytes", 0.55 * machine.evidence.total_bytes);  // which it is not in
  EXPECT_EQ(machine.words(), "notable balloon_inflated");
}

TEST(LargePart, ABalloonWhileMemoryIsShort) {
  EvidenceOfMachine machine;
  machine.metric("memstat_balloon_bytes", 0.2 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "");
  machine.evidence.available_bytes = 0.08 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words(), "wasteful balloon_inflated");
}

TEST(LargePart, ABalloonThatIsInTheTotalIsAShareOfIt) {
  EvidenceOfMachine machine;
  machine.metric("memstat_balloon_bytes", 8 * EvidenceOfMachine::kGiB);
  machine.part("balloon", 8 * EvidenceOfMachine::kGiB);
  EXPECT_EQ(machine.find().at(0).headline, "The host has taken back 8 GiB, 50 % of all memory");
}

TEST(LargePart, ThatIsMostOfShortMemoryIsWhyItIsShort) {
  EvidenceOfMachine machine;
  const double total = machine.evidence.total_bytes;
  machine.part("percpu", 0.6 * total);
  machine.evidence.available_bytes = 0.04 * total;
  ASSERT_EQ(machine.words(), "wasteful percpu_large");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kLikely);
  EXPECT_EQ(machine.find()[0].explains.size(), 1U) << "memory_low";
  machine.evidence.available_bytes = 0.01 * total;
  EXPECT_EQ(machine.words(), "now percpu_large");
  machine.evidence.metrics.front().value = 0.3 * total;
  EXPECT_EQ(machine.words(), "now memory_low") << "it is one of several";
  machine.evidence.metrics.clear();
  machine.metric("memstat_balloon_bytes", total);
  EXPECT_EQ(machine.words(), "now balloon_inflated");
}

TEST(LargePart, IsNotHiddenByAKernelThatDoesNotReportWhatIsAvailable) {
  EvidenceOfMachine machine;
  machine.part("page_tables", 0.06 * machine.evidence.total_bytes);
  machine.evidence.available_bytes.reset();
  EXPECT_EQ(machine.words(), "notable page_tables_large");
}

TEST(LargePart, OfVmallocThatNobodyIsKnownToHaveRequestedMayBeOfBpf) {
  EvidenceOfMachine machine;
  machine.part("vmalloc", 0.2 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.find().at(0).inspection, "bpf");
  InspectionAnswer answer;
  answer.question = "bpf";
  answer.holders.emplace_back().bytes = 1 << 20;
  machine.evidence.inspections = {answer};
  EXPECT_EQ(machine.find().at(0).inspection, "") << "BPF has little of it";
}

TEST(LargePart, LockedOrUnattachedMemoryIsCountedOnlyByTheKernel) {
  struct Counted {
    const char* metric;
    const char* words;
    double healthy;
    double large;
  };
  for (const Counted& one : {Counted{"memstat_locked_bytes", "notable locked_memory", 0.1, 0.3},
                             Counted{"memstat_sysv_shm_unattached_bytes", "wasteful sysv_shm_unattached", 0.01, 0.1}}) {
    EvidenceOfMachine machine;
    MetricEvidence& bytes = machine.metric(one.metric, one.healthy * machine.evidence.total_bytes);
    EXPECT_EQ(machine.words(), "") << one.words;
    bytes.value = one.large * machine.evidence.total_bytes;
    EXPECT_EQ(machine.words(), one.words);
  }
}

TEST(LargePart, MapsOfPerCpuMemoryAreNotVmallocsOwn) {
  EvidenceOfMachine machine;
  const double bytes = 0.1 * machine.evidence.total_bytes;
  machine.part("percpu", bytes);
  machine.part("vmalloc", 1.1 * bytes);
  EXPECT_EQ(machine.words(), "notable vmalloc_large, notable percpu_large");
  machine.type(Allocator::kVmalloc, "pcpu_create_chunk").bytes = bytes;
  EXPECT_EQ(machine.words(), "notable percpu_large");
}

TEST(LargePart, NamesTheGroupThatIsChargedForIt) {
  EvidenceOfMachine machine;
  const double bytes = 0.1 * machine.evidence.total_bytes;
  machine.part("page_tables", bytes);
  machine.metric("memstat_memcg_kernel_bytes", bytes, {"/a.slice"});
  machine.metric("memstat_memcg_kernel_bytes", 0.9 * bytes, {"/a.slice/db.service"});
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/a.slice/db.service");
}

TEST(LargePart, HalfAsManyPageTablesAreMuchForMemoryThatNeedsFew) {
  EvidenceOfMachine machine;
  machine.part("anonymous", 40 * EvidenceOfMachine::kGiB);
  machine.part("page_tables", 0.03 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "notable page_tables_large");
  EXPECT_THAT(machine.find()[0].next, testing::ElementsAre(testing::StartsWith("grep VmPTE /proc/")));
  machine.evidence.system = EvidenceSystem::kFreeBsd;
  EXPECT_THAT(machine.find()[0].next, testing::ElementsAre(testing::StartsWith("ps -axo vsz")));
  machine.evidence.system = EvidenceSystem::kLinux;
  machine.evidence.metrics[0].value = 400 * EvidenceOfMachine::kGiB;
  EXPECT_EQ(machine.words(), "") << "each page is mapped once";
}

TEST(LargePart, FilesInTmpfsAreNotADatabasesBuffers) {
  EvidenceOfMachine machine;
  machine.part("shared", 0.3 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "") << "a database";
  machine.metric("memstat_tmpfs_bytes", 0.02 * machine.evidence.total_bytes, {"/run"});
  machine.metric("memstat_tmpfs_bytes", 0.25 * machine.evidence.total_bytes, {"/tmp"});
  ASSERT_EQ(machine.words(), "notable shared_memory_large");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/tmp");
}

TEST(LargePart, AFunctionWithMuchVmallocMemoryStandsOut) {
  EvidenceOfMachine machine;
  machine.part("vmalloc", 0.04 * machine.evidence.total_bytes);
  TypeEvidence& modules = machine.type(Allocator::kVmalloc, "move_module");
  modules.bytes = 0.03 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.types[0].name = "kernel_clone";
  EXPECT_EQ(machine.words(), "") << "stacks are a part of their own";
  machine.evidence.types[0].name = "htab_map_alloc";
  ASSERT_EQ(machine.words(), "notable vmalloc_large");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "htab_map_alloc");
  EXPECT_EQ(machine.find()[0].inspection, "bpf");
}

TEST(LargePart, UnreadBuffersExplainDroppedSegments) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_events_total", 60, {"TCP", "TCPRcvQDrop"});
  TypeEvidence& tcp = machine.type(Allocator::kSocket, "TCP");
  tcp.limit_used = 0.3;
  EXPECT_EQ(machine.words(), "notable tcp_receive_dropped");
  machine.part("sockets", 0.04 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "notable sockets_large");
}

TEST(LargePart, FilesInTmpfsOfContainersCountLikeThoseOfThisNamespace) {
  EvidenceOfMachine machine;
  machine.part("shared", 5 * EvidenceOfMachine::kGiB);
  EXPECT_EQ(machine.words(), "") << "a database's buffers, perhaps";
  InspectionAnswer mounts;
  mounts.question = "tmpfs";
  mounts.kind = "mount";
  mounts.holders = {
      {.pid = 7, .command = "model", .user = {}, .group = "/pod", .name = "/dev/shm", .count = 2, .bytes = 4ULL << 30U}};
  machine.evidence.inspections = {mounts};
  EXPECT_EQ(machine.words(), "notable shared_memory_large");
  machine.evidence.inspections[0].holders[0].bytes = 1ULL << 30U;
  EXPECT_EQ(machine.words(), "");
}

TEST(LargePart, WhatHasGainedMuchIsNotableBeforeItIsLarge) {
  struct Gain {
    const char* part;
    double gained;  // shares of memory
  };
  for (const Gain& one : {Gain{"page_tables", 0.021}, Gain{"percpu", 0.021}, Gain{"vmalloc", 0.031}, Gain{"sockets", 0.011},
                          Gain{"shared", 0.16}}) {
    EvidenceOfMachine machine;
    MetricEvidence& part = machine.part(one.part, one.gained * machine.evidence.total_bytes);
    EXPECT_EQ(machine.words(), "") << one.part;
    part.change.since_start = one.gained * machine.evidence.total_bytes;
    EXPECT_TRUE(machine.words().starts_with("notable ")) << one.part;
  }
}

TEST(LargePart, SharedMemoryThatNoProcessHasMappedIsNotOfADatabase) {
  EvidenceOfMachine machine;
  const double bytes = 0.37 * machine.evidence.total_bytes;
  machine.part("shared", bytes);
  machine.metric("memstat_memcg_part_bytes", bytes, {"/docker", "shmem"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.inspections = {answer_to("unmapped", {Holder{}})};
  machine.evidence.inspections[0].holders[0].bytes = static_cast<std::uint64_t>(bytes);
  EXPECT_EQ(machine.words(), "notable shared_memory_large");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/docker");
}

TEST(LargePart, HugePagesOfProgramsMatterWhileMemoryIsShort) {
  EvidenceOfMachine machine;
  machine.metric("memstat_anonymous_huge_bytes", 0.6 * machine.evidence.total_bytes);
  EXPECT_EQ(machine.words(), "");
  machine.evidence.available_bytes = 0.15 * machine.evidence.total_bytes;
  ASSERT_EQ(machine.words(), "notable thp_bloat");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible) << "they may all be used";
  EXPECT_EQ(machine.find()[0].bytes, 0);
}

TEST(LargePart, KernelMemoryIsInZonesOrWiredBesideThem) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  const double total = machine.evidence.total_bytes;
  machine.evidence.available_bytes = 0.05 * total;
  machine.part("wired_other", 0.05 * total);
  machine.part("kmem", 0.9 * total);
  ASSERT_EQ(machine.words(), "wasteful kernel_memory_large");
  EXPECT_EQ(machine.find()[0].about[0].type, "kmem");
  TypeEvidence& zone = machine.type(Allocator::kUma, "NAMEI");
  zone.bytes = 0.7 * total;
  EXPECT_TRUE(machine.find()[0].headline.ends_with(" of all memory, most of it NAMEI")) << machine.find()[0].headline;
  zone.name = "dnode_t";
  EXPECT_FALSE(machine.find()[0].headline.ends_with("dnode_t")) << "a cache";
  machine.evidence.types.clear();
  machine.metric("memstat_zfs_arc_bytes", 0.6 * total);
  EXPECT_EQ(machine.words(), "") << "it is mostly the cache";
  machine.evidence.metrics.clear();
  machine.part("kmem", 0.1 * total);
  machine.part("wired_other", 0.8 * total);
  ASSERT_EQ(machine.words(), "wasteful kernel_memory_large");
  EXPECT_TRUE(machine.find()[0].headline.starts_with("Wired memory that is in no zone and no buffer takes "));
  machine.evidence.metrics.erase(machine.evidence.metrics.begin());
  EXPECT_TRUE(machine.find()[0].headline.starts_with("Wired memory that is neither the ZFS cache nor a buffer takes "));
  machine.metric("memstat_zfs_arc_bytes", 0.6 * total);
  EXPECT_EQ(machine.words(), "") << "a fifth is not the cache";
}

TEST(LargePart, PartsOfTheHostAreNotComparedWithTheTotalOfAContainer) {
  EvidenceOfMachine machine;
  machine.part("page_tables", 4 * EvidenceOfMachine::kGiB);
  EXPECT_NE(machine.words().find("page_tables_large"), std::string::npos);
  machine.metric("memstat_unaccounted_bytes", 8 * EvidenceOfMachine::kGiB);
  machine.evidence.view.add(ViewReason::kLxcfs);
  EXPECT_EQ(machine.words(), "");
}

}  // namespace
}  // namespace memstat::causes::large_part
