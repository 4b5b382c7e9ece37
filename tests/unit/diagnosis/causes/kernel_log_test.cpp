// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/model/kernel_log.h"
#include "tests/support/evidence.h"

namespace memstat::causes::kernel_log {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(KernelLog, EarlierLinesAreNotNew) {
  EvidenceOfMachine machine;
  for (const char* const event :
       {"page_allocation_failure", "slab_allocation_failure", "vmalloc_failure", "memory_error", "page_pool_stalled",
        "percpu_failure", "paging_error", "audit_full", "cache_leaked", "leak_suspected", "rcu_stall", "device_held",
        "tcp_memory_full", "routes_full", "syn_queue_full"}) {
    machine.evidence.metrics.clear();
    machine.metric("memstat_kernel_log_events_total", 10 * kMiB, {event});
    EXPECT_EQ(machine.words(), "") << event;
    machine.evidence.metrics[0].change.recent = 2;
    EXPECT_EQ(machine.find().size(), 1U) << event;
  }
}

TEST(KernelLog, LinesOfTheLastMinutesBeforeTheFirstPollAreWorthAWord) {
  EvidenceOfMachine machine;
  machine.metric("memstat_kernel_log_events_total", 3, {"page_allocation_failure"});
  machine.evidence.logged = {{.event = "page_allocation_failure", .seconds_ago = 120}};
  ASSERT_EQ(machine.words(), "notable page_allocation_failed");
  EXPECT_EQ(machine.find()[0].headline, "The kernel failed to allocate pages, 2 min ago");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
}

TEST(KernelLog, AFailedAllocationHasItsSizeAndItsProgram) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"page_allocation_failure"});
  const auto headline = [&](std::string line) {
    machine.evidence.logged = {{.event = "page_allocation_failure", .subject = "a b", .line = std::move(line)}};
    return machine.find()[0].headline;
  };
  EXPECT_EQ(headline("a b: page allocation failure. order:5, mode:0xd0"),
            "The kernel failed to allocate 128 KiB in one piece (order 5) for a b");
  EXPECT_EQ(machine.find()[0].next.back(), "cat /proc/buddyinfo");
  EXPECT_EQ(headline("a b: page allocation failure: order:0, mode:0x20"), "The kernel failed to allocate a page for a b");
  EXPECT_EQ(headline("a b: page allocation failure: order:99999999999"), "The kernel failed to allocate pages");
}

TEST(KernelLog, AFailedAllocationThatCouldNotWaitIsNotForSmallPieces) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"page_allocation_failure"});
  const auto effect = [&](std::string_view mode) {
    machine.evidence.logged = {{.event = "page_allocation_failure",
                                .subject = "a",
                                .line = "a: page allocation failure: order:3, mode:" + std::string(mode)}};
    return machine.find()[0].effect;
  };
  constexpr const char* kAtomic =
      "The request could not wait until memory was reclaimed. It failed, or was repeated for "
      "smaller pieces.";
  for (const char* mode : {"0xa20(GFP_ATOMIC)", "0x800(GFP_NOWAIT), nodemask=(null)", "0x20", "0x4020", "0x2084020"}) {
    EXPECT_EQ(effect(mode), kAtomic) << mode;
  }
  for (const char* mode : {"0xcc0(GFP_KERNEL)", "0xd0", "0x24000c0", "0x1040d0", "?"}) {
    EXPECT_EQ(effect(mode).substr(0, 28), "Free memory is in smaller pi") << mode;
  }
  machine.evidence.available_bytes = 400 * kMiB;
  TypeEvidence& areas = machine.type(Allocator::kCma, "all areas");
  areas.held_bytes = 256 * kMiB;
  areas.bytes = 56 * kMiB;
  EXPECT_EQ(effect("0xa20(GFP_ATOMIC)").substr(0, 37), "200 MiB of free memory is set aside f");
  areas.bytes = 250 * kMiB;
  EXPECT_EQ(effect("0xa20(GFP_ATOMIC)"), kAtomic) << "little of it is free";
}

