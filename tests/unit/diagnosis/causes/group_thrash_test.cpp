// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::group_thrash {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(GroupThrash, NeedsRefaultsAndStalls) {
  EvidenceOfMachine machine;
  machine.moved("memstat_memcg_refaulted_pages_total", 90000, {"/a", "file"});
  EXPECT_EQ(machine.words(), "") << "no program waited";
  MetricEvidence& waits = machine.moved("memstat_memcg_pressure_stall_seconds_total", 45, {"/a", "some"});
  EXPECT_EQ(machine.words(), "notable cgroup_thrash") << "as of a bounded backup";
  waits.change.recent = 90;
  EXPECT_EQ(machine.words(), "wasteful cgroup_thrash");
  machine.moved("memstat_memcg_pressure_stall_seconds_total", 70, {"/a", "full"});
  EXPECT_EQ(machine.words(), "now cgroup_thrash");
}

TEST(GroupThrash, ThatHasEndedIsIgnored) {
  EvidenceOfMachine machine;
  machine.moved("memstat_memcg_refaulted_pages_total", 90000, {"/a", "file"});
  MetricEvidence& waits = machine.moved("memstat_memcg_pressure_stall_seconds_total", 90, {"/a", "some"});
  machine.evidence.poll_seconds = 10;
  EXPECT_EQ(machine.words(), "");
  waits.change.last = 2;
  EXPECT_EQ(machine.words(), "wasteful cgroup_thrash");
}

TEST(GroupThrash, WithoutALimitOnAMachineThatIsShortIsTheMachines) {
  EvidenceOfMachine machine;
  machine.moved("memstat_memcg_refaulted_pages_total", 90000, {"/a", "file"});
  machine.moved("memstat_memcg_pressure_stall_seconds_total", 90, {"/a", "some"});
  machine.evidence.available_bytes = 0.1 * machine.evidence.total_bytes;
  EXPECT_EQ(machine.words().find("cgroup_thrash"), std::string::npos) << machine.words();
  machine.type(Allocator::kMemcg, "/").limit_bytes = 0.1 * machine.evidence.total_bytes;
  EXPECT_NE(machine.words().find("cgroup_thrash"), std::string::npos) << machine.words();
}

TEST(GroupThrash, IsOfTheInnermostGroupAndExplainsTheMachines) {
  EvidenceOfMachine machine;
  for (const char* const group : {"/a", "/a/b"}) {
    machine.moved("memstat_memcg_refaulted_pages_total", 600000, {group, "file"});
    machine.moved("memstat_memcg_pressure_stall_seconds_total", 90, {group, "some"});
    machine.moved("memstat_memcg_pressure_stall_seconds_total", 90, {group, "full"});
  }
  machine.moved("memstat_refaulted_pages_total", 600000, {"file"});
  machine.moved("memstat_pressure_stall_seconds_total", 90, {"full"});
  machine.part("page_cache", kMiB);
  ASSERT_EQ(machine.words(), "now cgroup_thrash");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/a/b");
}

}  // namespace
}  // namespace memstat::causes::group_thrash
