// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::full_table {
namespace {

struct Table {
  const char* cause;
  const char* type;
  EvidenceSystem system;
};
constexpr auto kLinux = EvidenceSystem::kLinux;
constexpr auto kFreeBsd = EvidenceSystem::kFreeBsd;
constexpr Table kTables[] = {{"open_files_full", "files", kLinux},
                             {"threads_full", "threads", kLinux},
                             {"aio_full", "aio_events", kLinux},
                             {"sysv_shm_full", "sysv_shm", kLinux},
                             {"sysv_sem_sets_full", "sysv_sem", kLinux},
                             {"sysv_sem_full", "sysv_semaphores", kLinux},
                             {"sysv_msg_full", "sysv_msg", kLinux},
                             {"ptys_full", "ptys", kLinux},
                             {"conntrack_full", "conntrack", kLinux},
                             {"neighbours_full", "arp_cache", kLinux},
                             {"neighbours6_full", "ndisc_cache", kLinux},
                             {"orphans_full", "tcp_orphans", kLinux},
                             {"table_full", "of_a_later_kernel", kLinux},
                             {"files_full", "files", kFreeBsd},
                             {"processes_full", "processes", kFreeBsd},
                             {"sockets_full", "sockets", kFreeBsd},
                             {"pipe_buffers_full", "pipe_buffers", kFreeBsd},
                             {"user_wired_full", "user_wired", kFreeBsd},
                             {"aio_jobs_full", "aio_jobs", kFreeBsd},
                             {"inotify_full", "inotify_watches", kFreeBsd},
                             {"shm_segments_full", "sysv_shm", kFreeBsd},
                             {"semaphore_sets_full", "sysv_sem", kFreeBsd},
                             {"semaphores_full", "sysv_semaphores", kFreeBsd},
                             {"message_queues_full", "sysv_msg", kFreeBsd},
                             {"messages_full", "sysv_messages", kFreeBsd}};

TEST(FullTable, EachTableIsFullNearlyFullOrNeither) {
  for (const Table& table : kTables) {
    EvidenceOfMachine machine(table.system);
    TypeEvidence& type = machine.limited(Allocator::kTable, table.type, 500, 1000);
    EXPECT_EQ(machine.words(), "") << table.cause;
    EXPECT_TRUE(is_ruled_out(machine.evidence, table.cause));
    type.objects = 950;
    type.limit_used = 0.95;
    EXPECT_EQ(machine.words(), std::string("notable ") + table.cause);
    type.objects = 990;
    type.limit_used = 0.99;
    EXPECT_EQ(machine.words(), std::string("now ") + table.cause);
  }
}

TEST(FullTable, ThatFillsWithinTheMinuteIsFullSoonAndAStepIsNot) {
  EvidenceOfMachine machine;
  machine.evidence.recent_seconds = 60;
  machine.evidence.poll_seconds = 10;
  TypeEvidence& type = machine.limited(Allocator::kTable, "conntrack", 849, 1000);
  type.objects_change = {.total = 849, .since_start = 539, .recent = 539, .last = 90};
  EXPECT_EQ(machine.words(), "soon conntrack_full");
  EXPECT_NEAR(machine.find()[0].seconds_left.value_or(0), 16.8, 0.1);
  type.objects_change.last = 500;
  EXPECT_EQ(machine.words(), "") << "a step";
  type.objects_change.last = 0;
  EXPECT_EQ(machine.words(), "") << "it has ended";
  type.objects_change = {.total = 849, .since_start = 539, .recent = 200, .last = 33};
  EXPECT_EQ(machine.words(), "") << "it may go up and down";
}

TEST(FullTable, FreeBsdsReserveForRootIsFullForOthers) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  TypeEvidence& files = machine.limited(Allocator::kTable, "files", 568, 599);
  machine.metric("memstat_table_soft_limit_objects", 569, {"files"});
  EXPECT_EQ(machine.words(), "notable files_full");
  files.objects = 569;
  EXPECT_EQ(machine.words(), "now files_full");
  EXPECT_EQ(machine.find().at(0).headline, "The table of open files is full except for root: 569 of 599 (95 %)");
  machine.evidence.system = EvidenceSystem::kLinux;
  EXPECT_EQ(machine.words(), "notable open_files_full") << "no limit of users";
}

TEST(FullTable, PipesAreRefusedBeforeTheLastFiftieth) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  TypeEvidence& pipes = machine.type(Allocator::kTable, "pipe_buffers");
  pipes.limit_bytes = 4194304;
  pipes.bytes = 4000000;
  EXPECT_EQ(machine.words(), "notable pipe_buffers_full");
  pipes.bytes = 4108288;
  EXPECT_EQ(machine.words(), "now pipe_buffers_full");
}

