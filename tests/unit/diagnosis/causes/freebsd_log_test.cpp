// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::freebsd_log {
namespace {

TEST(FreeBsdLogCauses, AKillHasTheReasonOfItsLine) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.moved("memstat_kernel_log_events_total", 2, {"oom_kill"});
  EXPECT_EQ(machine.words(), "") << "no line says why";
  for (const auto& [reason, cause] : {std::pair("failed to reclaim memory", "freebsd_oom_reclaim"),
                                      std::pair("a thread waited too long to allocate a page", "freebsd_oom_page_wait"),
                                      std::pair("out of swap space", "freebsd_oom_reclaim")}) {  // the text before 13.0
    KillEvidence kill;
    kill.command = "hog";
    kill.pid = 812;
    kill.constraint = reason;
    machine.evidence.kills = {kill};
    EXPECT_EQ(machine.words(), std::string("now ") + cause);
    EXPECT_EQ(machine.find().at(0).who.at(0).name, "hog (pid 812)");
  }
  machine.evidence.logged = {{.event = "swap_table_full", .seconds_ago = 7200}};
  EXPECT_EQ(machine.words(), "now freebsd_oom_swap_metadata");
  machine.evidence.logged.clear();
  machine.limited(Allocator::kUma, "swblk", 995, 1000);
  EXPECT_EQ(machine.find().at(0).cause, "freebsd_oom_swap_metadata");
  machine.evidence.types.clear();
  machine.evidence.metrics[0].change.recent = 0;
  EXPECT_EQ(machine.words(), "") << "kills of before";
}

TEST(FreeBsdLogCauses, TheFirstVictimIsNamedNotTheLastBystander) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.moved("memstat_kernel_log_events_total", 2, {"oom_kill"});
  KillEvidence kill;
  kill.constraint = "failed to reclaim memory";
  for (const auto& [command, pid] : {std::pair("older", 1), std::pair("prov", 2), std::pair("syslogd", 3)}) {
    kill.command = command;
    kill.pid = static_cast<std::uint64_t>(pid);
    machine.evidence.kills.push_back(kill);
  }
  const Finding finding = machine.find().at(0);
  ASSERT_EQ(finding.who.size(), 1U);
  EXPECT_EQ(finding.who[0].name, "prov (pid 2)");
}

TEST(FreeBsdLogCauses, ATableThatTheLogCallsFullIsConfirmed) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kTable, "files", 955, 1000);
  machine.moved("memstat_kernel_log_events_total", 3, {"files_full"});
  ASSERT_EQ(machine.find().size(), 1U);
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kConfirmed);
}

TEST(FreeBsdLogCauses, ARefusalIsNewsWhereItsTableIsNotFull) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.moved("memstat_kernel_log_events_total", 3, {"files_full"});
  EXPECT_EQ(machine.words(), "now refused_in_freebsd_log");
  machine.limited(Allocator::kTable, "files", 995, 1000);
  EXPECT_EQ(machine.words(), "now files_full");
}

TEST(FreeBsdLogCauses, AcceptQueuesOverflowByRate) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.evidence.recent_seconds = 60;
  MetricEvidence& drops = machine.moved("memstat_socket_events_total", 60, {"TCP", "tcps_listendrop"});
  EXPECT_EQ(machine.words(), "now accept_queue_full");
  drops.change.recent = 2;
  EXPECT_EQ(machine.words(), "") << "a few are lost on healthy machines";
}

TEST(FreeBsdLogCauses, QueuesOfUnixSocketsAndZonesAreOnlyInTheLog) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.moved("memstat_kernel_log_events_total", 1, {"accept_queue_full"});
  EXPECT_EQ(machine.words(), "now refused_in_freebsd_log");
  machine.moved("memstat_socket_events_total", 600, {"TCP", "tcps_listendrop"});
  EXPECT_EQ(machine.words(), "now accept_queue_full") << "by its counter";
  machine.evidence.metrics.clear();
  machine.moved("memstat_kernel_log_events_total", 1, {"zone_full"});
  machine.evidence.logged = {{.event = "zone_full", .subject = "mbuf", .line = "[zone: mbuf] x", .has_time = false}};
  ASSERT_EQ(machine.words(), "now refused_in_freebsd_log");
  EXPECT_EQ(machine.find()[0].headline, "Zone mbuf was at its limit");
  EXPECT_EQ(machine.find()[0].about.at(0).type, "mbuf");
  machine.limited(Allocator::kUma, "mbuf", 995, 1000);
  EXPECT_EQ(machine.words(), "now mbuf_limit") << "by its figures";
}

