// SPDX-License-Identifier: BSD-2-Clause
// Kills for lack of memory on the NUMA nodes to which a program is bound, while other nodes have memory.
#include <array>

#include "core/diagnosis/cause.h"
#include "core/diagnosis/kill_words.h"
#include "core/diagnosis/parts.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::bound_kill {
namespace {

constexpr std::string_view kKills = "memstat_oom_kills_total";

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (evidence.kills.empty() || recent_kills(evidence) <= 0) return;
  const KillEvidence& kill = evidence.kills.back();
  if (kill.constraint != "cpuset" && kill.constraint != "memory_policy") return;
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                 "A process was killed for lack of memory on the nodes to which it is bound by " +
                                     std::string(kill.constraint == "cpuset" ? "its cpuset" : "its memory policy"));
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
  finding.leads_to("It may not use memory of other nodes." + (prevention.empty() ? "" : " " + prevention))
      .then("numastat -m")
      .then("cat " + (kill.group.size() > 1 ? shell_word("/sys/fs/cgroup" + kill.group + "/cpuset.mems.effective")
                                            : std::string("/sys/fs/cgroup/cpuset.mems.effective")));
}

constexpr std::string_view kNeeds[] = {kKills, "memstat_kernel_log_events_total"};
constexpr std::string_view kExplains[] = {"machine_oom_kill", "numa_node_full"};
constexpr std::array kCauses{
    Cause{.name = "numa_bound_oom",
          .looks_for = "The kernel killed a process bound to full memory nodes while other nodes had free memory.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kNeeds,
          .explains = kExplains,
          .runbook = "MemstatOutOfMemoryKill",
          .look = look}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::bound_kill
