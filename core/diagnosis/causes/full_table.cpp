// SPDX-License-Identifier: BSD-2-Clause
// Full tables of a kernel: requests for another entry are refused.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::full_table {
namespace {

struct Table {
  std::string_view name;
  std::string_view type;
  CauseSystem system;
  std::string_view things;           ///< the entries, for the headline
  std::string_view effect;           ///< effect of a full table
  std::string_view who;              ///< a command that names the holder
  std::string_view limit;            ///< a command that shows the limit
  std::string_view inspection = {};  ///< the inspection that names the holder
  std::array<std::string_view, 1> needs;
  bool is_harmless = false;                ///< it may be full on healthy machines: at most notable
  std::string_view logs = {};              ///< the event that the kernel logs when it refuses
  bool is_part_of_inspected = false;       ///< what is inspected only bounds what each process holds of the table
  bool is_swept = false;                   ///< frees entries right after a refusal, so it need not look full
  double full_share = 1;                   ///< share of the limit from which all but root are refused
  std::string_view effect_when_full = {};  ///< "": the same
};

/// Matches types without a row.
constexpr std::string_view kOthers = "*";

constexpr std::array kTables{
    Table{.name = "open_files_full",
          .type = "files",
          .system = CauseSystem::kLinux,
          .things = "open files",
          .effect = "Opening files and sockets fails with ENFILE, except for root.",
          .who = "for p in /proc/[0-9]*; do echo $(ls $p/fd 2>/dev/null | wc -l) $p $(cat $p/comm); done | sort -rn | head",
          .limit = "sysctl fs.file-max",
          .inspection = "files",
          .needs = {"table/files"},
          .logs = "files_full"},
    Table{.name = "threads_full",
          .type = "threads",
          .system = CauseSystem::kLinux,
          .things = "threads",
          .effect = "New processes and threads fail with EAGAIN.",
          .who = "ps -eo nlwp,pid,user,comm --sort=-nlwp | head",
          .limit = "sysctl kernel.threads-max kernel.pid_max",
          .inspection = "threads",
          .needs = {"table/threads"}},
    Table{.name = "aio_full",
          .type = "aio_events",
          .system = CauseSystem::kLinux,
          .things = "asynchronous I/O events",
          .effect = "io_setup fails with EAGAIN.",
          .who = "grep -l '/\\[aio\\]' /proc/[0-9]*/maps",
          .limit = "sysctl fs.aio-max-nr",
          .inspection = "aio",
          .needs = {"table/aio_events"}},
    Table{.name = "sysv_shm_full",
          .type = "sysv_shm",
          .system = CauseSystem::kLinux,
          .things = "System V shared memory segments",
          .effect = "shmget fails with ENOSPC.",
          .who = "ipcs -mp",
          .limit = "sysctl kernel.shmmni kernel.shmall",
          .inspection = "segments",
          .needs = {"table/sysv_shm"}},
    Table{.name = "sysv_sem_sets_full",
          .type = "sysv_sem",
          .system = CauseSystem::kLinux,
          .things = "System V semaphore sets",
          .effect = "semget fails with ENOSPC.",
          .who = "ipcs -s",
          .limit = "sysctl kernel.sem",
          .needs = {"table/sysv_sem"}},
    Table{.name = "sysv_sem_full",
          .type = "sysv_semaphores",
          .system = CauseSystem::kLinux,
          .things = "System V semaphores",
          .effect = "semget fails with ENOSPC.",
          .who = "ipcs -s",
          .limit = "sysctl kernel.sem",
          .needs = {"table/sysv_semaphores"}},
    Table{.name = "sysv_msg_full",
          .type = "sysv_msg",
          .system = CauseSystem::kLinux,
          .things = "System V message queues",
          .effect = "msgget fails with ENOSPC.",
          .who = "ipcs -qp",
          .limit = "sysctl kernel.msgmni",
          .needs = {"table/sysv_msg"}},
    Table{.name = "ptys_full",
          .type = "ptys",
          .system = CauseSystem::kLinux,
          .things = "pseudo terminals",
          .effect = "New logins and terminals fail.",
          .who = "ls -l /dev/pts",
          .limit = "sysctl kernel.pty.max",
          .inspection = "terminals",
          .needs = {"table/ptys"}},
    Table{.name = "conntrack_full",
          .type = "conntrack",
          .system = CauseSystem::kLinux,
          .things = "tracked connections",
          .effect = "Packets of new connections are dropped.",
          .who = "conntrack -L | awk '{print $4}' | sort | uniq -c | sort -rn | head",
          .limit = "sysctl net.netfilter.nf_conntrack_max",
          .needs = {"table/conntrack"},
          .logs = "conntrack_full"},
    Table{.name = "neighbours_full",
          .type = "arp_cache",
          .system = CauseSystem::kLinux,
          .things = "IPv4 neighbours",
          .effect = "Packets to new neighbours are dropped.",
          .who = "ip -4 -s neigh show nud all | head",
          .limit = "sysctl net.ipv4.neigh.default.gc_thresh3",
          .needs = {"table/arp_cache"},
          .is_swept = true},
    Table{.name = "neighbours6_full",
          .type = "ndisc_cache",
          .system = CauseSystem::kLinux,
          .things = "IPv6 neighbours",
          .effect = "Packets to new neighbours are dropped.",
          .who = "ip -6 -s neigh show nud all | head",
          .limit = "sysctl net.ipv6.neigh.default.gc_thresh3",
          .needs = {"table/ndisc_cache"},
          .is_swept = true},
    Table{.name = "orphans_full",
          .type = "tcp_orphans",
          .system = CauseSystem::kLinux,
          .things = "orphaned TCP sockets",
          .effect = "Closed connections are reset before their data is sent.",
          .who = "ss -tan state fin-wait-1 | head",
          .limit = "sysctl net.ipv4.tcp_max_orphans",
          .needs = {"table/tcp_orphans"},
          .logs = "orphans_full"},
    Table{.name = "files_full",
          .type = "files",
          .system = CauseSystem::kFreeBsd,
          .things = "open files",
          .effect = "Opening files and sockets fails with ENFILE, except for root, for whom the last twentieth is reserved.",
          .who = "fstat | awk '{print $2, $3}' | sort | uniq -c | sort -rn | head",
          .limit = "sysctl kern.maxfiles",
          .inspection = "files",
          .needs = {"table/files"},
          .logs = "files_full"},
    Table{.name = "processes_full",
          .type = "processes",
          .system = CauseSystem::kFreeBsd,
          .things = "processes",
          .effect = "fork fails with EAGAIN, except for root.",
          .who = "ps -axo uid,ppid,pid,state,comm",
          .limit = "sysctl kern.maxproc",
          .inspection = "processes",
          .needs = {"table/processes"},
          .logs = "processes_full"},
    Table{.name = "sockets_full",
          .type = "sockets",
          .system = CauseSystem::kFreeBsd,
          .things = "sockets",
          .effect = "socket and accept fail with ENOBUFS.",
          .who = "sockstat | awk '{print $2}' | sort | uniq -c | sort -rn | head",
          .limit = "sysctl kern.ipc.maxsockets",
          .inspection = "sockets",
          .needs = {"table/sockets"}},
    Table{.name = "pipe_buffers_full",
          .type = "pipe_buffers",
          .system = CauseSystem::kFreeBsd,
          .things = "pipe buffers",
          .effect = "New pipes get small buffers, and then pipe(2) fails with ENOMEM.",
          .who = "fstat | grep pipe | head",
          .limit = "sysctl kern.ipc.maxpipekva",
          .inspection = "pipes",
          .needs = {"table/pipe_buffers"},
          .logs = "pipes_full",
          .full_share = 0.97,
          .effect_when_full =
              "pipe(2) fails with ENOMEM; root is refused last."},  // users are refused 2 % earlier, less the buffers of one
                                                                    // pipe; on 15.0 at 97.07 % of 2 MiB
    Table{.name = "user_wired_full",
          .type = "user_wired",
          .system = CauseSystem::kFreeBsd,
          .things = "pages that programs have wired",
          .effect = "mlock and bhyve -S fail with ENOMEM.",
          .who = "procstat -av | head",
          .limit = "sysctl vm.max_user_wired",
          .inspection = "anonymous",
          .needs = {"table/user_wired"},
          .is_part_of_inspected = true},
    Table{.name = "aio_jobs_full",
          .type = "aio_jobs",
          .system = CauseSystem::kFreeBsd,
          .things = "asynchronous I/O requests",
          .effect = "aio_read and aio_write fail with EAGAIN.",
          .who = "procstat -ta | grep aio",
          .limit = "sysctl vfs.aio.max_aio_queue",
          .needs = {"table/aio_jobs"}},
    Table{.name = "inotify_full",
          .type = "inotify_watches",
          .system = CauseSystem::kFreeBsd,
          .things = "inotify watches",
          .effect = "inotify_add_watch fails with ENOSPC.",
          .who = "fstat | grep inotify | head",
          .limit = "sysctl vfs.inotify.max_watches",
          .inspection = "inotify",
          .needs = {"table/inotify_watches"}},
    Table{.name = "shm_segments_full",
          .type = "sysv_shm",
          .system = CauseSystem::kFreeBsd,
          .things = "System V shared memory segments",
          .effect = "shmget fails with ENOSPC.",
          .who = "ipcs -mp",
          .limit = "sysctl kern.ipc.shmmni kern.ipc.shmall",
          .inspection = "segments",
          .needs = {"table/sysv_shm"}},
    Table{.name = "semaphore_sets_full",
          .type = "sysv_sem",
          .system = CauseSystem::kFreeBsd,
          .things = "System V semaphore sets",
          .effect = "semget fails with ENOSPC.",
          .who = "ipcs -so",
          .limit = "sysctl kern.ipc.semmni",
          .needs = {"table/sysv_sem"}},
    Table{.name = "semaphores_full",
          .type = "sysv_semaphores",
          .system = CauseSystem::kFreeBsd,
          .things = "System V semaphores",
          .effect = "semget fails with ENOSPC.",
          .who = "ipcs -sb",
          .limit = "sysctl kern.ipc.semmns",
          .needs = {"table/sysv_semaphores"}},
    Table{.name = "message_queues_full",
          .type = "sysv_msg",
          .system = CauseSystem::kFreeBsd,
          .things = "System V message queues",
          .effect = "msgget fails with ENOSPC.",
          .who = "ipcs -qp",
          .limit = "sysctl kern.ipc.msgmni",
          .needs = {"table/sysv_msg"}},
    Table{.name = "messages_full",
          .type = "sysv_messages",
          .system = CauseSystem::kFreeBsd,
          .things = "System V messages",
          .effect = "msgsnd waits, or fails with EAGAIN.",
          .who = "ipcs -qo",
          .limit = "sysctl kern.ipc.msgtql",
          .needs = {"table/sysv_messages"}},
    Table{.name = "time_wait_full",
          .type = "tcp_time_wait",
          .system = CauseSystem::kLinux,
          .things = "TCP connections in TIME-WAIT",
          .effect = "Further connections skip TIME-WAIT, so that late segments may disturb a new connection.",
          .who = "ss -tan state time-wait | awk '{print $4}' | sort | uniq -c | sort -rn | head",
          .limit = "sysctl net.ipv4.tcp_max_tw_buckets",
          .needs = {"table/tcp_time_wait"},
          .is_harmless = true},
    Table{.name = "table_full",
          .type = kOthers,
          .system = CauseSystem::kLinux,
          .things = "",
          .effect = "Requests for another entry are refused.",
          .who = "memstatctl limits",
          .limit = "memstatctl explain linux_table",
          .needs = {"table/*"}}};

/// Tables without a row.
bool is_other(const TypeEvidence& type) {
  return type.allocator == Allocator::kTable &&
         std::none_of(kTables.begin(), kTables.end(), [&](const Table& table) { return table.type == type.name; });
}

/// A larger limit is never reached (systemd sets fs.file-max to the largest number).
constexpr double kUnlimited = 1e15;

/// Whether an inspection has found one that holds at least that much.
bool has_counted_holder(const Evidence& evidence, std::string_view question, double least) {
  const InspectionAnswer* const answer = evidence.answer_about_holders(question);
  return answer != nullptr && !answer->holders.empty() &&
         static_cast<double>(answer->holders.front().count.value_or(0)) >= least;
}

/// Names the control group, for tables that are charged to groups. An open file takes at least 200 bytes, but a group's
/// kernel memory may be of something else: a holder whose files were counted is surer.
void name_user(const Evidence& evidence, const LimitState& state, std::string_view table, Finding& finding) {
  if (table == "threads") {
    name_holder(evidence, kTasks, Holds::kNow, state.used / 3, finding);
  } else if (table == "files" && !has_counted_holder(evidence, table, state.used / 3)) {
    name_holder(evidence, kKernelMemory, Holds::kNow, state.used * 200 / 3, finding);
  } else if (table == "sysv_shm" && state.is_bytes) {
    name_holder(evidence, kSharedMemory, Holds::kNow, state.used / 3, finding);
  }
}

constexpr std::string_view kSoftLimit = "memstat_table_soft_limit_objects";

/// Whether only root can get another entry. Soft limits of Linux do not refuse requests.
bool is_full_for_users(const Evidence& evidence, const Table& table, const LimitState& state) {
  if (evidence.system != EvidenceSystem::kFreeBsd) return false;
  if (state.is_bytes) return state.share >= table.full_share;
  const auto limit = evidence.value(kSoftLimit, table.type);
  return limit && state.used >= *limit;
}

constexpr std::string_view kLogEvents = "memstat_kernel_log_events_total";

bool has_logged(const Evidence& evidence, std::string_view event) {
  const MetricEvidence* const lines = evidence.sample(kLogEvents, event);
  return lines != nullptr && lines->change.recent > 0 && !ended(evidence, lines->change);
}

/// Quotes the kernel's line about the last refusal, which names who was refused.
void quote_refusal(const Evidence& evidence, const Table& table, Finding& finding) {
  const LoggedEvidence* const line = evidence.any_line(table.logs);
  if (line != nullptr && !line->line.empty())
    finding.fact({.text = "\"" + cut_text(line->line, 120) + "\"", .source = std::string(kLogEvents)});
}

void look_at(const Evidence& evidence, const Cause& cause, const TypeEvidence& type, Findings& found) {
  const Table& table = kTables[cause.row];
  const auto state = limit_state(evidence, type);
  if (!state || state->limit >= kUnlimited) return;
  auto judgement = judge(evidence, *state);
  const bool is_refused = (table.is_swept && state->refused > 0 && !state->ended_ago) ||
                          (!table.logs.empty() && state->share >= kNearShare && has_logged(evidence, table.logs));
  if (is_refused && !judgement) judgement = {Severity::kNow, Certainty::kConfirmed};
  if (!judgement) return;
  const bool is_named = !table.things.empty();
  const std::string things = (is_named ? "The table of " : "Table ") + std::string(is_named ? table.things : type.name);
  std::string headline = limit_headline(things, judgement->severity, *state);
  if (judgement->severity != Severity::kNow && is_full_for_users(evidence, table, *state)) {
    judgement = {Severity::kNow, evidence.polls >= 2 ? Certainty::kLikely : Certainty::kPossible};
    headline = things + " is full except for root: " + used_words(*state);
  }
  if (is_refused) judgement = {Severity::kNow, Certainty::kConfirmed};  // the kernel's log says so
  const Severity severity = table.is_harmless ? Severity::kNotable : judgement->severity;
  const Certainty certainty = table.is_harmless ? Certainty::kPossible : judgement->certainty;
  Finding& finding = add_finding(found, cause, severity, certainty, std::move(headline));
  add_limit_facts(evidence, type, *state, finding);
  if (table.is_harmless) finding.refused = 0;
  if (is_refused && !table.logs.empty()) quote_refusal(evidence, table, finding);
  const bool is_full = finding.severity == Severity::kNow && !table.effect_when_full.empty();
  finding.is_about("table", type.name).leads_to(is_full ? table.effect_when_full : table.effect);
  finding.then(table.who).then(table.limit);
  if (table.is_part_of_inspected) finding.bytes = state->used * (state->is_bytes ? 1 : evidence.page_bytes);
  name_user(evidence, *state, type.name, finding);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const std::string_view name = kTables[cause.row].type;
  for (const TypeEvidence& type : evidence.types) {
    if (type.allocator == Allocator::kTable && (name == kOthers ? is_other(type) : type.name == name)) {
      look_at(evidence, cause, type, found);
    }
  }
}

constexpr std::string_view kUses[] = {kGroupTasks, kGroupKernel, kGroupParts, kSoftLimit, kLogEvents};
/// Unsent data of orphans is TCP memory.
constexpr std::string_view kOrphanSymptoms[] = {"tcp_receive_dropped", "tcp_pressure", "tcp_memory_full",
                                                "requests_refused"};
/// A table without room evicts entries.
constexpr std::string_view kConntrackSymptoms[] = {"conntrack_evicts"};
constexpr std::string_view kNeighbourSymptoms[] = {"neighbours_collected"};
constexpr std::string_view kNeighbour6Symptoms[] = {"neighbours6_collected"};
constexpr std::span<const std::string_view> symptoms_of(std::string_view type) {
  if (type == "tcp_orphans") return kOrphanSymptoms;
  if (type == "conntrack") return kConntrackSymptoms;
  if (type == "arp_cache") return kNeighbourSymptoms;
  if (type == "ndisc_cache") return kNeighbour6Symptoms;
  return {};
}

constexpr auto kCauses = causes_of<kTables>([](const Table& table) {
  return Cause{.name = table.name,
               .looks_for = "A kernel table is full or filling up, and requests for another entry are refused.",
               .system = table.system,
               .needs = table.needs,
               .uses = kUses,
               .explains = symptoms_of(table.type),
               .runbook = "MemstatNearLimit",
               .inspection = table.inspection,
               .older_inspection = table.name == "processes_full" ? "anonymous" : "",
               .is_part_of_inspected = table.is_part_of_inspected,
               .look = look};
});

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::full_table
