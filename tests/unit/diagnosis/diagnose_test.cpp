// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/diagnose.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/base/text.h"
#include "core/diagnosis/words.h"
#include "tests/support/evidence.h"

namespace memstat {
namespace {

TEST(Diagnose, EveryCauseHasWordsAndANameOfItsOwn) {
  std::set<std::string_view> names;
  for_each_cause([&](const Cause& cause) {
    EXPECT_TRUE(names.insert(cause.name).second) << cause.name << " is there twice";
    EXPECT_FALSE(cause.looks_for.empty()) << cause.name;
    EXPECT_NE(cause.look, nullptr) << cause.name;
    for (const std::string_view other : cause.explains) EXPECT_NE(find_cause(other), nullptr) << other;
  });
  EXPECT_GE(names.size(), 90U);
}

TEST(Diagnose, AnEmptyMachineHasNoFindingAndNamesWhatIsMissing) {
  const Evidence evidence;
  const Diagnosis diagnosis = diagnose(evidence);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_GT(diagnosis.not_checked.size(), 50U);
  EXPECT_EQ(diagnosis.not_checked[0].why.find("is not available") == std::string::npos, false);
}

TEST(Diagnose, APrivilegeIsNamedForWhatItsSourceGives) {
  Evidence evidence;
  evidence.sources.push_back({.name = "linux_slabinfo", .error = {}, .needs = "CAP_A", .allocator = Allocator::kSlab});
  evidence.sources.push_back(
      {.name = "linux_kernel_log", .error = {}, .needs = "CAP_B", .metrics = {"memstat_kernel_log_events_total"}});
  std::map<std::string, std::string> why;
  for (const NotChecked& one : diagnose(evidence).not_checked) why[one.cause] = one.why;
  EXPECT_EQ(why["slab_fragmented"], "slab/* is not available; memstatd lacks CAP_A for linux_slabinfo");
  EXPECT_EQ(why["page_allocation_failed"],
            "memstat_kernel_log_events_total is not available; memstatd lacks CAP_B for linux_kernel_log");
  EXPECT_EQ(why["cgroup_tasks_full"], "memstat_memcg_tasks_limit is not available");
}

TEST(Diagnose, WhatFailsComesBeforeWhatWillAndTheLargerBeforeTheSmaller) {
  EvidenceOfMachine machine;
  machine.part("page_tables", EvidenceOfMachine::kGiB);
  machine.part("vmalloc", 2 * EvidenceOfMachine::kGiB);
  machine.growing("slab", "mine", 2e9, 1e9, 7000).memory_seconds = 7000;
  machine.growing("slab", "yours", 2e9, 1e9, 7000).memory_seconds = 6000;
  machine.limited(Allocator::kTable, "ptys", 10, 10);
  EXPECT_EQ(machine.words(),
            "now ptys_full, soon slab_leak, soon slab_leak, notable vmalloc_large, notable page_tables_large");
  EXPECT_EQ(machine.find()[1].about.at(0).type, "yours");
}

TEST(Diagnose, TheSameEvidenceGivesTheSameAnswer) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "ptys", 10, 10);
  machine.limited(Allocator::kTable, "files", 10, 10);
  EXPECT_EQ(machine.words(), machine.words());
}

TEST(Diagnose, GrowthOfAPartIsTheCauseOfItsSize) {
  EvidenceOfMachine machine;
  machine.metric("memstat_unaccounted_bytes", 3 * EvidenceOfMachine::kGiB);
  machine.growing("account", "unaccounted", 3e9, 2e9, 300).memory_seconds = 90;
  machine.evidence.uptime_seconds = 600;
  ASSERT_EQ(machine.words(), "wasteful unaccounted_growth") << "which may be start-up, but the memory is gone";
  EXPECT_EQ(machine.find()[0].explains.size(), 1U);
  machine.growing("slab", "skbuff_small_head", 1e9, 1e9, 300);
  machine.moved("memstat_memcg_kernel_bytes", 2e9, {"/docker"});
  EXPECT_EQ(machine.words(), "wasteful packets_held") << "the same in the words of who holds it";
}

TEST(Diagnose, ALevelThatExplainsTheGrowthStaysFirst) {
  EvidenceOfMachine machine;
  machine.part("slab_reclaimable", 0);
  machine.part("slab_unreclaimable", 2 * EvidenceOfMachine::kGiB);
  machine.evidence.slab_held_bytes = 1e6;
  machine.growing("account", "slab_unreclaimable", 2e9, 1e9, 300);
  EXPECT_EQ(machine.words(), "notable kmalloc_large");
}

TEST(Diagnose, APartWithANameOfItsOwnComesBeforeGrowthInGeneral) {
  EvidenceOfMachine machine;
  machine.part("zsmalloc", 0.4 * machine.evidence.total_bytes);
  machine.evidence.available_bytes = 0.02 * machine.evidence.total_bytes;
  machine.growing("account", "zsmalloc", 0.4 * machine.evidence.total_bytes, 2e9, 300);
  const Findings found = machine.find();
  const auto place_of = [&](std::string_view cause) {
    return std::find_if(found.begin(), found.end(), [&](const Finding& one) { return one.cause == cause; });
  };
  EXPECT_NE(place_of("compressed_large"), found.end());
  EXPECT_EQ(place_of("memory_growth"), found.end()) << "which compressed_large explains";
}

TEST(Words, AreForPeople) {
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
  EXPECT_EQ(counted(0, "poll"), "0 polls");
}

TEST(Words, NamesInCommandsAreOneWordOfAShell) {
  EXPECT_EQ(shell_word("/system.slice/docker-0f.scope"), "/system.slice/docker-0f.scope");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("x';reboot;'"), R"('x'\'';reboot;'\''')");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(shell_word("gr\xc3\xbc"), "'gr\xc3\xbc'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Words, LongNamesLoseTheirMiddleAndNoCharacterIsCut) {
  EXPECT_EQ(short_name("/kubepods/burstable/pod-1234/container", 20).size(), 20U);
  EXPECT_EQ(short_name("/a", 20), "/a");
  const std::string umlauts = "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4";
  EXPECT_EQ(find_invalid_utf8(short_name(umlauts, 12)), short_name(umlauts, 12).size());
  EXPECT_EQ(find_invalid_utf8(cut_text(umlauts, 12)), cut_text(umlauts, 12).size());
}

}  // namespace
}  // namespace memstat