TEST(KernelLog, AMachineThatIsStoppedOnPurposeHasCandidates) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"nobody_to_kill"});
  machine.evidence.logged = {{.event = "nobody_to_kill", .line = "Out of memory and no killable processes..."}};
  ASSERT_EQ(machine.words(), "now no_victim");
  EXPECT_NE(machine.find()[0].effect.find("oom_score_adj"), std::string::npos);
  machine.evidence.logged[0].line = "Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled";
  ASSERT_EQ(machine.words(), "now no_victim");
  EXPECT_EQ(machine.find()[0].headline, "Memory ran out, and the machine was stopped: vm.panic_on_oom is set");
  EXPECT_EQ(machine.find()[0].effect.find("oom_score_adj"), std::string::npos);
}

TEST(KernelLog, AGroupWithoutAVictimIsAtItsLimitAndTheMachineIsNot) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"nobody_to_kill"});
  machine.evidence.logged = {
      {.event = "nobody_to_kill", .line = "Out of memory and no killable processes...", .is_of_group = true}};
  ASSERT_EQ(machine.words(), "now no_victim");
  EXPECT_EQ(machine.find()[0].headline, "A control group is at its limit, and the kernel may kill no process of it");
  EXPECT_NE(machine.find()[0].effect.find("or none of them has started yet"), std::string::npos);
  EXPECT_TRUE(machine.find()[0].next.at(1).starts_with("journalctl")) << "processes of other groups do not matter";
}

TEST(KernelLog, AVmallocRequestOfMuchMemoryIsWhyProgramsAreKilled) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"vmalloc_failure"});
  machine.moved("memstat_oom_kills_total", 1);
  const auto words_of = [&](std::string line) {
    machine.evidence.logged = {{.event = "vmalloc_failure", .line = std::move(line)}};
    return machine.words();
  };
  EXPECT_EQ(words_of("vmalloc: allocation failure, allocated 7794429952 of 7801806848 bytes"), "now vmalloc_failed");
  EXPECT_EQ(machine.find()[0].headline, "A vmalloc request for 7.3 GiB failed: memory ran out");
  EXPECT_EQ(words_of("insmod: vmalloc error: size 7801806848, page order 0, failed to allocate pages"),
            "now vmalloc_failed");
  EXPECT_NE(words_of("vmap allocation for size 37806080 failed: use vmalloc=<size>").find("machine_oom_kill"),
            std::string::npos)
      << "a range of addresses was missing";
  machine.evidence.metrics.pop_back();
  EXPECT_NE(machine.find().at(0).effect.find("lacked addresses"), std::string::npos);
  machine.moved("memstat_oom_kills_total", 1);
  EXPECT_NE(words_of("vmalloc: allocation failure, allocated 4096 of 8192 bytes").find("machine_oom_kill"),
            std::string::npos);
}

TEST(KernelLog, AFullTableOfExpectationsIsNotThatOfConnections) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 9, {"conntrack_full"});
  machine.evidence.logged = {{.event = "conntrack_full", .line = "nf_conntrack: table full, dropping packet"}};
  EXPECT_EQ(machine.words(), "now conntrack_full");
  machine.evidence.logged[0].line = "nf_conntrack: expectation table full";
  ASSERT_EQ(machine.words(), "now refused_in_log");
  EXPECT_EQ(machine.find()[0].headline, "A table of expected connections is full");
  machine.limited(Allocator::kTable, "conntrack", 995, 1000);
  EXPECT_EQ(machine.words(), "now refused_in_log, now conntrack_full") << "both are full";
}

TEST(KernelLog, ATableOfIpv6NeighboursIsAnother) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 9, {"neighbours_full"});
  machine.evidence.logged = {{.event = "neighbours_full", .line = "neighbour: arp_cache: neighbor table overflow!"}};
  EXPECT_EQ(machine.words(), "now neighbours_full");
  machine.evidence.logged[0].line = "neighbour: ndisc_cache: neighbor table overflow!";
  EXPECT_EQ(machine.words(), "now neighbours6_full");
}

