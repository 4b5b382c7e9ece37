// SPDX-License-Identifier: BSD-2-Clause
// Kills for lack of memory on the NUMA nodes to which a program is bound. The victim need not be bound.
#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/diagnosis/cause.h"
#include "core/diagnosis/kill_words.h"
#include "core/diagnosis/parts.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::bound_kill {
namespace {

constexpr std::string_view kKills = "memstat_oom_kills_total";

/// Files with the nodes: the log has the last component of the cpuset's path.
std::string cpuset_command(const KillEvidence& kill) {
  if (kill.constraint != "cpuset") return "numastat -p " + shell_word(kill.requested_by);
  if (kill.cpuset.size() <= 1) return "cat /sys/fs/cgroup/cpuset.mems.effective";
  return "find /sys/fs/cgroup -path " + shell_word("*/" + kill.cpuset + "/cpuset.mems*") + " | xargs grep .";
}

/// Whether a list such as "0,2-4" has the number.
bool is_in_list(std::string_view list, std::uint64_t number) {
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    list.remove_prefix(std::min(range.size() + 1, list.size()));
    const auto first = parse_u64(range.substr(0, range.find('-')));
    const auto last = parse_u64(range.substr(range.find('-') + 1));  // npos + 1 is 0
    if (first && last && *first <= number && number <= *last) return true;
  }
  return false;
}

/// Free memory of zone Movable on the nodes, which only pages that can be moved may use; 0 if the request was for such.
double free_in_movable(const Evidence& evidence, const KillEvidence& kill) {
  constexpr std::string_view kNode = "node ";
  constexpr std::string_view kZone = " Movable";
  if (kill.gfp.empty() || kill.gfp.find("MOVABLE") != std::string::npos) return 0;
  double free = 0;
  for (const TypeEvidence& type : evidence.types) {
    std::string_view name = type.name;
    if (type.allocator != Allocator::kPage || !name.starts_with(kNode) || !name.ends_with(kZone)) continue;
    name = name.substr(kNode.size(), name.size() - kNode.size() - kZone.size());
    const auto node = parse_u64(name);
    if (node && is_in_list(kill.nodes, *node)) free += type.free_objects.value_or(0) * type.object_bytes.value_or(0);
  }
  return free;
}

/// What the program that asked may not use. The kernel kills it, or another that may use the same nodes.
std::string effect_of(const Evidence& evidence, const KillEvidence& kill) {
  std::string effect = (kill.requested_by.empty() ? std::string("The program that asked") : short_name(kill.requested_by)) +
                       " may not use memory of other nodes.";
  if (const double free = free_in_movable(evidence, kill); free > 0) {
    effect += " " + bytes_text(free) + " on its nodes are free in zone Movable, which a request with " +
              cut_text(kill.gfp, 60) + " may not use.";
  }
  return effect;
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (evidence.kills.empty() || recent_kills(evidence) <= 0) return;
  const KillEvidence& kill = evidence.kills.back();
  if (kill.constraint != "cpuset" && kill.constraint != "memory_policy") return;
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                 "A process was killed for lack of memory on the nodes that a " +
                                     std::string(kill.constraint == "cpuset" ? "cpuset" : "memory policy") + " allows");
  finding.killed = process_words(kill.command, kill.pid);
  finding.killer = "kernel";
  finding.fact({.text = finding.killed + " had " + bytes_text(kill.program_bytes),
                .source = "linux_kernel_log",
                .value = kill.program_bytes});
  add_decision(kill, finding);
  if (evidence.available_bytes) {
    finding.fact({.text = bytes_text(*evidence.available_bytes) + " available on the machine",
                  .source = "memstat_memory_available_bytes",
                  .value = evidence.available_bytes});
  }
  finding.by("process", finding.killed);
  if (kill.group.size() > 1) finding.by("group", kill.group);
  const std::string prevention = prevention_on_nodes(evidence, kill);
  finding.leads_to(effect_of(evidence, kill) + (prevention.empty() ? "" : " " + prevention)).then("numastat -m");
  if (kill.constraint == "cpuset" || !kill.requested_by.empty()) finding.then(cpuset_command(kill));
}

constexpr std::string_view kNeeds[] = {kKills, "memstat_kernel_log_events_total"};
constexpr std::string_view kExplains[] = {"machine_oom_kill", "numa_node_full"};
constexpr std::array kCauses{
    Cause{.name = "numa_bound_oom",
          .looks_for = "The kernel killed a process for lack of memory on the nodes that a program may use.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kNeeds,
          .explains = kExplains,
          .runbook = "MemstatOutOfMemoryKill",
          .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::bound_kill
