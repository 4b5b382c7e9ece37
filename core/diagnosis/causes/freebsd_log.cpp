// SPDX-License-Identifier: BSD-2-Clause
// Causes that FreeBSD reports only in its log: why it killed a process, and what it refused. Also connections refused by its
// TCP.
#include <algorithm>
#include <array>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/growth_ranking.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::freebsd_log {
namespace {

constexpr std::string_view kLogged = "memstat_kernel_log_events_total";
constexpr std::string_view kRefused = "memstat_socket_events_total";

double moved_by(const Evidence& evidence, std::string_view metric, std::string_view first, std::string_view second = {}) {
  for (const MetricEvidence& one : evidence.samples(metric)) {
    if (one.labels[0] == first && (second.empty() || one.labels[1] == second)) return std::max(one.change.recent, 0.0);
  }
  return 0;
}

Fact fact_of(const Evidence& evidence, double moved, std::string_view thing, std::string_view metric) {
  return {.text = counted(moved, thing) + " in " + duration_words(evidence.recent_seconds),
          .source = std::string(metric),
          .value = moved,
          .window_seconds = evidence.recent_seconds};
}

struct Reason {
  std::string_view name;
  std::string_view text;
  std::string_view what;
  std::string_view effect;
  std::string_view next;
};
constexpr std::array kReasons{
    Reason{.name = "freebsd_oom_reclaim",
           .text = "failed to reclaim memory",
           .what = "the page daemon found nothing to free",
           .effect = "Memory and swap were used up. The largest program was killed first, which need not be the cause.",
           .next = "top -b -o res 10"},
    Reason{.name = "freebsd_oom_page_wait",
           .text = "a thread waited too long to allocate a page",
           .what = "a thread waited too long for a page",
           .effect = "Swap is slow or missing; sysctl vm.pfault_oom_attempts=-1 lets threads wait.",
           .next = "swapinfo; gstat -b"},
    Reason{.name = "freebsd_oom_swap_metadata",
           .text = "out of swap space",
           .what = "the kernel's table of swapped pages is full",
           .effect = "The disk need not be full: kern.maxswzone bounds this table.",
           .next = "vmstat -z | grep -E 'swblk|swpctrie'; sysctl vm.swap_maxpages"}};

/// Before 13.0 the kernel gives "out of swap space" as the reason of every kill. Later ones say in a line that the table of
/// swapped pages is full, and its zone shows it.
bool is_swap_table_full(const Evidence& evidence) {
  return evidence.any_line("swap_table_full") != nullptr ||
         std::any_of(evidence.types.begin(), evidence.types.end(), [](const TypeEvidence& type) {
           return type.allocator == Allocator::kUma && (type.name == "swblk" || type.name == "swpctrie") &&
                  type.limit_used.value_or(0) >= kNearShare;
         });
}

std::string_view cause_of_kill(const Evidence& evidence, std::string_view text) {
  const auto* const reason =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const Reason& one) { return one.text == text; });
  if (reason == kReasons.end()) return {};
  return reason == &kReasons.back() && !is_swap_table_full(evidence) ? kReasons.front().name : reason->name;
}

void look_at_kills(const Evidence& evidence, const Cause& cause, Findings& found) {
  const double kills = moved_by(evidence, kLogged, "oom_kill");
  const Reason& reason = kReasons[cause.row];
  if (kills <= 0 || evidence.kills.empty() || cause_of_kill(evidence, evidence.kills.back().constraint) != reason.name)
    return;
  // The kernel takes the largest program first. The later victims are bystanders, which only were larger than the rest.
  const auto recent = static_cast<std::size_t>(std::min(kills, static_cast<double>(evidence.kills.size())));
  const KillEvidence& first = evidence.kills[evidence.kills.size() - recent];
  const KillEvidence& last = evidence.kills.back();
  const std::string victim = short_name(first.command) + " (pid " + std::to_string(first.pid) + ")";
  Finding& finding =
      add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                  "The kernel killed " + counted(kills, "process", "processes") + ": " + std::string(reason.what));
  finding.is_about(kAccountAllocator, "active");
  finding.fact(fact_of(evidence, kills, "kill", kLogged));
  std::string victims = (recent == 1 ? "the victim was " : "the first victim was ") + victim;
  finding.killed = short_name(last.command) + " (pid " + std::to_string(last.pid) + ")";
  finding.killer = "kernel";
  if (recent > 1) victims += ", the last " + finding.killed;
  finding.fact({.text = std::move(victims), .source = "freebsd_kernel_log"});
  finding.by("process", victim);
  finding.is_paused = has_paused(evidence, kLogged, [](const auto& one) { return one.labels[0] == "oom_kill"; });
  finding.leads_to(reason.effect).then("memstatctl events").then(reason.next);
}