TEST(KernelLog, CorrectedErrorsDoNoHarm) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 2, {"memory_error_corrected"});
  ASSERT_EQ(machine.words(), "notable memory_error");
  EXPECT_EQ(machine.find()[0].effect.find("killed"), std::string::npos);
  machine.moved("memstat_kernel_log_events_total", 1, {"memory_error"});
  EXPECT_EQ(machine.words(), "now memory_error, notable memory_error");
}

TEST(KernelLog, PastFindingsComeAfterCurrentOnes) {
  EvidenceOfMachine machine;
  machine.evidence.logged = {{.event = "page_allocation_failure", .seconds_ago = 120}};
  machine.limited(Allocator::kTable, "ptys", 950, 1000);
  EXPECT_EQ(machine.words(), "notable ptys_full, notable page_allocation_failed");
}

TEST(KernelLog, APastFindingDoesNotExplainWhatHoldsNow) {
  EvidenceOfMachine machine;
  machine.evidence.logged = {{.event = "orphans_full", .seconds_ago = 26}};
  TypeEvidence& tcp = machine.type(Allocator::kSocket, "TCP");
  tcp.bytes = 8 * kMiB;
  tcp.limit_bytes = 10 * kMiB;
  machine.metric("memstat_socket_memory_pressure", 1, {"TCP"});
  EXPECT_EQ(machine.words(), "notable tcp_pressure, notable orphans_full");
}

TEST(KernelLog, ARefusalMakesATableFullThatHasALittleRoomAgain) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 930, 1000);
  EXPECT_EQ(machine.words(), "notable open_files_full");
  machine.moved("memstat_kernel_log_events_total", 1, {"files_full"});
  EXPECT_EQ(machine.words(), "now open_files_full");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kConfirmed);
}

TEST(KernelLog, ARefusalIsNewsWhereNoTableShowsIt) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 2, {"conntrack_full"});
  EXPECT_EQ(machine.words(), "now conntrack_full");
  EXPECT_EQ(machine.find()[0].headline, "Packets were dropped: a conntrack table is full");
  machine.type(Allocator::kTable, "conntrack").objects = 5;
  EXPECT_FALSE(is_ruled_out(machine.evidence, "conntrack_full"));
  machine.evidence.types.clear();
  machine.limited(Allocator::kTable, "conntrack", 990, 1000);
  EXPECT_EQ(machine.words(), "now conntrack_full");
}

TEST(KernelLog, EveryEventOfLinuxReachesACause) {
  for (const LogEvent event : kLinuxLogEvents) {
    if (event == LogEvent::kSuppressed || event == LogEvent::kOomKill) continue;  // kills come from their counters
    EvidenceOfMachine machine;
    machine.moved("memstat_kernel_log_events_total", 2, {to_string(event)});
    EXPECT_EQ(machine.find().size(), 1U) << to_string(event);
  }
}

TEST(KernelLog, AVictimThatWasExitingWasNotKilled) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"victim_exiting"});
  machine.evidence.logged = {{.event = "victim_exiting", .seconds_ago = 1, .subject = "java"}};
  ASSERT_EQ(machine.words(), "notable no_victim");
  EXPECT_NE(machine.find()[0].headline.find("was already exiting: nothing was killed"), std::string::npos);
  EXPECT_EQ(machine.find()[0].who.at(0).name, "java");
}

TEST(KernelLog, NamesWhatALineNames) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"pids_full"});
  machine.moved("memstat_kernel_log_events_total", 1, {"cache_leaked"});
  machine.evidence.logged = {{.event = "pids_full", .seconds_ago = 1, .subject = "/a/b"},
                             {.event = "cache_leaked", .seconds_ago = 1, .subject = "i915_vma"}};
  const Findings found = machine.find();
  ASSERT_EQ(machine.words(), "now cgroup_tasks_full, notable module_leak");
  EXPECT_EQ(found[0].who[0].name, "/a/b");
  EXPECT_EQ(found[1].about[0].type, "i915_vma");
}

TEST(KernelLog, ShowsALineThatItDoesNotKnowAndAccusesNobody) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"unrecognized"});
  machine.evidence.logged = {{.event = "unrecognized", .seconds_ago = 1, .line = "xyz 1-1: cannot allocate ring"}};
  ASSERT_EQ(machine.words(), "notable unrecognized_line");
  EXPECT_EQ(machine.find()[0].headline, "The kernel's log: xyz 1-1: cannot allocate ring");
}

