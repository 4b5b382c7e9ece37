// SPDX-License-Identifier: BSD-2-Clause
// Why a process was killed, and what would have prevented it: only what the evidence shows.
#include "core/diagnosis/kill_words.h"

#include "tests/support/evidence.h"

namespace memstat::kill_words {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;
constexpr double kGiB = EvidenceOfMachine::kGiB;

KillEvidence kill_of(std::string_view command, std::uint64_t pid, double bytes) {
  KillEvidence kill;
  kill.command = command;
  kill.pid = pid;
  kill.program_bytes = bytes;
  return kill;
}

std::string decision(const KillEvidence& kill) {
  Finding finding;
  add_decision(kill, finding);
  return finding.facts.at(0).text;
}

TEST(KillWords, SharedMemoryIsNamedIfItIsMore) {
  KillEvidence kill = kill_of("qemu", 7, 20 * kMiB);
  kill.shared_bytes = kMiB;
  EXPECT_EQ(memory_words(kill), " with 20 MiB of program memory");
  kill.shared_bytes = 98 * kMiB;
  EXPECT_EQ(memory_words(kill), " with 20 MiB of program memory and 98 MiB of shared memory");
  EXPECT_EQ(memory_words(kill_of("httpd", 7, 0)), "") << "not in the log of old kernels";
}

TEST(KillWords, HaveTheReasonOfTheKernel) {
  KillEvidence kill = kill_of("db", 7, kGiB);
  kill.requested_by = "httpd";
  kill.gfp = "GFP_KERNEL";
  EXPECT_EQ(decision(kill), "the kernel decided it because it found no memory for httpd (GFP_KERNEL) on the whole machine");
  kill.piece_bytes = 16384;
  EXPECT_TRUE(decision(kill).ends_with("it found no 16 KiB in one piece for httpd (GFP_KERNEL) on the whole machine"))
      << decision(kill);
  kill.piece_bytes = 0;
  kill.score = 371;
  kill.oom_score_adj = -5;
  EXPECT_TRUE(decision(kill).ends_with("; its score was 371, its oom_score_adj was -5")) << decision(kill);
  kill.score = kill.oom_score_adj = {};
  kill.constraint = "cpuset";
  kill.cpuset = "hpc.slice";
  kill.nodes = "1";
  EXPECT_EQ(
      decision(kill),
      "the kernel decided it because it found no memory for httpd (GFP_KERNEL) on the nodes of cpuset hpc.slice (nodes 1)");
  kill.constraint = "memory_policy";
  EXPECT_TRUE(decision(kill).ends_with("on the nodes that a memory policy allows (nodes 1)")) << decision(kill);
  kill.constraint = "none";
  kill.is_of_fault = true;
  EXPECT_NE(decision(kill).find("a page fault got no memory"), std::string::npos);
  kill.had_asked = true;
  EXPECT_NE(decision(kill).find("vm.oom_kill_allocating_task"), std::string::npos);
  kill.is_of_group = true;
  kill.limit_group = "/pod";
  kill.limit_bytes = 64 * kMiB;
  EXPECT_EQ(decision(kill), "the kernel decided it because group /pod was at its limit of 64 MiB");
  kill.is_requested = true;
  EXPECT_EQ(decision(kill), "the kernel decided it because somebody requested it (SysRq f)");
}

TEST(KillWords, NameWhoHeldMoreAndWasNotKilled) {
  KillEvidence kill = kill_of("java", 9, kGiB);
  kill.other =
      TaskEvidence{.command = "mysqld", .pid = 28, .resident_bytes = 3 * kGiB, .swap_bytes = kGiB, .oom_score_adj = -800};
  Finding finding;
  add_decision(kill, finding);
  EXPECT_EQ(
      finding.facts.at(1).text,
      "the largest process that was not killed was mysqld (pid 28) with 3 GiB and 1 GiB of swap, more than the victim; "
      "its oom_score_adj was -800");
  ASSERT_EQ(finding.who.size(), 1U);
  EXPECT_EQ(finding.who[0].name, "mysqld (pid 28)");
  kill.program_bytes = 5 * kGiB;
  Finding smaller;
  add_decision(kill, smaller);
  EXPECT_TRUE(smaller.who.empty()) << "it held less";
  EXPECT_EQ(smaller.facts.at(1).text.find("more than the victim"), std::string::npos);
}

TEST(KillWords, ALimitIsRaisedAboveThePeakAndOnlyWhereTheMachineHasRoom) {
  EvidenceOfMachine machine;
  KillEvidence kill = kill_of("stress", 31050, 59 * kMiB);
  kill.is_of_group = true;
  GroupAtLimit group{.group = "/pod", .limit_bytes = 64 * kMiB, .kill = &kill};
  EXPECT_EQ(
      prevention_at_limit(machine.evidence, group),
      "What would have prevented it: a limit above 64 MiB, or less memory for the victim, which held 59 MiB of 64 MiB.");
  EXPECT_EQ(wider_limit_mib(machine.evidence, group), 96U);
  machine.metric(kGroupPeak, 500 * kMiB, {"/other"});
  EXPECT_EQ(wider_limit_mib(machine.evidence, group), 96U);
  machine.metric(kGroupPeak, 100 * kMiB + 1, {"/pod"});
  EXPECT_EQ(wider_limit_mib(machine.evidence, group), 101U) << "at least the peak";
  EXPECT_NE(prevention_at_limit(machine.evidence, group).find("a limit above the 100 MiB that the group has had at most"),
            std::string::npos);
  kill.program_bytes = kMiB;
  EXPECT_EQ(prevention_at_limit(machine.evidence, group).find("less memory"), std::string::npos)
      << "the victim was a small part of it";
  machine.evidence.available_bytes = 20 * kMiB;
  EXPECT_EQ(prevention_at_limit(machine.evidence, group),
            "A higher limit alone would have moved the shortage to the machine, which had 19 MiB available.");
  group.limit_bytes = 0;
  EXPECT_EQ(prevention_at_limit(machine.evidence, group), "") << "the limit is not known";
}

TEST(KillWords, OnTheMachineSwapIsAdvisedOnlyIfThereIsNoneOrItIsFull) {
  EvidenceOfMachine machine;
  machine.evidence.available_bytes = kGiB;
  const KillEvidence kill = kill_of("java", 9, 10 * kGiB);
  const std::string less = "What would have prevented it: less memory for the victim, which held 10 GiB of 16 GiB";
  EXPECT_EQ(prevention_on_machine(machine.evidence, kill), less + ".") << "nothing is known about swap";
  machine.metric(kSwapTotal, 0);
  machine.metric(kSwapFree, 0);
  EXPECT_EQ(prevention_on_machine(machine.evidence, kill), less + ", or swap, of which this machine has none.");
  for (MetricEvidence& one : machine.evidence.metrics) one.value = one.metric == kSwapTotal ? 2 * kGiB : 1.5 * kGiB;
  EXPECT_EQ(prevention_on_machine(machine.evidence, kill), less + ".") << "most of the swap is free";
  for (MetricEvidence& one : machine.evidence.metrics) one.value = one.metric == kSwapTotal ? 2 * kGiB : 0.1 * kGiB;
  EXPECT_EQ(prevention_on_machine(machine.evidence, kill), less + ", or more swap, since the 2 GiB were in use.");
}

TEST(KillWords, MemoryThatNoProgramHeldIsNeitherSwappedNorBlamedOnTheVictim) {
  EvidenceOfMachine machine;
  machine.evidence.available_bytes = kGiB;
  machine.metric(kSwapTotal, 0);
  machine.metric(kSwapFree, 0);
  machine.part("slab_unreclaimable", 9 * kGiB);
  const KillEvidence kill = kill_of("sshd", 9, 5 * kMiB);
  const std::string text = prevention_on_machine(machine.evidence, kill);
  EXPECT_NE(text.find("Kernel objects (unreclaimable slab), which held 9 GiB of 16 GiB."), std::string::npos) << text;
  EXPECT_EQ(text.find("swap"), std::string::npos) << text;
  for (MetricEvidence& one : machine.evidence.metrics) one.value = 0;
  EXPECT_EQ(prevention_on_machine(machine.evidence, kill_of("sshd", 9, kMiB)), "") << "nothing is large";
}

TEST(KillWords, ARequestOrAFaultIsNotPreventedByMemory) {
  EvidenceOfMachine machine;
  KillEvidence kill = kill_of("java", 9, 10 * kGiB);
  kill.is_requested = true;
  EXPECT_EQ(prevention_on_machine(machine.evidence, kill), "");
  kill.is_requested = false;
  kill.is_of_fault = true;
  EXPECT_EQ(prevention_on_machine(machine.evidence, kill), "");
  kill.is_of_fault = false;
  kill.had_asked = true;
  EXPECT_TRUE(prevention_on_machine(machine.evidence, kill)
                  .ends_with("With vm.oom_kill_allocating_task=0 the kernel chooses by size, and not the one that asks."));
}

TEST(KillWords, MoreNodesAreAdvisedOnlyIfOthersHadMemory) {
  EvidenceOfMachine machine;
  KillEvidence kill = kill_of("hpc", 5001, kGiB);
  kill.constraint = "cpuset";
  kill.cpuset = "hpc.slice";
  kill.nodes = "1";
  EXPECT_EQ(prevention_on_nodes(machine.evidence, kill),
            "What would have prevented it: more nodes in cpuset.mems of hpc.slice (nodes 1): 7 GiB were available on the "
            "machine.");
  machine.evidence.available_bytes = 1.1 * kGiB;
  EXPECT_EQ(prevention_on_nodes(machine.evidence, kill), "") << "the victim's memory is part of what is available now";
}

}  // namespace
}  // namespace memstat::kill_words
