// SPDX-License-Identifier: BSD-2-Clause
// Control groups at their limits: full of memory that cannot be reclaimed, throttled, or out of tasks.
#include <algorithm>
#include <array>

#include "core/diagnosis/deep_limits.h"
#include "core/diagnosis/ended.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::cgroup {
namespace {

constexpr std::string_view kLogEvents = "memstat_kernel_log_events_total";

/// Bytes that the group can still allocate until its own limit. Nothing: a group above decides, or it is unknown.
std::optional<double> headroom(const Evidence& evidence, std::string_view group, std::string_view until) {
  const auto find = [&](std::string_view metric) -> const MetricEvidence* {
    const auto samples = evidence.samples(metric);
    const auto found = std::find_if(samples.begin(), samples.end(), [&](const MetricEvidence& one) {
      return one.labels[0] == group && one.labels[1] == until;
    });
    return found == samples.end() ? nullptr : &*found;
  };
  const MetricEvidence* const left = find(kGroupHeadroom);
  return left == nullptr || find(kGroupHeadroomSetBy) != nullptr ? std::nullopt : std::optional(left->value);
}

/// The memory of a group that the kernel cannot reclaim: program memory, tmpfs, and the unreclaimable part of kernel memory.
/// Nothing: unknown.
std::optional<double> fixed_bytes(const Evidence& evidence, std::string_view group) {
  const auto anonymous = evidence.value("memstat_memcg_anonymous_bytes", group);
  if (!anonymous) return std::nullopt;
  return *anonymous + charged_to(evidence, group, kSharedMemory, Holds::kNow) +
         evidence.value("memstat_memcg_kernel_bytes", group).value_or(0) -
         evidence.value("memstat_memcg_reclaimable_kernel_bytes", group).value_or(0);
}

/// The part of a limit that is not headroom, or else the memory that cannot be reclaimed.
std::optional<double> fixed_within(const Evidence& evidence, std::string_view group, std::string_view until, double limit) {
  const auto left = headroom(evidence, group, until);
  return left ? std::max(0.0, limit - *left) : fixed_bytes(evidence, group);
}

/// Full of program memory within minutes.
void look_at_filling(const Evidence& evidence, const Cause& cause, const TypeEvidence& group, double fixed,
                     Findings& found) {
  const MetricEvidence* const programs = evidence.sample(kGroupAnonymous, group.name);
  if (programs == nullptr) return;
  const auto left = quick_outlook(evidence, programs->change, fixed, *group.limit_bytes);
  if (!left) return;
  Finding& finding = add_finding(found, cause, Severity::kSoon, Certainty::kLikely,
                                 "Control group " + short_name(group.name, 36) + " is full in " + duration_words(*left) +
                                     ": " + bytes_text(fixed) + " of " + bytes_text(*group.limit_bytes));
  finding.fact({.text = "program memory grew by " + bytes_text(programs->change.recent) + " in " +
                        duration_words(evidence.recent_seconds),
                .source = std::string(kGroupAnonymous),
                .value = programs->change.recent,
                .limit = group.limit_bytes,
                .window_seconds = evidence.recent_seconds});
  finding.seconds_left = left;
  finding.bytes = fixed;
  finding.is_about("memcg", group.name).by("group", group.name);
  finding.leads_to("When it is used up, the kernel kills a process of the group.");
  finding.then("cat " + group_file(evidence, group.name, "/memory.stat") + " | head");
}

/// A group that is not read is often at its limit. Its share of reclaimable memory is unknown, but hardly less than that of
/// all groups beside it.
void look_at_limits_below(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto events = evidence.samples(kGroupEvents);
  const auto is_pressed = [&](const MetricEvidence& one) {
    return one.labels[1] == "max" && one.change.recent > 0 && !ended(evidence, one.change);
  };
  for (const MetricEvidence& one : events) {
    const std::string_view group = one.labels[0];
    const TypeEvidence* const type = evidence.type(Allocator::kMemcg, group);
    if (!is_pressed(one) || group == "/" || type == nullptr || type->limit_bytes || !type->bytes) continue;
    const bool is_read = std::any_of(events.begin(), events.end(), [&](const MetricEvidence& other) {
      return is_pressed(other) && is_below(other.labels[0], group);
    });
    if (is_read || fixed_bytes(evidence, group).value_or(0) < kNearShare * *type->bytes) continue;
    Finding& finding =
        add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                    "A group below " + short_name(group, 36) + " is at its limit, and little can be reclaimed");
    finding.fact(
        {.text = "at the limit " + count_text(one.change.recent) + " times in " + duration_words(evidence.recent_seconds),
         .source = std::string(kGroupEvents),
         .value = one.change.recent,
         .window_seconds = evidence.recent_seconds});
    finding.bytes = *type->bytes;
    finding.is_about("memcg", group).by("group", group);
    finding.leads_to("When it is used up, the kernel kills a process of the group.");
    finding.then("grep . $(find " + group_file(evidence, group, "") + " -name memory.max) | grep -v max$");
  }
}