/// Lines about tables. `table`: its type, whose own cause judges it while it is full.
struct Refusal {
  std::string_view event;
  std::string_view table;
  std::string_view headline;  ///< "%s": the subject of the line
  std::string_view effect;
  std::string_view next = {};
  Severity severity = Severity::kNow;
  std::string_view is = {};  ///< the cause that judges the same by figures; the finding has its name
};
constexpr Refusal kRefusals[] = {
    {"files_full", "files", "Files could not be opened: the table of open files was full", "open failed with ENFILE."},
    {"processes_full", "processes", "fork was refused: the table of processes was full", "fork failed with EAGAIN."},
    {"threads_full", "threads", "Threads were refused: the table of threads was full", "pthread_create failed with EAGAIN."},
    {"pipes_full", "pipe_buffers", "Pipes were refused: their buffers were full",
     "pipe(2), or the first write to a pipe, failed with ENOMEM. Programs with many pipes hold the buffers.",
     "sysctl kern.ipc.pipekva kern.ipc.maxpipekva; fstat | grep -w pipe | awk '{print $2}' | sort | uniq -c | sort -rn | "
     "head"},
    {"swap_reservation_refused", "", "Memory was refused: swap reservations were at their limit",
     "mmap and fork failed with ENOMEM."},
    {"swap_table_full", "", "The kernel's table of swapped pages was full", "Pages could not be swapped out."},
    {"paging_error", "", "Pages could not be read from or written to disk", "Programs got SIGBUS or SIGSEGV."},
    {"zone_full", "zone", "Zone %s was at its limit", "Requests of this zone failed or waited.",
     "vmstat -z | head -1; vmstat -z | sort -t, -k6 -rn | head -5"},
    {"accept_queue_full", "listen", "Connections were refused: the accept queue of a socket was full",
     "Clients got ECONNREFUSED or wait. The backlog of listen(2) is too small, or the program accepts too slowly.",
     "netstat -Lan"},
    {"swap_full", "swap", "Swap was full", "Pages could not be swapped out.", "swapinfo -h", Severity::kNow, "swap_full"},
    {"cache_leaked", "", "Zone %s was destroyed with items in it",
     "A kernel module lost track of them; their pages are lost until a reboot.", "kldstat", Severity::kNotable},
    {"unrecognized",
     "",
     "",
     "memstatd does not know this line of the kernel's log; it says that memory could not be had.",
     {},
     Severity::kNotable},
};

/// Whether a counter or a figure shows the same, so that its own cause judges it.
bool is_seen_elsewhere(const Evidence& evidence, std::string_view table, std::string_view subject) {
  if (table == "listen") return moved_by(evidence, kRefused, "TCP", "tcps_listendrop") > 0;
  if (table == "swap") {  // a cause of its own judges how full it is
    const double total = evidence.value("memstat_swap_total_bytes").value_or(0);
    return evidence.value("memstat_swap_free_bytes").value_or(total) < 0.15 * total;
  }
  const bool is_zone = table == "zone";
  if (table.empty() || (is_zone && subject.empty())) return false;
  const TypeEvidence* const type = evidence.type(is_zone ? Allocator::kUma : Allocator::kTable, is_zone ? subject : table);
  return type != nullptr && (type->limit_used.value_or(0) >= kNearShare || (is_zone && type->failures.recent > 0));
}

std::string headline_of(const Refusal& refusal, const LoggedEvidence* line) {
  if (refusal.headline.empty())
    return line == nullptr ? std::string("A line of the kernel's log says that memory could not be had")
                           : "The kernel's log: " + cut_text(line->line, kMaxHeadline - 20);
  std::string headline(refusal.headline);
  constexpr std::string_view kPlace = "%s ";
  const std::size_t at = headline.find(kPlace);
  if (at == std::string::npos) return headline;
  return headline.replace(at, kPlace.size(), line == nullptr ? std::string() : short_name(line->subject, 30) + " ");
}

void look_at_refusals(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const Refusal& refusal : kRefusals) {
    const double lines = moved_by(evidence, kLogged, refusal.event);
    const LoggedEvidence* const line = evidence.any_line(refusal.event);
    const std::string_view subject = line == nullptr ? std::string_view() : std::string_view(line->subject);
    if (lines <= 0 || is_seen_elsewhere(evidence, refusal.table, subject)) continue;
    Finding& finding = add_finding(found, cause, refusal.severity, Certainty::kConfirmed, headline_of(refusal, line));
    if (const Cause* const known = find_cause(refusal.is); known != nullptr) {
      finding.cause = known->name;
      finding.rule = known;
    }
    if (refusal.table == "zone" || refusal.event == "cache_leaked") {
      finding.is_about("uma", subject).by("zone", subject);
    } else if (refusal.table == "listen") {
      if (!subject.empty()) finding.by("socket", subject);
    } else if (!refusal.table.empty() && refusal.table != "swap") {
      finding.is_about("table", refusal.table);
    }
    finding.fact(fact_of(evidence, lines, "line", kLogged));
    if (line != nullptr && !line->line.empty())
      finding.fact({.text = "\"" + cut_text(line->line, 120) + "\"", .source = "freebsd_kernel_log"});
    finding.refused = lines;
    finding.leads_to(refusal.effect).then("memstatctl events");
    if (!refusal.next.empty()) finding.then(refusal.next);
    const auto is_of_event = [&](const auto& one) { return one.labels[0] == refusal.event; };
    finding.is_paused = has_paused(evidence, kLogged, is_of_event);
    mark_ended(ended(evidence, kLogged, is_of_event), finding);
  }
}

