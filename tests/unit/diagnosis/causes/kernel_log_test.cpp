// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::kernel_log {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(KernelLog, LinesOfBeforeAreNoNews) {
  EvidenceOfMachine machine;
  for (const char* const event :
       {"page_allocation_failure", "slab_allocation_failure", "vmalloc_failure", "memory_error", "page_pool_stalled"}) {
    machine.evidence.metrics.clear();
    machine.metric("memstat_kernel_log_events_total", 10 * kMiB, {event});
    EXPECT_EQ(machine.words(), "") << event;
    machine.evidence.metrics[0].change.recent = 2;
    EXPECT_EQ(machine.find().size(), 1U) << event;
  }
}

TEST(KernelLog, LinesOfTheLastMinutesBeforeTheFirstPollAreWorthAWord) {
  EvidenceOfMachine machine;
  machine.metric("memstat_kernel_log_events_total", 3, {"page_allocation_failure"});
  machine.evidence.logged = {{.event = "page_allocation_failure", .seconds_ago = 120}};
  ASSERT_EQ(machine.words(), "notable page_allocation_failed");
  EXPECT_EQ(machine.find()[0].headline, "The kernel failed to allocate pages, 2 min ago");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
}

TEST(KernelLog, WhatWasBeforeStandsBehindWhatIs) {
  EvidenceOfMachine machine;
  machine.evidence.logged = {{.event = "page_allocation_failure", .seconds_ago = 120}};
  machine.limited(Allocator::kTable, "ptys", 950, 1000);
  EXPECT_EQ(machine.words(), "notable ptys_full, notable page_allocation_failed");
}

TEST(KernelLog, ARefusalMakesATableFullThatHasALittleRoomAgain) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 930, 1000);
  EXPECT_EQ(machine.words(), "notable open_files_full");
  machine.moved("memstat_kernel_log_events_total", 1, {"files_full"});
  EXPECT_EQ(machine.words(), "now open_files_full");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kConfirmed);
}

TEST(KernelLog, ARefusalIsNewsWhereNoTableShowsIt) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 2, {"conntrack_full"});
  EXPECT_EQ(machine.words(), "now refused_in_log");
  machine.limited(Allocator::kTable, "conntrack", 990, 1000);
  EXPECT_EQ(machine.words(), "now conntrack_full");
}

TEST(KernelLog, AGroupThatIsSeenFullNeedsNoLog) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 2, {"pids_full"});
  machine.metric("memstat_memcg_tasks_limit", 60, {"/a"});
  machine.metric("memstat_memcg_tasks", 5, {"/a"});
  EXPECT_EQ(machine.words(), "now refused_in_log");
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_memcg_tasks") one.value = 60;
  }
  EXPECT_EQ(machine.words(), "now cgroup_tasks_full");
}

}  // namespace
}  // namespace memstat::causes::kernel_log