/// How often the group ran out of memory lately although no process was killed, because all are protected.
double failed_without_kill(const Evidence& evidence, const TypeEvidence& group) {
  if (group.failures.recent <= 0 || is_version_1(evidence) || ended(evidence, group.failures)) return 0;
  for (const MetricEvidence& one : evidence.samples(kGroupEvents)) {
    if (one.labels[0] == group.name && one.labels[1] == "oom_kill") return one.change.recent > 0 ? 0 : group.failures.recent;
  }
  return 0;
}

/// A group full of page cache is healthy, because the cache is reclaimed on demand.
constexpr DeepLimit kDeepMemory{.row = "memory",
                                .headline = " is nearly full of memory that cannot be reclaimed: ",
                                .effect = "When it is used up, the kernel kills a process of the group.",
                                .file = "/sys/fs/cgroup/memory.stat",
                                .reached = Severity::kNotable,
                                .is_bytes = true};

void look_at_limit(const Evidence& evidence, const Cause& cause, Findings& found) {
  look_at_limits_below(evidence, cause, found);
  add_deep_limits(evidence, cause, kDeepMemory, kGroupAnonymous, found);
  for (const TypeEvidence& group : evidence.types) {
    if (group.allocator != Allocator::kMemcg || !group.limit_bytes || !group.bytes || *group.limit_bytes <= 0) continue;
    if (*group.bytes < kFillingShare * *group.limit_bytes) continue;
    const auto fixed = fixed_within(evidence, group.name, "max", *group.limit_bytes);
    if (!fixed) continue;
    if (*fixed < kNearShare * *group.limit_bytes || *group.bytes < kNearShare * *group.limit_bytes) {
      look_at_filling(evidence, cause, group, *fixed, found);
      continue;
    }
    const bool is_pressed = group.sleeps.recent > 0;
    const double failed = failed_without_kill(evidence, group);
    const std::string name = "Control group " + short_name(group.name, 36);
    Finding& finding = add_finding(found, cause,
                                   failed > 0   ? Severity::kNow
                                   : is_pressed ? Severity::kWasteful
                                                : Severity::kNotable,
                                   failed > 0   ? Certainty::kConfirmed
                                   : is_pressed ? Certainty::kLikely
                                                : Certainty::kPossible,
                                   failed > 0 ? name + " is out of memory, and no process of it is killed"
                                              : name + " is nearly full: " + bytes_text(*fixed) + " of " +
                                                    bytes_text(*group.limit_bytes) + " cannot be reclaimed");
    finding.refused = failed;
    if (failed > 0) {
      finding.fact({.text = "out of memory " + count_text(failed) + " times in " + duration_words(evidence.recent_seconds) +
                            ", 0 kills",
                    .source = std::string(kGroupEvents),
                    .value = failed,
                    .window_seconds = evidence.recent_seconds});
    }
    const auto left = headroom(evidence, group.name, "max");
    finding.fact({.text = left ? bytes_text(*left) + " can still be allocated before a process is killed"
                               : percent_text(*fixed / *group.limit_bytes) + " of the limit is program and kernel memory",
                  .source = left ? std::string(kGroupHeadroom) : "memcg/" + std::string(group.name),
                  .value = fixed,
                  .limit = group.limit_bytes});
    if (is_pressed) {
      finding.fact({.text = "hit its limit " + count_text(group.sleeps.recent) + " times in " +
                            duration_words(evidence.recent_seconds),
                    .source = "memcg/" + std::string(group.name),
                    .value = group.sleeps.recent,
                    .window_seconds = evidence.recent_seconds});
    }
    finding.bytes = *group.bytes;
    finding.is_about("memcg", group.name).by("group", group.name);
    finding.leads_to(
        failed > 0 ? "Its processes are protected, or none of them has started yet. Requests beyond the limit fail, or are "
                     "repeated."
                   : "Only the rest is left for page cache and new requests. When it is used up, the kernel kills a process "
                     "of the group.");
    finding.then("cat " + group_file(evidence, group.name, "/memory.stat") + " | head");
  }
}

constexpr std::string_view kHigh = "memstat_memcg_high_bytes";

