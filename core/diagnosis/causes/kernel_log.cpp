// SPDX-License-Identifier: BSD-2-Clause
// Refusals and faults in Linux's log for which there is no equally clear counter.
#include <algorithm>
#include <array>

#include "core/base/text.h"
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
  /// The kind of the subject in the line, such as "group"; a "slab" becomes the finding's subject.
  std::string_view names = {};
  bool is_state = false;  ///< it lasts after the line, which matters however old it is
  /// Text of the lines that mean this; "": any line of the event. Such rows precede the others of their event.
  std::string_view inside = {};
  bool is_of_group = false;  ///< only lines about a control group at its limit
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
    Line{.name = "memory_error",
         .event = "memory_error_corrected",
         .severity = Severity::kNotable,
         .headline = "The hardware reported errors, which are corrected ones of memory as a rule",
         .effect = "Corrected errors do no harm. A memory module whose errors go on should be replaced.",
         .next = "journalctl -k --grep 'EDAC|hardware error' -n 40; grep . /sys/devices/system/edac/mc/mc*/*e_count"},
    Line{.name = "memory_error_injected",
         .event = "memory_error_injected",
         .severity = Severity::kNotable,
         .headline = "A program injected memory errors: no memory module is defective",
         .effect = "The pages are set aside until a reboot. Tests of the kernel do that, such as stress-ng.",
         .next = "journalctl -k --grep 'Injecting memory failure|Memory failure' -n 40"},
    Line{.name = "no_victim",
         .event = "nobody_to_kill",
         .severity = Severity::kNow,
         .headline = "A control group is at its limit, and the kernel may kill no process of it",
         .effect = "Its processes are protected (oom_score_adj -1000), or none of them has started yet. What they request "
                   "beyond the limit fails, or is repeated.",
         .next = "journalctl -k --grep 'memory: usage|Memory cgroup stats for|no killable' -n 30",
         .is_of_group = true},
    Line{.name = "no_victim",
         .event = "nobody_to_kill",
         .severity = Severity::kNow,
         .headline = "Memory ran out, and the machine was stopped: vm.panic_on_oom is set",
         .effect = "The kernel stops the machine instead of killing a process.",
         .next = "sysctl vm.panic_on_oom kernel.panic",
         .inside = "panic_on_oom is enabled"},
    Line{.name = "no_victim",
         .event = "nobody_to_kill",
         .severity = Severity::kNow,
         .headline = "Memory ran out, and the kernel may kill no process",
         .effect = "All candidates are protected (oom_score_adj -1000). Programs that need memory wait or fail.",
         .next = "grep -l -e '^-1000$' /proc/[0-9]*/oom_score_adj | head -40"},
    Line{.name = "no_victim",
         .event = "victim_exiting",
         .severity = Severity::kNotable,
         .headline = "Memory ran out, and the process to be killed was already exiting: nothing was killed",
         .effect = "Its memory is free once it has ended. If that does not suffice, the kernel kills another process.",
         .next = "journalctl -k --grep 'already exiting' -n 10",
         .names = "process"},
    Line{.name = "victim_stuck",
         .event = "reaper_failed",
         .severity = Severity::kNow,
         .headline = "The kernel killed a process, but its memory is still in use",
         .effect = "The process waits inside the kernel, so its memory comes back only when that ends.",
         .next = "journalctl -k --grep 'oom_reaper' -n 10; ps -eo pid,stat,wchan:30,comm | grep ' D'",
         .names = "process"},
    Line{.name = "bounce_buffers_full",
         .event = "bounce_buffers_full",
         .severity = Severity::kNow,
         .headline = "Bounce buffers (swiotlb) are used up: a device's transfer failed",
         .effect = "The device loses data or stops. Usually its driver maps buffers and does not unmap them.",
         .next = "journalctl -k --grep 'swiotlb|SW-IOMMU' -n 20; grep . /sys/kernel/debug/swiotlb/io_tlb_*",
         .names = "device"},
    Line{.name = "allocation_waits",
         .event = "allocation_waits",
         .severity = Severity::kNow,
         .headline = "A file system waits for memory that it does not get, and repeats the request",
         .effect = "Programs that use it hang. Memory is fragmented, or a control group is at its limit of kernel memory.",
         .next = "journalctl -k --grep 'allocation deadlock|allocation stalls' -n 20; cat /proc/buddyinfo",
         .names = "file system"},
    Line{.name = "huge_pages_short",
         .event = "huge_pages_refused",
         .severity = Severity::kNotable,
         .headline = "Huge pages that were requested could not be allocated",
         .effect = "The pool is smaller than configured: memory is too small or fragmented.",
         .next = "journalctl -k --grep 'HugeTLB: allocating|hugetlb_cma' -n 5; grep Huge /proc/meminfo",
         .is_state = true},
    Line{.name = "unrecognized_line",
         .event = "unrecognized",
         .severity = Severity::kNotable,
         .headline = "A line of the kernel's log says that memory could not be had",
         .effect = "memstatd does not know this line of the kernel's log; it says that memory could not be had.",
         .next = "journalctl -k --grep 'out of memory|allocat.*fail|cannot allocate|table full|overflow' -n 20"},
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
         .effect = "What needed it was refused, such as a BPF map, a mount or a control group.",
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
         .effect = "The program that reads them is too slow, or there is none. Audited system calls may wait.",
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
         .event = "cma_failure",
         .severity = Severity::kNow,
         .headline = "A driver could not allocate contiguous memory (CMA)",
         .effect = "The device's driver fails, or uses other memory.",
         .next = "journalctl -k --grep 'cma:' -n 10; grep Cma /proc/meminfo",
         .table = "CMA",
         .is = "cma_exhausted"},
    Line{.name = "refused_in_log",
         .event = "commit_refused",
         .severity = Severity::kNotable,
         .headline = "A program requested more memory than the kernel may promise",
         .effect = "malloc, mmap or fork failed with ENOMEM: the request was larger than memory and swap.",
         .next = "journalctl -k --grep 'enough memory for the allocation' -n 10; sysctl vm.overcommit_memory",
         .table = "committed",
         .names = "process"},
    Line{.name = "refused_in_log",
         .event = "conntrack_full",
         .severity = Severity::kNow,
         .headline = "A table of expected connections is full",
         .effect = "A helper's connections (FTP, SIP), or those of full-cone NAT, fail.",
         .next = "sysctl net.netfilter.nf_conntrack_expect_max",
         .inside = "expectation table"},
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
         .effect = "New processes and threads in it fail with EAGAIN. The limit is its own or that of a group above it.",
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
         .headline = "Packets were dropped: a table of IPv6 neighbours is full",
         .effect = "New neighbours cannot be reached.",
         .next = "journalctl -k --grep 'neighbou?r table overflow' -n 10",
         .table = "arp_cache",
         .is = "neighbours6_full",
         .inside = "ndisc_cache"},
    Line{.name = "refused_in_log",
         .event = "neighbours_full",
         .severity = Severity::kNow,
         .headline = "Packets were dropped: a table of neighbours is full",
         .effect = "New neighbours cannot be reached.",
         .next = "journalctl -k --grep 'neighbou?r table overflow' -n 10",
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
         .event = "time_wait_full",
         .severity = Severity::kNotable,
         .headline = "TCP's table of connections in TIME-WAIT is full",
         .effect = "Further connections skip TIME-WAIT, so that late segments may disturb a new connection.",
         .next = "sysctl net.ipv4.tcp_max_tw_buckets; ss -s",
         .table = "tcp_time_wait",
         .is = "time_wait_full"},
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
  if (table == "CMA") {
    return std::any_of(evidence.types.begin(), evidence.types.end(), [](const TypeEvidence& type) {
      return type.allocator == Allocator::kCma && type.failures.recent > 0;
    });
  }
  if (table == "pids") {
    for (const MetricEvidence& limit : evidence.samples("memstat_memcg_tasks_limit")) {
      if (evidence.value("memstat_memcg_tasks", limit.labels[0]).value_or(0) >= kNearShare * limit.value) return true;
    }
    return false;
  }
  if (table == "committed") return evidence.type(Allocator::kTable, table) != nullptr;  // only if the limit is enforced
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

