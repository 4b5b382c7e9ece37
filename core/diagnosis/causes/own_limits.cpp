// SPDX-License-Identifier: BSD-2-Clause
// Limits of single processes, users and namespaces. No file shows how much of them is used, so memstatctl who counts it.
#include <algorithm>
#include <array>
#include <utility>

#include "core/diagnosis/culprits.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::own_limits {
namespace {

enum class Of : std::uint8_t { kProcess, kUser, kMachine };

struct Bound {
  std::string_view name;
  std::string_view question;
  std::string_view row;  ///< A holder's name, or its end; "": any.
  Of of;
  std::string_view things;  ///< In the headline, after the amount; "": the holder's name.
  std::string_view effect;
  std::string_view setting;
  Severity full;                     ///< The severity of a limit that is reached.
  std::string_view inspection = {};  ///< The inspection that names processes, if this one names users.
  std::array<std::string_view, 1> needs;
  std::string_view recorded = {};  ///< The name of the row in older recordings.
  std::string_view blind_to = {};  ///< Why the count may be too low; "": it is exact.
  std::string_view cache = {};     ///< The slab cache that has an object for each, of all users and namespaces.
  double usual_limit = 0;          ///< Of a namespace whose setting is not readable; 0: none.
};

constexpr std::string_view kUserLimits = "memstat_table_user_limit_objects";
constexpr std::string_view kLargePipes =
    "memstatctl who quotas takes the default size of each pipe, which its program may have raised";

constexpr std::array kBounds{Bound{.name = "process_files_full",
                                   .question = "files",
                                   .row = "",
                                   .of = Of::kProcess,
                                   .things = "open files",
                                   .effect = "It gets EMFILE, \"too many open files\", and cannot accept connections.",
                                   .setting = "prlimit --nofile --pid PID",
                                   .full = Severity::kNow,
                                   .needs = {"who/files"}},
                             Bound{.name = "process_maps_full",
                                   .question = "maps",
                                   .row = "",
                                   .of = Of::kProcess,
                                   .things = "mappings",
                                   .effect = "mmap, mprotect and thread creation fail with ENOMEM while memory is free.",
                                   .setting = "sysctl vm.max_map_count",
                                   .full = Severity::kNow,
                                   .needs = {"who/maps"}},
                             Bound{.name = "user_tasks_full",
                                   .question = "user-tasks",
                                   .row = "tasks",
                                   .of = Of::kUser,
                                   .things = "",
                                   .effect = "Its programs cannot start threads or processes: EAGAIN.",
                                   .setting = "prlimit --nproc --pid PID",
                                   .full = Severity::kNow,
                                   .inspection = "threads",
                                   .needs = {"who/user-tasks"}},
                             Bound{.name = "user_signals_full",
                                   .question = "user-tasks",
                                   .row = "queued signals and timers",
                                   .of = Of::kUser,
                                   .things = "",
                                   .effect = "timer_create and sigqueue fail with EAGAIN.",
                                   .setting = "prlimit --sigpending --pid PID",
                                   .full = Severity::kNow,
                                   .needs = {"who/user-tasks"}},
                             Bound{.name = "pipe_quota",
                                   .question = "quotas",
                                   .row = "pages of pipes, at least",
                                   .of = Of::kUser,
                                   .things = "pages of pipes",
                                   .effect = "Its new pipes hold 8 KiB instead of 64, so pipelines are slow.",
                                   .setting = "sysctl fs.pipe-user-pages-soft",
                                   .full = Severity::kWasteful,
                                   .inspection = "pipes",
                                   .needs = {"who/quotas"},
                                   .recorded = "pages of pipes",
                                   .blind_to = kLargePipes},
                             Bound{.name = "pipes_full",
                                   .question = "quotas",
                                   .row = "pages of pipes, at least (hard limit)",
                                   .of = Of::kUser,
                                   .things = "pages of pipes",
                                   .effect = "pipe fails with ENFILE.",
                                   .setting = "sysctl fs.pipe-user-pages-hard",
                                   .full = Severity::kNow,
                                   .inspection = "pipes",
                                   .needs = {"who/quotas"},
                                   .recorded = "pages of pipes at most",
                                   .blind_to = kLargePipes},
                             Bound{.name = "epoll_watches_full",
                                   .question = "quotas",
                                   .row = "epoll watches",
                                   .of = Of::kUser,
                                   .things = "",
                                   .effect = "epoll_ctl fails with ENOSPC, \"no space left on device\".",
                                   .setting = "sysctl fs.epoll.max_user_watches",
                                   .full = Severity::kNow,
                                   .needs = {"who/quotas"},
                                   .cache = "eventpoll_epi"},
                             Bound{.name = "fanotify_marks_full",
                                   .question = "quotas",
                                   .row = "fanotify marks",
                                   .of = Of::kUser,
                                   .things = "",
                                   .effect = "fanotify_mark fails with ENOSPC.",
                                   .setting = "sysctl fs.fanotify.max_user_marks",
                                   .full = Severity::kNow,
                                   .needs = {"who/quotas"}},
                             Bound{.name = "namespaces_full",
                                   .question = "quotas",
                                   .row = " namespaces",
                                   .of = Of::kMachine,
                                   .things = "",
                                   .effect = "unshare and clone fail with ENOSPC: containers do not start.",
                                   .setting = "sysctl -a -r '^user.max_.*_namespaces'; lsns",
                                   .full = Severity::kNow,
                                   .needs = {"who/quotas"}},
                             Bound{.name = "mounts_full",
                                   .question = "mounts",
                                   .row = "",
                                   .of = Of::kMachine,
                                   .things = "mounts in a namespace",
                                   .effect = "mount fails with ENOSPC.",
                                   .setting = "sysctl fs.mount-max",
                                   .full = Severity::kNow,
                                   .needs = {"who/mounts"}},
                             Bound{.name = "mqueue_full",
                                   .question = "message-queues",
                                   .row = "",
                                   .of = Of::kMachine,
                                   .things = "POSIX message queues",
                                   .effect = "mq_open fails with ENOSPC, except for root.",
                                   .setting = "sysctl fs.mqueue.queues_max",
                                   .full = Severity::kNow,
                                   .needs = {"who/message-queues"},
                                   .cache = "mqueue_inode_cache",
                                   .usual_limit = 256}};

struct Use {
  const Holder* holder = nullptr;
  double count = 0;
  double limit = 0;
};

/// Some programs lower a limit below their usage to get no more, and the processes of a user may have different limits.
constexpr double kMaxShareOfUser = 1.1;
constexpr double kMaxShareOfProcess = 1.01;

Use fullest(const InspectionAnswer& answer, const Bound& bound) {
  Use most;
  for (const Holder& holder : answer.holders) {
    const bool is_row = bound.of == Of::kMachine ? holder.name.ends_with(bound.row)
                                                 : holder.name == bound.row || holder.name == bound.recorded;
    if ((!bound.row.empty() && !is_row) || !holder.count || holder.limit.value_or(0) == 0) continue;
    const Use use{&holder, static_cast<double>(*holder.count), static_cast<double>(*holder.limit)};
    const double share = use.count / use.limit;
    if (bound.of == Of::kUser && share > kMaxShareOfUser) continue;
    if (bound.of == Of::kProcess && share > kMaxShareOfProcess) continue;
    if (most.holder == nullptr || share * most.limit > most.count) most = use;
  }
  return most;
}

std::string subject_of(const Bound& bound, const Holder& holder) {
  if (bound.of == Of::kProcess) return short_name(holder.command, 24) + " (pid " + std::to_string(holder.pid) + ") has ";
  if (bound.of == Of::kUser) return "User " + short_name(holder.user, 24) + " has ";
  return "There are ";
}

/// "When the limit is reached, its programs cannot start threads."
std::string at_limit(std::string_view effect) {
  std::string text = "When the limit is reached, " + std::string(effect);
  char& first = text[text.size() - effect.size()];
  if (first >= 'A' && first <= 'Z') first = static_cast<char>(first - 'A' + 'a');
  return text;
}

/// Each IPC namespace has an inode for the directory of its queues; nothing: it is not known how many there are.
std::optional<double> queue_directories(const Evidence& evidence) {
  const auto namespaces = evidence.inspected_count("quotas", "ipc namespaces");  // without that of boot
  return namespaces ? std::optional(1 + *namespaces) : std::nullopt;
}

constexpr ViewParts kViewOfHolders = ViewPart::kProcesses | ViewPart::kIpc | ViewPart::kUsers;

/// All users or namespaces together have as much as one may have, but the answer does not attribute it: not all processes
/// could be inspected, or the limit is that of another namespace.
void look_at_cache(const Evidence& evidence, const Cause& cause, const InspectionAnswer& answer, const Use& use,
                   Findings& found) {
  const Bound& bound = kBounds[cause.row];
  const TypeEvidence* const cache = evidence.type(Allocator::kSlab, bound.cache);
  if (bound.cache.empty() || cache == nullptr || !cache->objects || evidence.view.lacks(kViewOfHolders)) return;
  const bool is_of_queues = bound.usual_limit > 0;
  const auto directories = is_of_queues ? queue_directories(evidence) : 0;
  if (!directories) return;
  const double own_limit = is_of_queues ? bound.usual_limit : evidence.value(kUserLimits, "epoll_watches").value_or(0);
  const double limit = use.limit > 0 ? use.limit : own_limit;
  const double count = *cache->objects - *directories;
  if (limit <= 0 || count < kNearShare * limit) return;
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                 count_text(count) +
                                     (is_of_queues ? " POSIX message queues in all, one namespace may have "
                                                   : " epoll watches in all, one user may have ") +
                                     count_text(limit));
  finding.fact({.text = count_text(*cache->objects) + " objects of the slab cache " + std::string(bound.cache),
                .source = "slab/" + std::string(bound.cache),
                .value = count,
                .limit = limit});
  if (use.holder != nullptr && answer.is_partial()) {
    const std::string subject = subject_of(bound, *use.holder);
    finding.fact({.text = subject + "at least " + count_text(use.count) + " of them",
                  .source = "who/" + std::string(bound.question),
                  .value = use.count,
                  .limit = use.limit});
  }
  add_share(answer, finding);
  finding.is_about("slab", bound.cache)
      .leads_to(at_limit(bound.effect))
      .then("memstatctl who " + std::string(bound.question))
      .then(bound.setting);
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  const Bound& bound = kBounds[cause.row];
  const InspectionAnswer* const answer = evidence.recent_inspection(bound.question);
  if (answer == nullptr) return;
  // The settings of a user namespace are its own, and users outside it are one.
  if (bound.of != Of::kProcess && evidence.view.lacks(ViewPart::kUsers)) return;
  const Use use = fullest(*answer, bound);
  if (use.count < kNearShare * use.limit || use.holder == nullptr) {
    const std::size_t before = found.size();
    const bool is_unknown = answer->is_partial() || bound.usual_limit > 0;
    if (is_unknown) look_at_cache(evidence, cause, *answer, use, found);
    if (found.size() != before || use.holder == nullptr) return;
  }
  // The count for a process is complete. The count for a user only includes the processes that could be inspected.
  const bool is_partial = bound.of != Of::kProcess && answer->is_partial();
  if (use.count < (is_partial ? kPartialShare : kNearShare) * use.limit) return;
  const bool is_full = use.count >= kFullShare * use.limit;
  const Holder& holder = *use.holder;
  const std::string things(bound.things.empty() ? std::string_view(holder.name) : bound.things);
  std::string headline = subject_of(bound, holder) + (is_partial || !bound.blind_to.empty() ? "at least " : "") +
                         of_limit_text(use.count, use.limit) + " " + things;
  Finding& finding = add_finding(found, cause, is_full ? bound.full : Severity::kNotable,
                                 is_full ? Certainty::kLikely : Certainty::kPossible, std::move(headline));
  finding.fact({.text = use.count > use.limit ? "above its limit" : percent_text(use.count / use.limit) + " of its limit",
                .source = "who/" + std::string(bound.question),
                .value = use.count,
                .limit = use.limit});
  if (bound.of == Of::kUser) finding.by("user", holder.user);
  if (holder.pid != 0) finding.by("process", short_name(holder.command) + " (pid " + std::to_string(holder.pid) + ")");
  if (holder.group.size() > 1) finding.by("group", holder.group);
  add_share(*answer, finding);
  finding.leads_to(is_full ? std::string(bound.effect) : at_limit(bound.effect));
  finding.then("memstatctl who " + std::string(bound.question)).then(bound.setting);
}

