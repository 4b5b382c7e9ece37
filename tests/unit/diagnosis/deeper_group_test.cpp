// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/deeper_group.h"

#include <gtest/gtest.h>

#include "core/diagnosis/culprits.h"
#include "core/diagnosis/holder.h"
#include "tests/support/evidence.h"

namespace memstat {
namespace {

Holder in_pod(std::string group, std::uint64_t bytes) {
  return {.pid = 7, .command = "java", .user = {}, .group = std::move(group), .name = {}, .count = {}, .bytes = bytes};
}

/// A leak that is charged to a group of which nothing deeper is read.
EvidenceOfMachine leaking_pods(std::vector<Holder> processes) {
  EvidenceOfMachine machine;
  machine.growing("slab", "kmalloc-cg-512", 9e7, 8e7, 300);
  machine.metric(kGroupKernel, 9e7, {"/kubepods/besteffort"}).change.recent = 8e7;
  machine.evidence.inspections = {answer_to("anonymous", std::move(processes))};
  machine.evidence.inspections[0].things = "of anonymous memory";
  return machine;
}

std::string groups_of(const Finding& finding) {
  std::string groups;
  for (const Finding::Who& one : finding.who) groups += (groups.empty() ? "" : " ") + one.name;
  return groups;
}

TEST(DeeperGroup, TheOnlyContainerIsNamed) {
  const EvidenceOfMachine machine =
      leaking_pods({in_pod("/kubepods/besteffort/pod1/a", 10), in_pod("/kubepods/besteffort/pod1/a", 20),
                    in_pod("/kubepods/burstable/pod2/b", 10), in_pod("/system.slice", 500)});
  EXPECT_EQ(groups_of(diagnose(machine.evidence).findings.at(0)), "/kubepods/besteffort /kubepods/besteffort/pod1/a");
}

TEST(DeeperGroup, ManyOfWhichNoneStandsOutAreNotNamed) {
  std::vector<Holder> processes;
  for (const char* pod : {"1", "2", "3", "4"})
    processes.push_back(in_pod("/kubepods/besteffort/pod" + std::string(pod), 10));
  EXPECT_EQ(groups_of(diagnose(leaking_pods(processes).evidence).findings.at(0)), "/kubepods/besteffort");
  processes.pop_back();
  EXPECT_EQ(diagnose(leaking_pods(processes).evidence).findings.at(0).who.size(), 4U) << "three are few";
}

TEST(DeeperGroup, TheContainerThatHoldsMostIsNamedAmongMany) {
  EvidenceOfMachine machine;
  machine.metric(kGroupEvents, 200, {"/kubepods/burstable", "high"}).change.recent = 100;
  machine.metric(kGroupStalls, 90, {"/kubepods/burstable", "full"}).change = {.recent = 90, .last = 9};
  machine.evidence.poll_seconds = 10;
  machine.evidence.inspections = {
      answer_to("anonymous", {in_pod("/kubepods/burstable/pod2/b", 900), in_pod("/kubepods/burstable/pod1/a", 100),
                              in_pod("/kubepods/burstable/pod3/c", 90), in_pod("/kubepods/burstable/pod4/d", 80)})};
  machine.evidence.inspections[0].things = "of anonymous memory";
  const Finding finding = diagnose(machine.evidence).findings.at(0);
  ASSERT_EQ(finding.cause, "cgroup_throttled");
  EXPECT_EQ(groups_of(finding), "/kubepods/burstable /kubepods/burstable/pod2/b");
}

TEST(DeeperGroup, AFindingThatNamesAGroupAsksForTheProcesses) {
  const EvidenceOfMachine machine = leaking_pods({});
  const std::vector<std::string_view> questions = questions_of(diagnose(machine.evidence).findings);
  EXPECT_NE(std::find(questions.begin(), questions.end(), "anonymous"), questions.end());
}

Holder row(std::string group, const char* name, std::optional<std::uint64_t> count, std::optional<std::uint64_t> bytes,
           std::optional<std::uint64_t> limit = {}) {
  return {.pid = 0,
          .command = {},
          .user = {},
          .group = std::move(group),
          .name = name,
          .count = count,
          .bytes = bytes,
          .limit = limit};
}

TEST(DeeperGroup, TheGroupWithMostOfTheSameChargeIsNamed) {
  EvidenceOfMachine machine = leaking_pods({});
  machine.evidence.inspections.push_back(
      answer_to("groups", {row("/kubepods/besteffort/pod1/a", "program memory", {}, 900000000),
                           row("/kubepods/besteffort/pod2/b", "kernel memory", {}, 80000000),
                           row("/kubepods/besteffort/pod1/a", "kernel memory", {}, 7000000)}));
  EXPECT_EQ(groups_of(diagnose(machine.evidence).findings.at(0)), "/kubepods/besteffort /kubepods/besteffort/pod2/b");
}

TEST(DeeperGroup, LimitsThatThePollDoesNotReadAreFound) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("group-limits", {row("/kubepods/a/b", "tasks", 95, {}, 100)})};
  EXPECT_EQ(machine.words(), "notable cgroup_tasks_full");
  machine.evidence.inspections[0].holders[0].count = 100;
  ASSERT_EQ(machine.words(), "now cgroup_tasks_full");
  EXPECT_EQ(machine.find()[0].headline, "Control group /kubepods/a/b is at its limit of tasks: 100 of 100");
  EXPECT_EQ(machine.find()[0].next.at(0), "cat /sys/fs/cgroup/kubepods/a/b/pids.max");
  EXPECT_EQ(machine.find()[0].facts.back().text, "100 % of its limit");
  machine.evidence.inspections[0].is_cut = true;
  machine.evidence.inspections[0].parts = "control groups";
  machine.evidence.inspections[0].seen = 30;
  machine.evidence.inspections[0].total = 400;
  EXPECT_EQ(machine.find()[0].facts.back().text, "examined: 30 of 400 control groups") << "others may be fuller";
  machine.metric("memstat_memcg_tasks_limit", 100, {"/kubepods/a/b"});
  EXPECT_EQ(machine.words(), "") << "it is read, and no longer full";
  machine.evidence.inspections = {
      answer_to("group-limits", {row("/kubepods/a/c", "memory", 950, {}, 1000), row("/kubepods/a/c", "swap", 970, {}, 1000),
                                 row("/docker/a", "waits without memory", 1, {})})};
  EXPECT_EQ(machine.words(), "now cgroup_oom_off, notable cgroup_swap_full");
}

TEST(DeeperGroup, OfAnyNumberOfFindingsTheMostUrgentThousandAreKept) {
  EvidenceOfMachine machine;
  std::vector<Holder> rows;
  for (int i = 0; i < 4000; ++i) rows.push_back(row(std::string("/pods/").append(std::to_string(i)), "tasks", 95, {}, 100));
  rows.push_back(row("/full", "tasks", 100, {}, 100));
  machine.evidence.inspections = {answer_to("group-limits", std::move(rows))};
  const Findings found = machine.find();
  EXPECT_EQ(found.size(), kMaxFindings);
  EXPECT_EQ(found.at(0).headline, "Control group /full is at its limit of tasks: 100 of 100");
}

}  // namespace
}  // namespace memstat