/// Slab caches of control groups, before 5.9: "signal_cache(632851:NAME)". Returns NAME; "": the machine's cache.
std::string_view group_of_cache(std::string_view cache) {
  const std::size_t colon = cache.find(':');
  const std::size_t open = cache.rfind('(', colon);
  if (colon == std::string_view::npos || open == std::string_view::npos || !cache.ends_with(')')) return {};
  return cache.substr(colon + 1, cache.size() - colon - 2);
}

/// A cache of a group fails while the machine has memory: the group is at its limit of kernel memory.
void be_about_kernel_limit(const Evidence& evidence, std::string_view group, Finding& finding) {
  if (evidence.available_bytes && evidence.share(*evidence.available_bytes) < 0.05) return;
  finding.headline = "Control group " + short_name(group, 30) + " is at its limit of kernel memory";
  if (const Cause* const known = find_cause("cgroup_kernel_limit"); known != nullptr) {
    finding.cause = known->name;
    finding.rule = known;
  }
  finding.by("group", group)
      .leads_to(
          "Its programs fail to open, fork or connect, and page faults that fail make the kernel kill for the machine.");
  finding.next.clear();
  finding.then("find /sys/fs/cgroup/memory -name memory.kmem.limit_in_bytes -path " +
               shell_word("*" + std::string(group) + "*") + " | xargs grep .");
}

