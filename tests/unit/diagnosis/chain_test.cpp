// SPDX-License-Identifier: BSD-2-Clause
// Of causes that are true together, the one that leads to the other is told first.
#include <gtest/gtest.h>

#include "core/diagnosis/holder.h"
#include "tests/support/evidence.h"

namespace memstat {
namespace {

constexpr double kGiB = EvidenceOfMachine::kGiB;

void add_stalls(EvidenceOfMachine& machine) {
  machine.moved("memstat_pressure_stall_seconds_total", 150, {"some"});
  machine.moved("memstat_pressure_stall_seconds_total", 60, {"full"});
}
void add_direct(EvidenceOfMachine& machine) { machine.moved("memstat_allocation_stalls_total", 90000); }
void add_group(EvidenceOfMachine& machine) {
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/app");
  group.bytes = 99 * EvidenceOfMachine::kMiB;
  group.limit_bytes = 100 * EvidenceOfMachine::kMiB;
  group.sleeps.recent = 50;
  machine.metric(kGroupAnonymous, 97 * EvidenceOfMachine::kMiB, {"/app"}).change.recent = 40 * EvidenceOfMachine::kMiB;
}
void add_group_stalls(EvidenceOfMachine& machine) {
  for (const char* const kind : {"some", "full"}) {
    machine.moved(kGroupStalls, 120, {"/app", kind}).change.last = 5;
  }
}

TypeEvidence& tcp_of(EvidenceOfMachine& machine) {
  for (TypeEvidence& type : machine.evidence.types) {
    if (type.name == "TCP") return type;
  }
  TypeEvidence& tcp = machine.type(Allocator::kSocket, "TCP");
  tcp.bytes = kGiB;
  return tcp;
}

/// Makes a machine where the cause is true.
struct Trouble {
  std::string_view cause;
  void (*add)(EvidenceOfMachine& machine);
};
constexpr Trouble kTroubles[] = {
    {"cgroup_oom_kill",
     [](EvidenceOfMachine& machine) {
       machine.evidence.types[0].failures.recent = 1;
       machine.moved("memstat_memcg_events_total", 1, {"/app", "oom"});
       machine.moved("memstat_memcg_events_total", 1, {"/app", "oom_kill"});
       machine.moved("memstat_oom_kills_total", 1);
     }},
    {"machine_oom_kill", [](EvidenceOfMachine& machine) { machine.moved("memstat_oom_kills_total", 1); }},
    {"memory_low", [](EvidenceOfMachine& machine) { machine.evidence.available_bytes = 0.01 * kGiB; }},
    {"anonymous_growth",
     [](EvidenceOfMachine& machine) { machine.growing("account", "anonymous", 9 * kGiB, kGiB, 300).memory_seconds = 300; }},
    {"cgroup_throttled",
     [](EvidenceOfMachine& machine) {
       machine.metric("memstat_memcg_high_bytes", 90 * EvidenceOfMachine::kMiB, {"/app"});
       machine.moved("memstat_memcg_events_total", 50, {"/app", "high"});
       add_group_stalls(machine);
     }},
    {"cgroup_thrash",
     [](EvidenceOfMachine& machine) {
       machine.moved(kGroupRefaults, 90000, {"/app", "file"});
       add_group_stalls(machine);
     }},
    {"cgroup_swap_full",
     [](EvidenceOfMachine& machine) {
       machine.metric("memstat_memcg_swap_limit_bytes", 10 * EvidenceOfMachine::kMiB, {"/app"});
       machine.metric("memstat_memcg_swap_bytes", 10 * EvidenceOfMachine::kMiB, {"/app"});
       machine.moved("memstat_memcg_swap_events_total", 9, {"/app", "max"});
     }},
    {"cgroup_full", [](EvidenceOfMachine&) {}},
    {"reclaim_thrash",
     [](EvidenceOfMachine& machine) {
       machine.moved("memstat_refaulted_pages_total", 9e6, {"file"});
       add_stalls(machine);
     }},
    {"swap_thrash",
     [](EvidenceOfMachine& machine) {
       machine.moved("memstat_paged_pages_total", 9e5, {"swap", "in"});
       machine.moved("memstat_paged_pages_total", 9e5, {"swap", "out"});
     }},
    {"memory_stalls", add_stalls},
    {"direct_reclaim",
     [](EvidenceOfMachine& machine) {
       add_direct(machine);
       machine.moved("memstat_pressure_stall_seconds_total", 20, {"some"});
     }},
    {"kswapd_gave_up",
     [](EvidenceOfMachine& machine) {
       machine.metric("memstat_node_unreclaimable", 1, {"0"});
       machine.evidence.available_bytes = std::min(*machine.evidence.available_bytes, 1.5 * kGiB);
     }},
    {"unaccounted_growth",
     [](EvidenceOfMachine& machine) { machine.growing("account", "unaccounted", 3 * kGiB, kGiB, 300); }},
    {"unaccounted_large", [](EvidenceOfMachine& machine) { machine.metric("memstat_unaccounted_bytes", 3 * kGiB); }},
    {"shared_memory_growth", [](EvidenceOfMachine& machine) { machine.growing("account", "shared", 9 * kGiB, kGiB, 300); }},
    {"shared_memory_large", [](EvidenceOfMachine& machine) { machine.part("shared", 9 * kGiB); }},
    {"page_table_growth",
     [](EvidenceOfMachine& machine) { machine.growing("account", "page_tables", 2 * kGiB, kGiB, 300); }},
    {"page_tables_large", [](EvidenceOfMachine& machine) { machine.part("page_tables", 2 * kGiB); }},
    {"tcp_memory_full", [](EvidenceOfMachine& machine) { tcp_of(machine).limit_bytes = kGiB; }},
    {"tcp_pressure",
     [](EvidenceOfMachine& machine) {
       tcp_of(machine);
       machine.metric("memstat_socket_memory_pressure", 1, {"TCP"});
     }},
    {"tcp_receive_dropped",
     [](EvidenceOfMachine& machine) {
       machine.moved("memstat_socket_events_total", 900, {"TCP", "TCPRcvQDrop"});
     }},
    {"sockets_large", [](EvidenceOfMachine& machine) { machine.part("sockets", kGiB); }},
    {"conntrack_full",
     [](EvidenceOfMachine& machine) { machine.limited(Allocator::kTable, "conntrack", 100, 100).failures.recent = 5; }},
    {"conntrack_evicts",
     [](EvidenceOfMachine& machine) {
       machine.moved("memstat_table_events_total", 900, {"conntrack", "early_drop"});
     }},
    {"file_leak", [](EvidenceOfMachine& machine) { machine.growing("table", "files", 9e5, 5e5, 300).is_bytes = false; }},
    {"open_files_full", [](EvidenceOfMachine& machine) { machine.limited(Allocator::kTable, "files", 99, 100); }}};

void add_trouble(std::string_view cause, EvidenceOfMachine& machine) {
  for (const Trouble& trouble : kTroubles) {
    if (trouble.cause == cause) return trouble.add(machine);
  }
  FAIL() << cause;
}

struct Chain {
  std::string_view root;
  std::vector<std::string_view> leads_to;
  bool is_of_group = false;  ///< the machine has a group that is full
};
const Chain kChains[] = {
    {"cgroup_oom_kill",
     {"cgroup_full", "cgroup_throttled", "cgroup_thrash", "cgroup_swap_full", "memory_stalls", "direct_reclaim",
      "reclaim_thrash"},
     true},
    {"cgroup_throttled", {"cgroup_full", "cgroup_thrash", "memory_stalls", "direct_reclaim", "reclaim_thrash"}, true},
    {"cgroup_thrash", {"cgroup_full", "memory_stalls", "direct_reclaim", "reclaim_thrash"}, true},
    {"cgroup_swap_full", {"cgroup_full"}, true},
    {"machine_oom_kill",
     {"memory_low", "anonymous_growth", "memory_stalls", "direct_reclaim", "reclaim_thrash", "swap_thrash",
      "kswapd_gave_up"}},
    {"memory_low", {"memory_stalls", "direct_reclaim", "reclaim_thrash", "kswapd_gave_up"}},
    {"reclaim_thrash", {"memory_stalls", "direct_reclaim"}},
    {"swap_thrash", {"memory_stalls", "direct_reclaim", "memory_low"}},
    {"unaccounted_growth", {"unaccounted_large"}},
    {"shared_memory_growth", {"shared_memory_large"}},
    {"page_table_growth", {"page_tables_large"}},
    {"tcp_memory_full", {"tcp_pressure", "tcp_receive_dropped"}},
    {"tcp_pressure", {"sockets_large"}},
    {"conntrack_full", {"conntrack_evicts"}},
    {"open_files_full", {"file_leak"}}};

TEST(Chains, TheRootIsFirstAndWhatItLeadsToIsNotListed) {
  for (const Chain& chain : kChains) {
    for (const std::string_view symptom : chain.leads_to) {
      EvidenceOfMachine machine;
      if (chain.is_of_group) add_group(machine);
      add_trouble(symptom, machine);
      add_trouble(chain.root, machine);
      const Findings found = machine.find();
      ASSERT_FALSE(found.empty()) << chain.root << " with " << symptom;
      EXPECT_EQ(found[0].cause, chain.root) << "with " << symptom << ": " << machine.words();
      EXPECT_TRUE(std::none_of(found.begin(), found.end(), [&](const Finding& one) { return one.cause == symptom; }))
          << chain.root << " with " << symptom << ": " << machine.words();
    }
  }
}

TEST(Chains, EachSymptomIsFoundWithoutItsRoot) {
  for (const Chain& chain : kChains) {
    for (const std::string_view symptom : chain.leads_to) {
      EvidenceOfMachine machine;
      if (chain.is_of_group) add_group(machine);
      add_trouble(symptom, machine);
      const Findings found = machine.find();
      EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Finding& one) { return one.cause == symptom; }))
          << symptom << ": " << machine.words();
    }
  }
}

}  // namespace
}  // namespace memstat