/// Events of a group include those of all groups below it, even of groups too deep to be read.
void look_below(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto events = evidence.samples(kGroupEvents);
  const auto is_throttled = [](const MetricEvidence& one) { return one.labels[1] == "high" && one.change.recent > 0; };
  for (const MetricEvidence& one : events) {
    const std::string_view group = one.labels[0];
    if (!is_throttled(one) || evidence.value(kHigh, group)) continue;
    const bool is_read = std::any_of(events.begin(), events.end(), [&](const MetricEvidence& other) {
      return is_throttled(other) && is_below(other.labels[0], group);
    });
    const double stalled = evidence.time_share(charged_to(evidence, group, kStalled, Holds::kGainedLately));
    if (is_read || stalled <= 0.1 || has_stopped_waiting(evidence, group)) continue;
    Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kLikely,
                                   "A group below " + short_name(group, 36) + " is slowed down at its memory.high");
    finding.fact({.text = count_text(one.change.recent) + " times throttled in " + duration_words(evidence.recent_seconds),
                  .source = std::string(kGroupEvents),
                  .value = one.change.recent,
                  .window_seconds = evidence.recent_seconds});
    finding.fact({.text = "its programs waited for memory for " + percent_text(stalled) + " of the time",
                  .source = std::string(kGroupStalls),
                  .value = stalled});
    finding.is_about("memcg", group).by("group", group);
    finding.leads_to("Its programs are made to sleep when they allocate. None is killed.");
    finding.then("grep . $(find " + group_file(evidence, group, "") + " -name memory.high) | grep -v max");
  }
}

void look_at_high(const Evidence& evidence, const Cause& cause, Findings& found) {
  look_below(evidence, cause, found);
  for (const MetricEvidence& high : evidence.samples(kHigh)) {
    const TypeEvidence* const group = evidence.type(Allocator::kMemcg, high.labels[0]);
    if (group == nullptr || !group->bytes || high.value <= 0) continue;
    const double stalled = evidence.time_share(charged_to(evidence, group->name, kStalled, Holds::kGainedLately));
    // A program sleeps for up to two seconds before it reaches that limit again.
    const bool is_met = group->sleeps.recent > 0 || (group->sleeps.total > 0 && stalled > 0.1);
    if (!is_met || *group->bytes < (stalled > 0.1 ? 0.95 : 1.02) * high.value) continue;
    // Page cache above the limit is reclaimed at once. Programs that read much of it wait for that, too, but not for long.
    const bool is_cache =
        fixed_within(evidence, group->name, "high", high.value).value_or(*group->bytes) < kNearShare * high.value;
    if (is_cache && (stalled <= 0.25 || has_stopped_waiting(evidence, group->name))) continue;
    Finding& finding = add_finding(
        found, cause, Severity::kNow, Certainty::kLikely,
        "Control group " + short_name(group->name, 36) + " is slowed down at memory.high, " + bytes_text(high.value));
    finding.fact({.text = bytes_text(*group->bytes) + " in use, " + count_text(group->sleeps.recent) +
                          " times throttled in " + duration_words(evidence.recent_seconds),
                  .source = "memcg/" + std::string(group->name),
                  .value = group->bytes,
                  .limit = high.value,
                  .window_seconds = evidence.recent_seconds});
    finding.bytes = *group->bytes;
    finding.is_about("memcg", group->name).by("group", group->name);
    finding.leads_to("Its programs are made to sleep when they allocate. None is killed.");
    finding.then("cat " + group_file(evidence, group->name, "/memory.pressure"));
  }
}

DeepLimit deep_tasks(const Evidence& evidence) {
  return {.row = "tasks",
          .headline = " is at its limit of tasks: ",
          .effect = "New processes and threads in it fail with EAGAIN.",
          .file = is_version_1(evidence) ? "/sys/fs/cgroup/pids/pids.max" : "/sys/fs/cgroup/pids.max",
          .reached = Severity::kNow};
}

/// The number of tasks moves fast: a group may be near its limit again and again, and at no poll.
void look_at_highest_tasks(const Evidence& evidence, const Cause& cause, const MetricEvidence& limit,
                           const MetricEvidence& tasks, Findings& found) {
  const double highest = tasks.change.highest;
  if (highest < kNearShare * limit.value) return;
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                 "Control group " + short_name(limit.labels[0], 30) + " was near its limit of tasks: " +
                                     of_limit_text(highest, limit.value) + " at the highest");
  finding.fact({.text = count_text(highest) + " tasks at the highest in " + duration_words(evidence.recent_seconds) + ", " +
                        count_text(tasks.value) + " now",
                .source = "memstat_memcg_tasks",
                .value = highest,
                .limit = limit.value,
                .window_seconds = evidence.recent_seconds});
  finding.is_past = true;
  finding.by("group", limit.labels[0]).leads_to("At the limit, new processes and threads fail with EAGAIN.");
  finding.then("cat " + group_file(evidence, limit.labels[0], "/pids.max"));
}