/// The order of "COMMAND: page allocation failure: order:5, mode:0xd0"; nothing: another line.
std::optional<std::uint64_t> order_of(const LoggedEvidence* last) {
  constexpr std::string_view kOrder = "order:";
  if (last == nullptr || last->event != "page_allocation_failure") return std::nullopt;
  const std::size_t at = last->line.find(kOrder);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(last->line).substr(at + kOrder.size());
  const auto order = parse_u64(rest.substr(0, rest.find_first_not_of("0123456789")));
  constexpr std::uint64_t kMaxOrder = 20;  // more than any kernel has
  return order.value_or(kMaxOrder + 1) > kMaxOrder ? std::nullopt : order;
}

/// Whether the request may not wait until memory is reclaimed: "mode:0xa20(GFP_ATOMIC)", or, before 4.6, bits without a
/// name.
bool is_atomic(std::string_view line) {
  constexpr std::string_view kMode = "mode:0x";
  constexpr std::uint64_t kWaits = 0x10 | 0x400000;  // __GFP_WAIT up to 4.3, then __GFP_DIRECT_RECLAIM
  const std::size_t at = line.find(kMode);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = line.substr(at + kMode.size());
  const std::string_view bits = rest.substr(0, rest.find_first_not_of("0123456789abcdef"));
  if (rest.substr(bits.size()).starts_with('('))
    return rest.find("(GFP_ATOMIC") == bits.size() || rest.find("(GFP_NOWAIT") == bits.size();
  const auto mode = parse_hex_u64(bits);
  return mode && (*mode & kWaits) == 0;
}

/// Free memory of contiguous areas (CMA). Only pages that can be moved may be there.
double free_cma_bytes(const Evidence& evidence) {
  double free = 0;
  for (const TypeEvidence& area : evidence.types) {
    if (area.allocator == Allocator::kCma && area.held_bytes) free += *area.held_bytes - area.bytes.value_or(0);
  }
  return free;
}

