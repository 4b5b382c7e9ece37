// SPDX-License-Identifier: BSD-2-Clause
// Refusals and faults in Linux's log for which there is no equally clear counter.
#include <algorithm>
#include <array>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::kernel_log {
namespace {

constexpr std::string_view kEvents = "memstat_kernel_log_events_total";
constexpr std::string_view kSocketEvents = "memstat_socket_events_total";

struct Line {
  std::string_view name;
  std::string_view event;
  Severity severity;
  std::string_view headline;
  std::string_view effect;
  std::string_view next;
  std::string_view table = {};  ///< the table that another cause examines in this namespace; the log covers all namespaces
  std::string_view is = {};     ///< the cause that examines that table; the finding has its name
  std::string_view names =
      {};  ///< the kind of the subject in the line, such as "group"; a "cache" becomes the finding's subject
};
constexpr std::array kLines{
    Line{.name = "page_allocation_failed",
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
    Line{.name = "percpu_failed",
         .event = "percpu_failure",
         .severity = Severity::kNow,
         .headline = "The kernel failed to allocate per-CPU memory",
         .effect = "A BPF map, a set of nftables, a mount or a control group was refused.",
         .next = "journalctl -k --grep 'percpu: allocation failed' -n 20"},
    Line{.name = "swap_io_error",
         .event = "paging_error",
         .severity = Severity::kNow,
         .headline = "The kernel could not read or write swap",
         .effect = "Programs whose pages cannot be read are killed. Pages that cannot be written stay.",
         .next = "journalctl -k --grep 'swap-device' -n 20; swapon --show",
         .names = "device"},
    Line{.name = "audit_backlog",
         .event = "audit_full",
         .severity = Severity::kNow,
         .headline = "The queue of audit records is full: records are lost",
         .effect = "Programs wait in audited system calls: auditd reads too slowly, or not at all.",
         .next = "auditctl -s"},
    Line{.name = "module_leak",
         .event = "cache_leaked",
         .severity = Severity::kNotable,
         .headline = "A slab cache was destroyed with objects in it",
         .effect = "A kernel module lost track of them; they stay until a reboot.",
         .next = "journalctl -k --grep 'Objects remaining|still has objects' -n 20",
         .names = "slab"},
    Line{.name = "leak_reported",
         .event = "leak_suspected",
         .severity = Severity::kNotable,
         .headline = "kmemleak found kernel memory that nothing points to",
         .effect = "It was allocated and never freed; the report has the functions.",
         .next = "cat /sys/kernel/debug/kmemleak"},
    Line{.name = "rcu_stall",
         .event = "rcu_stall",
         .severity = Severity::kNow,
         .headline = "A processor or a task holds up RCU",
         .effect = "The kernel cannot reuse freed memory until it continues.",
         .next = "journalctl -k --grep 'rcu.*stall' -n 40"},
    Line{.name = "device_held",
         .event = "device_held",
         .severity = Severity::kNotable,
         .headline = "A removed network device is still in use",
         .effect = "Its network namespace stays, and others cannot be created or removed meanwhile.",
         .next = "journalctl -k --grep 'unregister_netdevice' -n 10; lsns -t net",
         .names = "interface"},
    Line{.name = "refused_in_log",
         .event = "conntrack_full",
         .severity = Severity::kNow,
         .headline = "Packets were dropped: a conntrack table is full",
         .effect = "New connections fail, perhaps in another network namespace.",
         .next = "journalctl -k --grep 'table full' -n 10",
         .table = "conntrack",
         .is = "conntrack_full"},
    Line{.name = "refused_in_log",
         .event = "pids_full",
         .severity = Severity::kNow,
         .headline = "fork was refused: a control group reached its limit of tasks",
         .effect = "New processes and threads in it fail with EAGAIN.",
         .next = "journalctl -k --grep 'fork rejected' -n 10",
         .table = "pids",
         .is = "cgroup_tasks_full",
         .names = "group"},
    Line{.name = "refused_in_log",
         .event = "files_full",
         .severity = Severity::kNow,
         .headline = "Files could not be opened: the table of open files was full",
         .effect = "Opening files and sockets failed with ENFILE.",
         .next = "journalctl -k --grep 'file-max' -n 10",
         .table = "files",
         .is = "open_files_full"},
    Line{.name = "refused_in_log",
         .event = "neighbours_full",
         .severity = Severity::kNow,
         .headline = "Packets were dropped: a table of neighbours is full",
         .effect = "New neighbours cannot be reached.",
         .next = "journalctl -k --grep 'neighbor table overflow' -n 10",
         .table = "arp_cache",
         .is = "neighbours_full"},
    Line{.name = "refused_in_log",
         .event = "orphans_full",
         .severity = Severity::kNow,
         .headline = "TCP connections were reset: there were too many orphans",
         .effect = "Unsent data is lost.",
         .next = "journalctl -k --grep 'orphaned sockets' -n 10",
         .table = "tcp_orphans",
         .is = "orphans_full"},
    Line{.name = "refused_in_log",
         .event = "tcp_memory_full",
         .severity = Severity::kNow,
         .headline = "TCP was out of memory: connections were closed",
         .effect = "Received data is dropped, and closed connections are reset.",
         .next = "sysctl net.ipv4.tcp_mem; ss -tmpn | head -40",
         .table = "TCP",
         .is = "tcp_memory_full"},
    Line{.name = "refused_in_log",
         .event = "routes_full",
         .severity = Severity::kNow,
         .headline = "Packets were refused: the cache of IPv6 routes is full",
         .effect = "New destinations are unreachable, perhaps in another network namespace.",
         .next = "sysctl net.ipv6.route.max_size",
         .table = "routes"},
    Line{.name = "refused_in_log",
         .event = "syn_queue_full",
         .severity = Severity::kNotable,
         .headline = "A queue of half-open connections was full",
         .effect = "New connections are answered with cookies, or dropped. It may be an attack.",
         .next = "journalctl -k --grep 'SYN flooding' -n 10",
         .table = "half-open",
         .is = "syn_queue_full",
         .names = "port"}};

/// Whether the evidence shows that a table of this namespace, or a control group, is full.
bool is_seen_full(const Evidence& evidence, std::string_view table) {
  if (table == "pids") {
    for (const MetricEvidence& limit : evidence.samples("memstat_memcg_tasks_limit")) {
      if (evidence.value("memstat_memcg_tasks", limit.labels[0]).value_or(0) >= kNearShare * limit.value) return true;
    }
    return false;
  }
  if (table == "half-open") {
    const auto events = evidence.samples(kSocketEvents);
    return std::any_of(events.begin(), events.end(), [](const MetricEvidence& one) {
      return one.labels[1].starts_with("TCPReqQFull") && one.change.recent > 0;
    });
  }
  const Allocator allocator = table == "TCP" ? Allocator::kSocket : Allocator::kTable;
  const std::string_view other = table == "arp_cache" ? "ndisc_cache" : "";
  for (const TypeEvidence& type : evidence.types) {
    if (type.allocator == allocator && (type.name == table || type.name == other) &&
        type.limit_used.value_or(0) >= kNearShare)
      return true;
  }
  return false;
}

void look_at_line(const Evidence& evidence, const Cause& cause, const Line& line, Findings& found) {
  const MetricEvidence* const events = evidence.sample(kEvents, line.event);
  const double recent = events == nullptr ? 0 : events->change.recent;
  const LoggedEvidence* const last = evidence.last_line(line.event);
  if (recent <= 0 && last == nullptr) return;
  if (!line.table.empty() && is_seen_full(evidence, line.table)) return;
  const auto ago = recent > 0 ? ended(evidence, events->change) : std::optional(last->seconds_ago);
  const std::string when = ago ? ", " + duration_words(*ago) + " ago" : std::string();
  Finding& finding = add_finding(found, cause, ago ? Severity::kNotable : line.severity,
                                 recent > 0 ? Certainty::kConfirmed : Certainty::kPossible,  // that it still matters
                                 std::string(line.headline) + when);
  finding.fact({.text = recent > 0
                            ? counted(recent, "line") + " of the kernel's log in " + duration_words(evidence.recent_seconds)
                            : "a line of the kernel's log from before the first poll",
                .source = std::string(kEvents),
                .value = recent > 0 ? recent : 1,
                .window_seconds = recent > 0 ? evidence.recent_seconds : kLogSeconds});
  const bool is_of_version_6 = last != nullptr && last->subject == "ndisc_cache";
  if (const Cause* const known = find_cause(is_of_version_6 ? "neighbours6_full" : line.is); known != nullptr) {
    finding.cause = known->name;
    finding.rule = known;
    finding.inspection = known->inspection;
  }
  finding.refused = recent;
  finding.is_past = recent <= 0;
  if (last != nullptr && !last->subject.empty()) {
    if (line.names == "slab") finding.is_about("slab", last->subject);
    if (!line.names.empty() && line.names != "slab") finding.by(line.names, last->subject);
  }
  finding.leads_to(line.effect).then("memstatctl events").then(line.next);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const Line& line : kLines) {
    if (line.name == cause.name) look_at_line(evidence, cause, line, found);
  }
}

constexpr std::string_view kNeeds[] = {kEvents};
constexpr std::string_view kUses[] = {"memstat_memcg_tasks_limit", "memstat_memcg_tasks", kSocketEvents};
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
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::kernel_log
