// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::bound_kill {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(BoundKill, IsIdentifiedByItsLog) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", 900 * kMiB);
  machine.evidence.kills = {{.command = "db", .constraint = "none", .group = "/db", .pid = 7, .program_bytes = 5e9}};
  EXPECT_EQ(machine.words(), "now machine_oom_kill");
  machine.evidence.kills[0].constraint = "memory_policy";
  ASSERT_EQ(machine.words(), "now numa_bound_oom");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "db (pid 7)");
  EXPECT_EQ(machine.find()[0].next.at(0), "numastat -m") << "the killed process has no memory any more";
}

TEST(BoundKill, IsAboutTheNodesOfTheOneThatAsked) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.evidence.kills = {{.command = "containerd",
                             .constraint = "cpuset",
                             .group = "/system.slice/containerd.service",
                             .pid = 7,
                             .program_bytes = 50 * kMiB,
                             .requested_by = "runc",
                             .gfp = "GFP_HIGHUSER",
                             .cpuset = "docker-1.scope",
                             .nodes = "0,4-5"}};
  Finding finding = machine.find().at(0);
  EXPECT_EQ(finding.headline, "A process was killed for lack of memory on the nodes that a cpuset allows");
  EXPECT_TRUE(finding.effect.starts_with("runc may not use memory of other nodes.")) << "the victim may";
  EXPECT_EQ(finding.effect.find("Movable"), std::string::npos);
  EXPECT_EQ(finding.next.at(1), "find /sys/fs/cgroup -path '*/docker-1.scope/cpuset.mems*' | xargs grep .");

  const auto add_zone = [&](std::string_view name) {
    TypeEvidence& zone = machine.type(Allocator::kPage, name);
    zone.free_objects = 256;
    zone.object_bytes = 4096;
  };
  add_zone("node 4 Movable");
  add_zone("node 3 Movable");
  add_zone("node 4 Normal");
  EXPECT_NE(machine.find().at(0).effect.find(
                "1 MiB on its nodes are free in zone Movable, which a request with GFP_HIGHUSER may not use."),
            std::string::npos)
      << machine.find().at(0).effect;
  machine.evidence.kills[0].gfp = "GFP_HIGHUSER_MOVABLE";
  EXPECT_EQ(machine.find().at(0).effect.find("Movable"), std::string::npos);
  machine.evidence.kills[0].cpuset = "/";
  EXPECT_EQ(machine.find().at(0).next.at(1), "cat /sys/fs/cgroup/cpuset.mems.effective");
  machine.evidence.kills[0].constraint = "memory_policy";
  EXPECT_EQ(machine.find().at(0).next.at(1), "numastat -p runc");
}

}  // namespace
}  // namespace memstat::causes::bound_kill