/// A parent that does not wait for its children. A few zombies are normal.
void look_at_zombies(const Evidence& evidence, const Cause& cause, Findings& found) {
  const InspectionAnswer* const answer = evidence.recent_inspection("zombies");
  if (answer == nullptr || answer->holders.empty()) return;
  const Holder& parent = answer->holders.front();
  const double count = static_cast<double>(parent.count.value_or(0));
  double all = 0;
  for (const Holder& one : answer->holders) all += static_cast<double>(one.count.value_or(0));
  constexpr double kMany = 50;
  if (count < kMany && all < 2 * kMany) return;
  const TypeEvidence* const threads = evidence.type(Allocator::kTable, "threads");
  const bool is_much = threads != nullptr && threads->limit_objects && count >= 0.25 * *threads->limit_objects;
  const std::string process = short_name(parent.command, 24) + " (pid " + std::to_string(parent.pid) + ")";
  Finding& finding =
      add_finding(found, cause, is_much ? Severity::kWasteful : Severity::kNotable, Certainty::kLikely,
                  count >= kMany ? process + " does not wait for " + count_text(count) + " children that have ended"
                                 : count_text(all) + " children have ended, and " + process + " and others do not wait");
  finding.fact({.text = std::string(at_least(*answer)) + count_text(all) + " zombies",
                .source = "who/zombies",
                .value = all,
                .limit = kMany});
  add_share(*answer, finding);
  finding.by("process", process).is_about("table", "threads");
  if (parent.group.size() > 1) finding.by("group", parent.group);
  finding.leads_to("Each keeps a thread of the table and a process number until its parent ends.")
      .then("memstatctl who zombies")
      .then("ps -o pid,ppid,stat,comm --ppid " + std::to_string(parent.pid) + " | head");
}