TEST(FreeBsdLogCauses, AZoneThatAModuleLeftIsNotable) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.moved("memstat_kernel_log_events_total", 1, {"cache_leaked"});
  machine.evidence.logged = {{.event = "cache_leaked", .subject = "tmpfs node", .line = "Freed", .has_time = false}};
  ASSERT_EQ(machine.words(), "notable refused_in_freebsd_log");
  EXPECT_EQ(machine.find()[0].headline, "Zone tmpfs node was destroyed with items in it");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "tmpfs node");
}

TEST(FreeBsdLogCauses, WhatHasPausedIsBelowWhatIsFullNow) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.evidence.poll_seconds = 10;
  machine.limited(Allocator::kTable, "sockets", 1000, 1000);
  MetricEvidence& lines = machine.moved("memstat_kernel_log_events_total", 4, {"accept_queue_full"});
  EXPECT_EQ(machine.words(), "now refused_in_freebsd_log, now sockets_full");
  lines.change.still = 20;
  EXPECT_EQ(machine.words(), "now sockets_full, now refused_in_freebsd_log");
}

TEST(FreeBsdLogCauses, FullSwapHasTheLineOfTheLogAndIsExplainedByAKill) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.metric("memstat_swap_total_bytes", 1000);
  machine.metric("memstat_swap_free_bytes", 10);
  machine.moved("memstat_kernel_log_events_total", 4, {"swap_full"});
  machine.evidence.logged = {{.event = "swap_full", .line = "swp_pager_getswapspace(26): failed", .has_time = false}};
  ASSERT_EQ(machine.words(), "now swap_full") << "although memory is left";
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kConfirmed);
  EXPECT_EQ(machine.find()[0].facts.at(1).text, "\"swp_pager_getswapspace(26): failed\"");
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_swap_free_bytes") one.value = 900;
  }
  ASSERT_EQ(machine.words(), "now swap_full");
  EXPECT_EQ(machine.find()[0].headline, "Swap was full");
  machine.moved("memstat_kernel_log_events_total", 1, {"oom_kill"});
  KillEvidence kill;
  kill.constraint = "failed to reclaim memory";
  machine.evidence.kills = {kill};
  ASSERT_EQ(machine.words(), "now freebsd_oom_reclaim");
  EXPECT_EQ(machine.find()[0].explains, std::vector<std::string>{"Swap was full"});
}

TEST(FreeBsdLogCauses, ALineThatIsNotKnownIsShown) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.moved("memstat_kernel_log_events_total", 1, {"unrecognized"});
  machine.evidence.logged = {{.event = "unrecognized", .line = "mps0: cannot allocate request", .has_time = false}};
  ASSERT_EQ(machine.words(), "notable refused_in_freebsd_log");
  EXPECT_EQ(machine.find()[0].headline, "The kernel's log: mps0: cannot allocate request");
}

TEST(FreeBsdLogCauses, TheSynCacheIsNotable) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.evidence.recent_seconds = 60;
  machine.moved("memstat_socket_events_total", 600, {"TCP", "tcps_sc_cacheoverflow"});
  EXPECT_EQ(machine.words(), "notable syn_cache_full");
  machine.evidence.metrics.clear();
  machine.moved("memstat_socket_events_total", 600, {"TCP", "tcps_rcvreassfull"});
  EXPECT_EQ(machine.words(), "notable tcp_segments_waiting_full");
  machine.evidence.metrics.clear();
  machine.moved("memstat_socket_events_total", 600, {"TCP", "tcps_sc_zonefail"});
  EXPECT_EQ(machine.words(), "now syn_cache_no_memory");
}

}  // namespace
}  // namespace memstat::causes::freebsd_log