TEST(KernelLog, NamesTheFileSystemThatWaits) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"allocation_waits"});
  machine.evidence.logged = {{.event = "allocation_waits", .seconds_ago = 1, .subject = "XFS", .line = "XFS: x"}};
  EXPECT_EQ(machine.find().at(0).headline, "XFS waits for memory that it does not get, and repeats the request");
}

TEST(KernelLog, HugePagesThatWereMissingAtBootAreStillMissing) {
  EvidenceOfMachine machine;
  machine.metric("memstat_kernel_log_events_total", 1, {"huge_pages_refused"});
  machine.evidence.logged = {{.event = "huge_pages_refused", .seconds_ago = 86400}};
  EXPECT_EQ(machine.words(), "notable huge_pages_short");
  machine.evidence.logged = {{.event = "vmalloc_failure", .seconds_ago = 86400}};
  EXPECT_EQ(machine.words(), "");
}

TEST(KernelLog, ErrorsThatAProgramInjectedAreNoDefectiveModule) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 2, {"memory_error"});
  EXPECT_EQ(machine.words(), "now memory_error");
  machine.moved("memstat_kernel_log_events_total", 2, {"memory_error_injected"});
  EXPECT_EQ(machine.words(), "notable memory_error_injected");
}

TEST(KernelLog, ACacheOfAGroupFailsAtItsLimitOfKernelMemory) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"slab_allocation_failure"});
  machine.evidence.logged = {{.event = "slab_allocation_failure", .seconds_ago = 1, .subject = "signal_cache(632851:a1b2)"}};
  ASSERT_EQ(machine.words(), "now cgroup_kernel_limit");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "a1b2");
  machine.evidence.logged[0].subject = "signal_cache";
  EXPECT_EQ(machine.words(), "now slab_allocation_failed");
}

TEST(KernelLog, RefusingOneGroupDoesNotAffectAnother) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"pids_full"});
  machine.evidence.logged = {{.event = "pids_full", .seconds_ago = 1, .subject = "/a/b"}};
  machine.metric("memstat_memcg_tasks_limit", 60, {"/a"});
  machine.metric("memstat_memcg_tasks", 58, {"/a"});
  machine.metric("memstat_memcg_tasks_limit", 60, {"/other"});
  machine.metric("memstat_memcg_tasks", 58, {"/other"});
  EXPECT_EQ(machine.words(), "now cgroup_tasks_full, notable cgroup_tasks_full");
  EXPECT_EQ(machine.find()[0].who[0].name, "/a");
}

TEST(KernelLog, CountersOfThisNamespaceAreNearerThanALine) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 1, {"syn_queue_full"});
  EXPECT_EQ(machine.words(), "notable syn_queue_full");
  machine.moved("memstat_socket_events_total", 900, {"TCP", "TCPReqQFullDrop"});
  EXPECT_EQ(machine.words(), "now syn_queue_full");
}

TEST(KernelLog, AGroupThatIsSeenFullNeedsNoLog) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 2, {"pids_full"});
  machine.metric("memstat_memcg_tasks_limit", 60, {"/a"});
  machine.metric("memstat_memcg_tasks", 5, {"/a"});
  EXPECT_EQ(machine.find()[0].headline, "fork was refused: a control group reached its limit of tasks");
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_memcg_tasks") one.value = 60;
  }
  EXPECT_EQ(machine.words(), "now cgroup_tasks_full");
}

TEST(KernelLog, LinesThatEndedAreNotable) {
  EvidenceOfMachine machine;
  machine.moved("memstat_kernel_log_events_total", 2, {"vmalloc_failure"}).change.still = 240;
  ASSERT_EQ(machine.words(), "notable vmalloc_failed");
  EXPECT_EQ(machine.find()[0].headline, "A vmalloc request failed, 4 min ago");
}

}  // namespace
}  // namespace memstat::causes::kernel_log