constexpr std::string_view kUses[] = {kUserLimits};
constexpr std::string_view kZombieNeeds[] = {"who/zombies"};

/// Each zombie keeps its thread and its group's memory for it.
constexpr std::string_view kZombieSymptoms[] = {"thread_growth"};
constexpr std::string_view kZombieGroupSymptoms[] = {"cgroup_growth", "slab_leak", "kmalloc_leak", "memory_growth",
                                                     "table_growth"};

constexpr auto kLimits = causes_of<kBounds>([](const Bound& bound) {
  return Cause{.name = bound.name,
               .looks_for = "A process, user or namespace has reached its limit.",
               .system = CauseSystem::kLinux,
               .needs = bound.needs,
               .uses = kUses,
               .runbook = "MemstatUserQuota",
               .inspection = bound.inspection,
               .blind_to = bound.blind_to,
               .is_of_limits = true,
               .look = look};
});
constexpr auto kCauses = [] {
  std::array<Cause, kLimits.size() + 1> causes{};
  std::copy(kLimits.begin(), kLimits.end(), causes.begin());
  causes.back() = {.name = "zombies",
                   .looks_for = "A process does not wait for children that have ended.",
                   .system = CauseSystem::kLinux,
                   .needs = kZombieNeeds,
                   .explains = kZombieSymptoms,
                   .explains_of_group = kZombieGroupSymptoms,
                   .is_of_limits = true,
                   .look = look_at_zombies};
  return causes;
}();

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::own_limits
