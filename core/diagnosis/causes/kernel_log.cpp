// SPDX-License-Identifier: BSD-2-Clause
// Refusals and faults in Linux's log for which there is no equally clear counter.
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::kernel_log {
namespace {

constexpr std::string_view kEvents = "memstat_kernel_log_events_total";

struct Line {
  std::string_view name;
  std::string_view event;
  Severity severity;
  std::string_view headline;
  std::string_view effect;
  std::string_view next;
  std::string_view table = {};  ///< a table of this namespace that another cause examines; the log covers all namespaces
};
constexpr std::array kLines{Line{.name = "page_allocation_failed",
                                 .event = "page_allocation_failure",
                                 .severity = Severity::kNow,
                                 .headline = "The kernel failed to allocate pages",
                                 .effect = "A request of a driver or of the network failed.",
                                 .next = "journalctl -k --grep 'page allocation failure' -n 60"},
                            Line{.name = "slab_allocation_failed",
                                 .event = "slab_allocation_failure",
                                 .severity = Severity::kNow,
                                 .headline = "A slab cache failed to allocate memory",
                                 .effect = "A system call or a packet failed.",
                                 .next = "journalctl -k --grep 'Unable to allocate memory' -n 40"},
                            Line{.name = "vmalloc_failed",
                                 .event = "vmalloc_failure",
                                 .severity = Severity::kNow,
                                 .headline = "A vmalloc request failed",
                                 .effect = "A module, a BPF program or a large table was refused.",
                                 .next = "journalctl -k --grep 'vmalloc' -n 40"},
                            Line{.name = "memory_error",
                                 .event = "memory_error",
                                 .severity = Severity::kNow,
                                 .headline = "The kernel found defective memory",
                                 .effect = "Programs that use these pages were killed, or will be.",
                                 .next = "journalctl -k --grep 'Memory failure|hardware error' -n 40"},
                            Line{.name = "page_pool_leak",
                                 .event = "page_pool_stalled",
                                 .severity = Severity::kNotable,
                                 .headline = "A network driver's pages were never returned",
                                 .effect = "A driver or unread sockets hold them; the device cannot be removed.",
                                 .next = "journalctl -k --grep 'page_pool' -n 20"},
                            Line{.name = "refused_in_log",
                                 .event = "conntrack_full",
                                 .severity = Severity::kNow,
                                 .headline = "Packets were dropped: a conntrack table is full",
                                 .effect = "New connections fail, perhaps in another network namespace.",
                                 .next = "journalctl -k --grep 'table full' -n 10",
                                 .table = "conntrack"},
                            Line{.name = "refused_in_log",
                                 .event = "pids_full",
                                 .severity = Severity::kNow,
                                 .headline = "fork was refused: a control group reached its limit of tasks",
                                 .effect = "New processes and threads in it fail with EAGAIN.",
                                 .next = "journalctl -k --grep 'fork rejected' -n 10",
                                 .table = "pids"},
                            Line{.name = "refused_in_log",
                                 .event = "files_full",
                                 .severity = Severity::kNow,
                                 .headline = "Files could not be opened: the table of open files was full",
                                 .effect = "Opening files and sockets failed with ENFILE.",
                                 .next = "journalctl -k --grep 'file-max' -n 10",
                                 .table = "files"},
                            Line{.name = "refused_in_log",
                                 .event = "neighbours_full",
                                 .severity = Severity::kNow,
                                 .headline = "Packets were dropped: a table of neighbours is full",
                                 .effect = "New neighbours cannot be reached.",
                                 .next = "journalctl -k --grep 'neighbor table overflow' -n 10",
                                 .table = "arp_cache"},
                            Line{.name = "refused_in_log",
                                 .event = "orphans_full",
                                 .severity = Severity::kNow,
                                 .headline = "TCP connections were reset: there were too many orphans",
                                 .effect = "Data that was not sent yet is lost.",
                                 .next = "journalctl -k --grep 'orphaned sockets' -n 10",
                                 .table = "tcp_orphans"}};

/// Whether the evidence shows that a table of this namespace, or a control group, is full.
bool is_seen_full(const Evidence& evidence, std::string_view table) {
  if (table == "pids") {
    for (const MetricEvidence& limit : evidence.samples("memstat_memcg_tasks_limit")) {
      if (evidence.value("memstat_memcg_tasks", limit.labels[0]).value_or(0) >= kNearShare * limit.value) return true;
    }
    return false;
  }
  const std::string_view other = table == "arp_cache" ? "ndisc_cache" : "";
  for (const TypeEvidence& type : evidence.types) {
    if (type.allocator == Allocator::kTable && (type.name == table || type.name == other) &&
        type.limit_used.value_or(0) >= kNearShare)
      return true;
  }
  return false;
}

void look_at_line(const Evidence& evidence, const Cause& cause, const Line& line, Findings& found) {
  const MetricEvidence* const events = evidence.sample(kEvents, line.event);
  const double recent = events == nullptr ? 0 : events->change.recent;
  const auto ago = evidence.seconds_since(line.event);
  if (recent <= 0 && !ago) return;
  if (!line.table.empty() && is_seen_full(evidence, line.table)) return;
  const std::string when = recent > 0 ? "" : ", " + duration_words(*ago) + " ago";
  Finding& finding = add_finding(found, cause, recent > 0 ? line.severity : Severity::kNotable,
                                 recent > 0 ? Certainty::kConfirmed : Certainty::kPossible,  // that it still matters
                                 std::string(line.headline) + when);
  finding.fact({.text = recent > 0
                            ? counted(recent, "line") + " of the kernel's log in " + duration_words(evidence.recent_seconds)
                            : "a line of the kernel's log from before the first poll",
                .source = std::string(kEvents),
                .value = recent > 0 ? recent : 1,
                .window_seconds = recent > 0 ? evidence.recent_seconds : kLogSeconds});
  finding.refused = recent;
  finding.is_past = recent <= 0;
  finding.leads_to(line.effect).then("memstatctl events").then(line.next);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const Line& line : kLines) {
    if (line.name == cause.name) look_at_line(evidence, cause, line, found);
  }
}

constexpr std::string_view kNeeds[] = {kEvents};
constexpr std::string_view kUses[] = {"memstat_memcg_tasks_limit", "memstat_memcg_tasks"};
constexpr auto kCauses = causes_of<kLines>([](const Line& line) {
  const bool is_refusal = !line.table.empty();
  return Cause{.name = line.name,
               .looks_for = is_refusal ? "The kernel logged a refusal that no table shows." : line.headline,
               .system = CauseSystem::kLinux,
               .watches = Watches::kChange,
               .needs = kNeeds,
               .uses = kUses,
               .runbook = is_refusal ? "MemstatNearLimit" : "MemstatAllocationFailures",
               .look = look};
});

}  // namespace
extern const std::span<const Cause> causes;
constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::kernel_log
