// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::kernel_trouble {
namespace {

TEST(KernelTrouble, ReportsThatMove) {
  EvidenceOfMachine machine;
  MetricEvidence& oops = machine.metric("memstat_kernel_reports_total", 3, {"oops"});
  EXPECT_EQ(machine.words(), "notable kernel_oops") << "the damage lasts until the next boot";
  oops.change.recent = 1;
  EXPECT_EQ(machine.words(), "now kernel_oops");
  EvidenceOfMachine warned;
  warned.metric("memstat_kernel_reports_total", 3, {"warning"});
  EXPECT_EQ(warned.words(), "") << "before the first poll";
  warned.evidence.metrics.clear();
  warned.moved("memstat_kernel_reports_total", 1, {"warning"});
  EXPECT_EQ(warned.words(), "notable kernel_warning");
}

TEST(KernelTrouble, StatesThatStayUntilAReboot) {
  for (const auto& [words, metric, label] : {std::tuple("now bad_page", "memstat_kernel_tainted", "bad_page"),
                                             std::tuple("now machine_check", "memstat_kernel_tainted", "machine_check"),
                                             std::tuple("now checker_bug", "memstat_checker_bugs_total", "kfence")}) {
    EvidenceOfMachine machine;
    MetricEvidence& state = machine.metric(metric, 0, {label});
    EXPECT_EQ(machine.words(), "");
    state.value = 1;
    EXPECT_EQ(machine.words(), words);
  }
}

TEST(KernelTrouble, OfFreeBsd) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  TypeEvidence& vnodes = machine.limited(Allocator::kTable, "vnodes", 1000, 1000);
  EXPECT_EQ(machine.words(), "") << "the maximum number of vnodes is normal";
  vnodes.sleeps.recent = 5;
  EXPECT_EQ(machine.words(), "notable vnode_waits");
  vnodes.sleeps = {.total = 5};
  EXPECT_EQ(machine.words(), "now vnode_waits") << "between two waits";
  vnodes.objects = 100;
  vnodes.limit_used = 0.1;
  EXPECT_EQ(machine.words(), "") << "those of before";
  EvidenceOfMachine other(EvidenceSystem::kFreeBsd);
  other.limited(Allocator::kTable, "kmem", 11, 10);
  EXPECT_EQ(other.words(), "notable kmem_soft_limit");
}

}  // namespace
}  // namespace memstat::causes::kernel_trouble
