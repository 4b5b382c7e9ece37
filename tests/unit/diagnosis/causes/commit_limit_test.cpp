// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::commit_limit {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(CommitLimit, CountsOnlyWhereItIsEnforced) {
  EvidenceOfMachine machine;
  machine.metric("memstat_commit_limit_bytes", 1000 * kMiB);
  machine.metric("memstat_committed_bytes", 980 * kMiB);
  EXPECT_EQ(machine.words(), "notable commit_limit_full") << "whether it is enforced is not known";
  machine.metric("memstat_overcommit_mode", 0);
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics.back().value = 2;
  EXPECT_EQ(machine.words(), "now commit_limit_full");
}

TEST(CommitLimit, ThatIsExceededIsNotEnforced) {
  EvidenceOfMachine machine;
  machine.metric("memstat_commit_limit_bytes", 1000 * kMiB);
  machine.metric("memstat_committed_bytes", 1100 * kMiB);
  EXPECT_EQ(machine.words(), "");
}

TEST(CommitLimit, LeavesOutWhatOnlyRootMayReserve) {
  EvidenceOfMachine machine;
  machine.metric("memstat_commit_limit_bytes", 100 * EvidenceOfMachine::kMiB);
  MetricEvidence& committed = machine.metric("memstat_committed_bytes", 80 * EvidenceOfMachine::kMiB);
  committed.value = 80 * EvidenceOfMachine::kMiB;
  machine.metric("memstat_overcommit_mode", 2);
  machine.evidence.available_bytes = 30 * EvidenceOfMachine::kMiB;
  machine.evidence.total_bytes = 0;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.total_bytes = 16 * EvidenceOfMachine::kGiB;
  machine.evidence.available_bytes = 8 * EvidenceOfMachine::kGiB;
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_committed_bytes") one.value = 90 * EvidenceOfMachine::kMiB;
  }
  EXPECT_EQ(machine.words(), "now commit_limit_full");
}

TEST(CommitLimit, ThatLeavesMostOfMemoryUnusedMayRefuse) {
  EvidenceOfMachine machine;
  machine.metric("memstat_commit_limit_bytes", 1000 * kMiB);
  machine.metric("memstat_committed_bytes", 560 * kMiB);
  machine.metric("memstat_overcommit_mode", 2);
  EXPECT_EQ(machine.words(), "notable commit_limit_full") << "8 GiB are available";
  machine.evidence.available_bytes = 600 * kMiB;
  machine.evidence.total_bytes = 4000 * kMiB;
  EXPECT_EQ(machine.words(), "");
}

TEST(CommitLimit, IsConfirmedByTheLog) {
  EvidenceOfMachine machine;
  machine.metric("memstat_commit_limit_bytes", 1000 * kMiB);
  machine.metric("memstat_committed_bytes", 400 * kMiB);
  machine.metric("memstat_overcommit_mode", 2);
  EXPECT_EQ(machine.words(), "");
  machine.metric("memstat_kernel_log_events_total", 2, {"commit_refused"}).change.recent = 2;
  EXPECT_EQ(machine.words(), "now commit_limit_full, notable refused_in_log") << "without the table";
  machine.evidence.types.push_back({.allocator = Allocator::kTable, .name = "committed"});
  EXPECT_EQ(machine.words(), "now commit_limit_full");
}

}  // namespace
}  // namespace memstat::causes::commit_limit
