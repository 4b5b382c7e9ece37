// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/holder.h"

#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

std::string_view holder_name(const EvidenceOfMachine& machine, double at_least = 0) {
  const MetricEvidence* const group = holder(machine.evidence, kKernelMemory, Holds::kNow, at_least);
  return group == nullptr ? "" : group->labels[0];
}

TEST(Holder, IsTheInnermostGroupWithMoreThanHalf) {
  EvidenceOfMachine machine;
  machine.metric(kGroupKernel, 100 * kMiB, {"/"});
  machine.metric(kGroupKernel, 80 * kMiB, {"/a.slice"});
  machine.metric(kGroupKernel, 60 * kMiB, {"/a.slice/web.service"});
  machine.metric(kGroupKernel, 20 * kMiB, {"/a.slice/web.service/worker"});
  machine.metric(kGroupKernel, 20 * kMiB, {"/b.slice"});
  EXPECT_EQ(holder_name(machine), "/a.slice/web.service");
  EXPECT_EQ(holder_name(machine, 70 * kMiB), "/a.slice") << "more was requested";
  EXPECT_EQ(holder_name(machine, 90 * kMiB), "");
}

TEST(Holder, IsNobodyWhereGroupsHaveAsMuch) {
  EvidenceOfMachine machine;
  machine.metric(kGroupKernel, 50 * kMiB, {"/a.slice"});
  machine.metric(kGroupKernel, 50 * kMiB, {"/b.slice"});
  EXPECT_EQ(holder_name(machine), "");
}

TEST(Holder, OfGrowthIsTheOneThatGrewNotTheLargest) {
  EvidenceOfMachine machine;
  machine.metric(kGroupKernel, 500 * kMiB, {"/large.slice"});
  machine.moved(kGroupKernel, 40 * kMiB, {"/small.slice"});
  Finding finding;
  name_holder(machine.evidence, kKernelMemory, Holds::kGainedLately, 10 * kMiB, finding);
  EXPECT_EQ(finding.who.at(0).name, "/small.slice");
  EXPECT_EQ(finding.facts.at(0).text, "/small.slice gained 40 MiB of kernel memory in 5 min");
}

TEST(Holder, OfAPartIsByThatPartOnly) {
  EvidenceOfMachine machine;
  machine.metric(kGroupParts, 500 * kMiB, {"/a.slice", "sock"});
  machine.metric(kGroupParts, 60 * kMiB, {"/b.slice", "shmem"});
  Finding finding;
  name_holder(machine.evidence, charge_of("shared"), Holds::kNow, kMiB, finding);
  EXPECT_EQ(finding.facts.at(0).text, "/b.slice has 60 MiB of shared memory");
  EXPECT_EQ(&charge_of("page_tables"), &kKernelMemory);
}

TEST(Holder, WhereSeveralHaveItTheyAreNamed) {
  EvidenceOfMachine machine;
  for (const char* group : {"/docker", "/docker/a", "/docker/b", "/docker/c", "/docker/d", "/docker/a/x"}) {
    machine.metric(kGroupKernel, (group == std::string_view("/docker") ? 95 : 30) * kMiB, {group});
  }
  machine.evidence.metrics[4].value = 5 * kMiB;  // /docker/d
  const auto named = [&](double at_least) {
    Finding finding;
    name_holder(machine.evidence, kKernelMemory, Holds::kNow, at_least, finding);
    std::string names;
    for (const Finding::Who& who : finding.who) names += who.name + " ";
    return names;
  };
  EXPECT_EQ(named(80 * kMiB), "/docker /docker/a /docker/b /docker/c ");
  EXPECT_EQ(named(100 * kMiB), "");
  machine.metric(kGroupKernel, 90 * kMiB, {"/system"});
  EXPECT_EQ(named(80 * kMiB), "/docker /docker/a /docker/b /docker/c ") << "a little more than half";
  machine.metric(kGroupKernel, 90 * kMiB, {"/user"});
  EXPECT_EQ(named(80 * kMiB), "/docker /system /user ");
}

}  // namespace
}  // namespace memstat