/// Explains the failure of "COMMAND: page allocation failure: order:3, mode:0x20".
void explain_pages(const Evidence& evidence, std::uint64_t order, std::string_view line, Finding& finding) {
  const bool has_waited = !is_atomic(line);
  if (order > 0) finding.then("cat /proc/buddyinfo");
  if (!has_waited) finding.then("sysctl vm.min_free_kbytes");
  if (const double free = free_cma_bytes(evidence); evidence.available_bytes && free >= 0.25 * *evidence.available_bytes) {
    finding.then("grep -e MemFree -e Cma /proc/meminfo");
    finding.leads_to(bytes_text(free) +
                     " of free memory is set aside for contiguous areas (CMA). Only movable pages may use it.");
  } else if (!has_waited) {
    finding.leads_to("The request could not wait until memory was reclaimed. It failed, or was repeated" +
                     std::string(order > 0 ? " for smaller pieces." : " later."));
  } else if (order > 0) {
    finding.leads_to("Free memory is in smaller pieces: the request failed, or was repeated for smaller ones.");
  }
}

std::string words_of_pages(const Evidence& evidence, std::uint64_t order, const LoggedEvidence& last) {
  const std::string pages = order == 0 ? std::string("a page")
                                       : bytes_text(evidence.page_bytes * static_cast<double>(1ULL << order)) +
                                             " in one piece (order " + std::to_string(order) + ")";
  return "The kernel failed to allocate " + pages + (last.subject.empty() ? "" : " for " + short_name(last.subject, 20));
}

/// The size of "vmap allocation for size 36864 failed", "insmod: vmalloc error: size 8192, ..", "vmalloc: allocation
/// failure: 8192 bytes" or "vmalloc: allocation failure, allocated 4096 of 8192 bytes"; nothing: another line.
std::optional<double> vmalloc_bytes(const LoggedEvidence* last) {
  constexpr std::array<std::string_view, 4> kKeys{" for size ", " error: size ", " failure: ", " of "};
  if (last == nullptr || last->event != "vmalloc_failure") return std::nullopt;
  for (const std::string_view key : kKeys) {
    const std::size_t at = last->line.find(key);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(last->line).substr(at + key.size());
    const auto bytes = parse_u64(rest.substr(0, rest.find_first_not_of("0123456789")));
    if (bytes && *bytes > 0) return static_cast<double>(*bytes);
  }
  return std::nullopt;
}

/// Whether pages were missing for the request, and no range of addresses.
bool is_vmalloc_of_pages(const LoggedEvidence& last) {
  return last.line.find(", allocated ") != std::string::npos ||
         last.line.find("failed to allocate pages") != std::string::npos;
}

/// Whether it lacked pages and alone is a large part of memory: the kernel kills programs while it looks for them.
bool is_vmalloc_of_much(const Evidence& evidence, const LoggedEvidence* last) {
  constexpr double kMuch = 1ULL << 30;  // if the size of memory is unknown
  constexpr double kMuchShare = 0.25;
  const auto bytes = vmalloc_bytes(last);
  if (!bytes) return false;
  return is_vmalloc_of_pages(*last) && *bytes >= (evidence.total_bytes > 0 ? kMuchShare * evidence.total_bytes : kMuch);
}

std::string headline_of(const Evidence& evidence, const Line& line, const LoggedEvidence* last) {
  constexpr std::string_view kWaiter = "A file system";
  if (line.event == "unrecognized" && last != nullptr) return "The kernel's log: " + cut_text(last->line, kMaxHeadline - 30);
  if (line.event == "allocation_waits" && last != nullptr && !last->subject.empty())
    return short_name(last->subject, 20) + std::string(line.headline.substr(kWaiter.size()));
  if (const auto order = order_of(last); order && line.event == last->event) return words_of_pages(evidence, *order, *last);
  if (const auto bytes = vmalloc_bytes(last); bytes && line.event == last->event)
    return "A vmalloc request for " + bytes_text(*bytes) + " failed" +
           (is_vmalloc_of_much(evidence, last) ? ": memory ran out" : "");
  return std::string(line.headline);
}

/// Errors that a program injected are no defects.
bool is_injected(const Evidence& evidence, const Line& line) {
  if (line.event != "memory_error") return false;
  const MetricEvidence* const injected = evidence.sample(kEvents, "memory_error_injected");
  return (injected != nullptr && injected->change.recent > 0) || evidence.last_line("memory_error_injected") != nullptr;
}