/// Counters of struct tcpstat. Rates below these are normal.
struct TcpRefusal {
  std::string_view name;
  std::string_view kind;
  Severity severity;
  double least_per_second;
  std::string_view headline;
  std::string_view effect;
  std::string_view next;
};
constexpr std::array kTcpRefusals{
    TcpRefusal{.name = "accept_queue_full",
               .kind = "tcps_listendrop",
               .severity = Severity::kNow,
               .least_per_second = 0.1,
               .headline = " connections refused: a program accepts too slowly, its queue is full",
               .effect = "Clients wait and retry.",
               .next = "netstat -Lan"},
    TcpRefusal{.name = "syn_cache_full",
               .kind = "tcps_sc_cacheoverflow",
               .severity = Severity::kNotable,
               .least_per_second = 1.0 / 60,
               .headline = " half-open connections dropped: the SYN cache is full",
               .effect = "New connections get SYN cookies, or fail if net.inet.tcp.syncookies is 0. It may be an attack.",
               .next = "netstat -s -p tcp | grep -A20 syncache"},
    TcpRefusal{.name = "syn_cache_no_memory",
               .kind = "tcps_sc_zonefail",
               .severity = Severity::kNow,
               .least_per_second = 0.1,
               .headline = " half-open connections dropped: the SYN cache could not allocate memory",
               .effect = "New connections fail.",
               .next = "vmstat -z | grep syncache"},
    TcpRefusal{.name = "tcp_segments_waiting_full",
               .kind = "tcps_rcvreassfull",
               .severity = Severity::kNotable,
               .least_per_second = 1,
               .headline = " TCP segments dropped: too many wait for missing ones",
               .effect = "They are sent again.",
               .next = "sysctl net.inet.tcp.reass"}};

void look_at_tcp(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TcpRefusal& refusal = kTcpRefusals[cause.row];
  const double moved = moved_by(evidence, kRefused, "TCP", refusal.kind);
  if (moved <= 0 || evidence.rate(moved) < refusal.least_per_second) return;
  Finding& finding =
      add_finding(found, cause, refusal.severity, Certainty::kConfirmed, count_text(moved) + std::string(refusal.headline));
  finding.fact(fact_of(evidence, moved, refusal.kind, kRefused));
  finding.refused = moved;
  finding.leads_to(refusal.effect).then(refusal.next);
  const auto is_of_kind = [&](const auto& one) { return one.labels[1] == refusal.kind; };
  finding.is_paused = has_paused(evidence, kRefused, is_of_kind);
  mark_ended(ended(evidence, kRefused, is_of_kind), finding);
}

constexpr std::string_view kLogUses[] = {kRefused, "memstat_swap_total_bytes", "memstat_swap_free_bytes"};
constexpr std::string_view kLogNeeds[] = {kLogged};
constexpr std::string_view kTcpNeeds[] = {kRefused};
constexpr std::string_view kKillExplains[] = {"memory_low", "page_daemon_short", "domain_exhausted", "swap_full",
                                              "swap_thrash"};

constexpr auto kCauses = [] {
  std::array<Cause, kReasons.size() + 1 + kTcpRefusals.size()> causes{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    causes[next++] = {.name = kReasons[i].name,
                      .looks_for = "The kernel killed a process for lack of memory, and logged the reason.",
                      .system = CauseSystem::kFreeBsd,
                      .watches = Watches::kChange,
                      .needs = kLogNeeds,
                      .explains = kKillExplains,
                      .runbook = "MemstatOutOfMemoryKill",
                      .look = look_at_kills,
                      .row = i};
  }
  causes[next++] = {.name = "refused_in_freebsd_log",
                    .looks_for = "The kernel logged a refusal that no table shows.",
                    .system = CauseSystem::kFreeBsd,
                    .watches = Watches::kChange,
                    .needs = kLogNeeds,
                    .uses = kLogUses,
                    .runbook = "MemstatNearLimit",
                    .look = look_at_refusals};
  for (std::size_t i = 0; i < kTcpRefusals.size(); ++i) {
    causes[next++] = {.name = kTcpRefusals[i].name,
                      .looks_for = "TCP refused connections or dropped segments for lack of room.",
                      .system = CauseSystem::kFreeBsd,
                      .watches = Watches::kChange,
                      .needs = kTcpNeeds,
                      .runbook = "MemstatSocketPressure",
                      .look = look_at_tcp,
                      .row = i};
  }
  return causes;
}();

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::freebsd_log