void look_at_tasks(const Evidence& evidence, const Cause& cause, Findings& found) {
  add_deep_limits(evidence, cause, deep_tasks(evidence), "memstat_memcg_tasks_limit", found);
  const MetricEvidence* const lines = evidence.sample(kLogEvents, "pids_full");
  const LoggedEvidence* const line = evidence.last_line("pids_full");
  for (const MetricEvidence& limit : evidence.samples("memstat_memcg_tasks_limit")) {
    const MetricEvidence* const count = evidence.sample("memstat_memcg_tasks", limit.labels[0]);
    if (count == nullptr || limit.value <= 0) continue;
    const std::optional<double> tasks = count->value;
    if (*tasks < kNearShare * limit.value) {
      look_at_highest_tasks(evidence, cause, limit, *count, found);
      continue;
    }
    // The line names the group that forked, which may be below the one at its limit.
    const bool is_refused = lines != nullptr && lines->change.recent > 0 && !ended(evidence, lines->change) &&
                            (line == nullptr || line->subject.empty() || is_within(line->subject, limit.labels[0]));
    const bool is_full = *tasks >= limit.value || is_refused;
    Finding& finding = add_finding(found, cause, is_full ? Severity::kNow : Severity::kNotable,
                                   is_refused ? Certainty::kConfirmed
                                   : is_full  ? Certainty::kLikely
                                              : Certainty::kPossible,
                                   "Control group " + short_name(limit.labels[0], 36) +
                                       (is_full ? " has reached its limit of tasks: " : " is near its limit of tasks: ") +
                                       of_limit_text(*tasks, limit.value));
    finding.fact(
        {.text = count_text(*tasks) + " tasks", .source = "memstat_memcg_tasks", .value = tasks, .limit = limit.value});
    finding.by("group", limit.labels[0])
        .leads_to(is_full ? "New processes and threads in it fail with EAGAIN."
                          : "At the limit, new processes and threads fail with EAGAIN.");
    finding.then("cat " + group_file(evidence, limit.labels[0], "/pids.max"));
  }
}

void look_at_sockets(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& one : evidence.samples(kGroupEvents)) {
    if (one.labels[1] != "sock_throttled" || evidence.rate(one.change.recent) < 0.1) continue;
    Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kConfirmed,
                                   "Control group " + short_name(one.labels[0], 36) + ": reclaim slows its sockets");
    finding.fact({.text = count_text(one.change.recent) + " times in " + duration_words(evidence.recent_seconds),
                  .source = std::string(one.metric),
                  .value = one.change.recent,
                  .window_seconds = evidence.recent_seconds});
    finding.by("group", one.labels[0]).is_about("memcg", one.labels[0]);
  }
}

constexpr std::string_view kLimitNeeds[] = {"memcg/*", "memstat_memcg_anonymous_bytes"};
constexpr std::string_view kLimitUses[] = {
    kGroupEvents, kGroupLimits,   "memstat_memcg_kernel_bytes", "memstat_memcg_reclaimable_kernel_bytes",
    kGroupParts,  kGroupHeadroom, kGroupHeadroomSetBy};
constexpr std::string_view kHighUses[] = {kHigh,          kGroupStalls,       kGroupAnonymous,
                                          kGroupKernel,   kGroupParts,        "memstat_memcg_reclaimable_kernel_bytes",
                                          kGroupHeadroom, kGroupHeadroomSetBy};
constexpr std::string_view kHighNeeds[] = {kGroupEvents};
constexpr std::string_view kHighExplains[] = {"memory_stalls", "direct_reclaim", "cgroup_thrash", "reclaim_thrash",
                                              "swap_thrash"};
constexpr std::string_view kTaskNeeds[] = {"memstat_memcg_tasks_limit", "memstat_memcg_tasks"};
constexpr std::string_view kTaskUses[] = {kLogEvents, kGroupEvents, kGroupLimits};
constexpr std::string_view kSocketNeeds[] = {kGroupEvents};

constexpr std::array kCauses{
    Cause{.name = "cgroup_full",
          .looks_for = "Memory that cannot be reclaimed nearly fills a control group's limit.",
          .system = CauseSystem::kLinux,
          .needs = kLimitNeeds,
          .uses = kLimitUses,
          .runbook = "MemstatControlGroupAtLimit",
          .look = look_at_limit},
    Cause{.name = "cgroup_throttled",
          .looks_for = "A control group is above memory.high, and its programs are made to sleep.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kHighNeeds,
          .uses = kHighUses,
          .explains = kHighExplains,
          .runbook = "MemstatControlGroupAtLimit",
          .look = look_at_high},
    Cause{.name = "cgroup_tasks_full",
          .looks_for = "A control group has reached its limit of tasks.",
          .system = CauseSystem::kLinux,
          .needs = kTaskNeeds,
          .uses = kTaskUses,
          .runbook = "MemstatControlGroupTasks",
          .look = look_at_tasks},
    Cause{.name = "cgroup_sockets_throttled",
          .looks_for = "Reclaim in a control group keeps the windows of its TCP sockets small.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kSocketNeeds,
          .look = look_at_sockets},
};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::cgroup