TEST(FullTable, RefusalsThatMoveAreConfirmedAndOldOnesAreNot) {
  EvidenceOfMachine machine;
  TypeEvidence& table = machine.limited(Allocator::kTable, "conntrack", 1000, 1000);
  table.failures.total = 20;
  EXPECT_EQ(machine.find().at(0).certainty, Certainty::kLikely);
  table.failures.recent = 7;
  const Finding finding = machine.find().at(0);
  EXPECT_EQ(finding.certainty, Certainty::kConfirmed);
  EXPECT_EQ(finding.headline, "The table of tracked connections is full: 1000 of 1000 (100 %), 7 requests failed");
  EXPECT_EQ(finding.facts.at(1).text, "7 failures in 5 min");
}

TEST(FullTable, OnePollAndNoRefusalIsOnlyPossible) {
  EvidenceOfMachine machine;
  machine.evidence.polls = 1;
  machine.limited(Allocator::kTable, "ptys", 10, 10);
  EXPECT_EQ(machine.find().at(0).certainty, Certainty::kPossible);
}

TEST(FullTable, SteadyGrowthSaysWhenItIsFullAsFarAheadAsItWasWatched) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 600, 1000);
  GrowthEvidence& growth = machine.growing("table", "files", 600, 60, 3600);
  growth.is_bytes = false;
  growth.limit_seconds = 24000;
  EXPECT_EQ(machine.words(), "soon open_files_full") << "what grows is the same subject, listed once";
  growth.limit_seconds = 50000;
  EXPECT_EQ(machine.words(), "notable file_leak") << "more than twelve times as long as it was watched";
}

TEST(FullTable, OfTimeWaitIsNotableAtMost) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "tcp_time_wait", 1000, 1000).failures.recent = 50;
  EXPECT_EQ(machine.words(), "notable time_wait_full");
  machine.type(Allocator::kSocket, "TCP").bytes = 8e6;
  machine.metric("memstat_socket_memory_pressure", 1, {"TCP"});
  EXPECT_EQ(machine.words(), "notable tcp_pressure, notable time_wait_full");
}

TEST(FullTable, OrphansHoldMemoryOfTcpSoTheyExplainItsDrops) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "tcp_orphans", 70, 64);
  machine.moved("memstat_socket_events_total", 3000, {"TCP", "TCPRcvQDrop"});
  EXPECT_EQ(machine.words(), "now orphans_full");
}

TEST(FullTable, AnUnlimitedTableIsNever) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9.2e18, 9.2e18);
  EXPECT_EQ(machine.words(), "");
}

TEST(FullTable, ThreadsNameTheGroupThatHasMost) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "threads", 1000, 1000);
  machine.metric("memstat_memcg_tasks", 995, {"/"});
  machine.metric("memstat_memcg_tasks", 900, {"/a.slice"});
  machine.metric("memstat_memcg_tasks", 10, {"/b.slice"});
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/a.slice");
}

TEST(FullTable, NeighboursAreSweptAsSoonAsTheyAreRefused) {
  EvidenceOfMachine machine;
  TypeEvidence& table = machine.limited(Allocator::kTable, "arp_cache", 500, 1024);
  EXPECT_EQ(machine.words(), "");
  table.failures.recent = 3;
  EXPECT_EQ(machine.words(), "now neighbours_full");
}

TEST(FullTable, RefusalsThatEndedLeaveItNearlyFull) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 950, 1000).failures = {.total = 9, .recent = 9};
  EXPECT_EQ(machine.words(), "now open_files_full");
  machine.evidence.types[0].failures.still = 200;
  ASSERT_EQ(machine.words(), "notable open_files_full");
  EXPECT_EQ(machine.find()[0].headline, "The table of open files is nearly full: 950 of 1000 (95 %)");
  EXPECT_EQ(machine.find()[0].facts.at(1).text, "9 failures in 5 min, the last one 3 min ago");
}

TEST(FullTable, NumbersOfOneLimitAreThoseOfTheFile) {
  EvidenceOfMachine machine;
  TypeEvidence& orphans = machine.limited(Allocator::kTable, "tcp_orphans", 65738, 65536);
  orphans.limit_used = 1.0031;  // four digits
  EXPECT_NE(machine.find().at(0).headline.find("65738, above the limit of 65536"), std::string::npos)
      << machine.find()[0].headline;
  machine.evidence.types[0].objects = 90000;
  machine.evidence.types[0].limit_used = 90000.0 / 65536;
  EXPECT_NE(machine.find().at(0).headline.find("90000, above the limit of 65536"), std::string::npos);
  machine.evidence.types[0].limit_objects = 1048576;
  machine.evidence.types[0].objects = 1048001;
  machine.evidence.types[0].limit_used = 1048001.0 / 1048576;
  EXPECT_NE(machine.find().at(0).headline.find("1048001 of 1048576"), std::string::npos) << machine.find()[0].headline;
}

}  // namespace
}  // namespace memstat::causes::full_table