void add_log_facts(const Evidence& evidence, const LoggedEvidence* last, double recent, Finding& finding) {
  finding.fact({.text = recent > 0
                            ? counted(recent, "line") + " of the kernel's log in " + duration_words(evidence.recent_seconds)
                            : "a line of the kernel's log from before the first poll",
                .source = std::string(kEvents),
                .value = recent > 0 ? recent : 1,
                .window_seconds = recent > 0 ? evidence.recent_seconds : kLogSeconds});
  if (last != nullptr && !last->line.empty())
    finding.fact({.text = "\"" + cut_text(last->line, 120) + "\"", .source = "linux_kernel_log"});
}

constexpr std::string_view kVmallocSymptoms[] = {"machine_oom_kill", "memory_low"};
/// The rule of a request that took all of memory.
constexpr Cause kVmallocOfMuch{.name = "vmalloc_failed",
                               .looks_for = "A request of the kernel takes all of memory.",
                               .system = CauseSystem::kLinux,
                               .watches = Watches::kChange,
                               .explains = kVmallocSymptoms,
                               .runbook = "MemstatAllocationFailures"};

void look_at_line(const Evidence& evidence, const Cause& cause, const Line& line, Findings& found) {
  const MetricEvidence* const events = evidence.sample(kEvents, line.event);
  const double recent = events == nullptr ? 0 : events->change.recent;
  const LoggedEvidence* const newest = evidence.any_line(line.event);
  const LoggedEvidence* const last = recent > 0 || line.is_state ? newest : evidence.last_line(line.event);
  if (recent <= 0 && last == nullptr) return;
  if ((!line.table.empty() && is_seen_full(evidence, line.table)) || is_injected(evidence, line)) return;
  const auto ago = recent > 0                          ? ended(evidence, events->change)
                   : last != nullptr && last->has_time ? std::optional(last->seconds_ago)
                                                       : std::nullopt;
  const std::string when = ago ? ", " + duration_words(*ago) + " ago" : std::string();
  Finding& finding = add_finding(found, cause, recent <= 0 || ago ? Severity::kNotable : line.severity,
                                 recent > 0 ? Certainty::kConfirmed : Certainty::kPossible,  // that it still matters
                                 cut_text(headline_of(evidence, line, last), kMaxHeadline - when.size()) + when);
  add_log_facts(evidence, last, recent, finding);
  if (const Cause* const known = find_cause(line.is); known != nullptr) {
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
  if (const auto order = order_of(last); order && line.event == last->event)
    explain_pages(evidence, *order, last->line, finding);
  if (line.event == "vmalloc_failure" && is_vmalloc_of_much(evidence, last)) {
    finding.rule = &kVmallocOfMuch;
    finding.leads_to("A module or driver asks for more than there is; programs are killed for it.");
  } else if (vmalloc_bytes(last) && line.event == last->event && !is_vmalloc_of_pages(*last)) {
    finding.leads_to(
        "As a rule it lacked addresses, which free memory does not help: on 32-bit machines those of the kernel, "
        "on others those of modules and compiled BPF programs.");
  }
  const bool is_of_slab = line.event == "slab_allocation_failure" && last != nullptr;
  if (const std::string_view group = is_of_slab ? group_of_cache(last->subject) : std::string_view(); !group.empty())
    be_about_kernel_limit(evidence, group, finding);
}

/// Whether the event's last line is of the row's kind.
bool is_of_row(const Evidence& evidence, const Line& line) {
  if (line.inside.empty() && !line.is_of_group) return true;
  const LoggedEvidence* const last = evidence.any_line(line.event);
  return last != nullptr && last->line.find(line.inside) != std::string::npos && (!line.is_of_group || last->is_of_group);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  // Lines with one name are adjacent, and of those, lines of one event.
  std::string_view done;
  for (std::size_t row = cause.row; row < kLines.size() && kLines[row].name == cause.name; ++row) {
    if (kLines[row].event == done || !is_of_row(evidence, kLines[row])) continue;
    done = kLines[row].event;
    look_at_line(evidence, cause, kLines[row], found);
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
