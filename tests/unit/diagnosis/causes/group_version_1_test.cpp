// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::group_version_1 {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(GroupVersion1, SaysWhatWaitsAndWhatFails) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_oom_waiting", 0, {"/a"});
  machine.metric("memstat_memcg_kernel_limit_hits_total", 900, {"/a"});
  EXPECT_EQ(machine.words(), "") << "hits of long ago";
  machine.evidence.metrics.clear();
  machine.metric("memstat_memcg_oom_waiting", 1, {"/b"});
  EXPECT_EQ(machine.words(), "now cgroup_oom_off");
  machine.moved("memstat_memcg_kernel_limit_hits_total", kMiB / kMiB, {"/a"});
  EXPECT_EQ(machine.find().size(), 2U);
}

}  // namespace
}  // namespace memstat::causes::group_version_1
