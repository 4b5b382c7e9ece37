// SPDX-License-Identifier: BSD-2-Clause
// Processes that the kernel killed for lack of memory, of the machine or of a control group.
#include <algorithm>
#include <array>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/growth_ranking.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/kill_words.h"
#include "core/diagnosis/logged_kills.h"
#include "core/diagnosis/parts.h"
#include "core/diagnosis/words.h"
#include "core/diagnosis/zones.h"

namespace memstat::causes::kills {
namespace {

constexpr std::string_view kKernel = "kernel";
constexpr std::string_view kKills = "memstat_oom_kills_total";
constexpr std::string_view kLocalEvents = "memstat_memcg_local_events_total";
constexpr std::string_view kLogEvents = "memstat_kernel_log_events_total";
constexpr std::string_view kDirect = "memstat_allocation_stalls_total";

double kills_in(const Evidence& evidence, std::string_view group) {
  for (const MetricEvidence& one : evidence.samples(kGroupEvents)) {
    if (one.labels[0] == group && one.labels[1] == "oom_kill") return one.change.recent;
  }
  return 0;
}

/// A group below this one that also ran out of memory recently; nullptr: none. The counters `oom` and `oom_kill` of a group
/// include all groups below it.
const TypeEvidence* deepest_below(const Evidence& evidence, const TypeEvidence& group) {
  for (const TypeEvidence& other : evidence.types) {
    if (other.allocator == Allocator::kMemcg && &other != &group && other.failures.recent > 0 &&
        is_below(other.name, group.name)) {
      return &other;
    }
  }
  return nullptr;
}

/// The group whose limit caused kills in `group`; version 2 counts them at that group. nullptr: none.
const TypeEvidence* limiting_group(const Evidence& evidence, const TypeEvidence& group) {
  if (!is_version_1(evidence)) return &group;
  const TypeEvidence* deepest = nullptr;
  for (const TypeEvidence& one : evidence.types) {
    const bool is_at_limit = one.allocator == Allocator::kMemcg && one.limit_bytes && one.sleeps.recent > 0;
    if (!is_at_limit || (&one != &group && !is_below(group.name, one.name))) continue;
    if (deepest == nullptr || one.name.size() > deepest->name.size()) deepest = &one;
  }
  return deepest;
}

/// Seconds since the last kill of that kind, if no more seem to follow: by the group's own counter, or the log, or else the
/// machine's counter, which kills of other groups move, too.
std::optional<double> ended_kills(const Evidence& evidence, std::string_view group, const KillEvidence* victim) {
  for (const MetricEvidence& one : evidence.samples(kGroupEvents)) {
    if (one.labels[0] == group && one.labels[1] == "oom_kill" && one.change.recent > 0) return ended(evidence, one.change);
  }
  if (victim != nullptr && victim->seconds_ago) return ended(evidence, Count{.recent = 1, .still = *victim->seconds_ago});
  return ended(evidence, kKills, [](const MetricEvidence&) { return true; });
}

/// A kill matters even if it was the last one, so it stays as urgent, but ranks below failures that continue.
void note_end(const Evidence& evidence, std::string_view group, const KillEvidence* victim, Finding& finding) {
  const auto ago = ended_kills(evidence, group, victim);
  if (!ago) return;
  finding.is_past = true;
  finding.facts.front().text += last_time_text(ago);
}

std::string process_of(const KillEvidence& victim) { return process_words(victim.command, victim.pid); }

/// The victim, why it was chosen, and who was not.
void add_victim(const KillEvidence& victim, Finding& finding) {
  finding.killed = process_of(victim);
  finding.fact({.text = "the last victim was " + finding.killed + memory_words(victim),
                .source = "linux_kernel_log",
                .value = victim.program_bytes});
  add_decision(victim, finding);
}

enum class Limit : std::uint8_t { kOwn, kBelow, kUnknown };

/// Local events are read at every fourth poll.
constexpr double kPollsOfLocalEvents = 4;

/// The group at its limit. The counters of version 2 include the groups below, even removed ones; local events do not.
Limit limit_of(const Evidence& evidence, std::string_view group, const std::vector<std::string_view>& logged) {
  if (!logged.empty()) {
    const bool is_logged = std::find(logged.begin(), logged.end(), group) != logged.end();
    return is_logged ? Limit::kOwn : Limit::kBelow;
  }
  for (const MetricEvidence& one : evidence.samples(kLocalEvents)) {
    if (one.labels[0] != group || one.labels[1] != "oom" || one.change.recent > 0) continue;
    const TypeEvidence* const type = evidence.type(Allocator::kMemcg, group);
    const double ago = type == nullptr ? 0 : type->failures.still;
    return ago >= kPollsOfLocalEvents * evidence.poll_seconds ? Limit::kBelow : Limit::kUnknown;
  }
  return Limit::kOwn;
}

/// A command that raises the limit; "": there is none.
std::string raise_command(const Evidence& evidence, const GroupAtLimit& group) {
  if (group.limit_bytes <= 0 || evidence.type(Allocator::kMemcg, group.group) == nullptr) return {};
  return "echo " + std::to_string(wider_limit_mib(evidence, group)) + "M > " +
         group_file(evidence, group.group, is_version_1(evidence) ? "/memory.limit_in_bytes" : "/memory.max");
}

/// Follows what the kill leads to.
void add_prevention(const std::string& text, Finding& finding) {
  if (!text.empty()) finding.effect += " " + text;
}

/// The highest use of the group, where the kernel has it.
void add_peak(const Evidence& evidence, std::string_view group, const std::optional<double>& limit, Finding& finding) {
  const MetricEvidence* const peak = evidence.sample(kGroupPeak, group);
  if (peak == nullptr) return;
  finding.fact({.text = bytes_text(peak->value) + " at most since it was created",
                .source = std::string(kGroupPeak),
                .value = peak->value,
                .limit = limit});
}

/// `group` is the innermost one that is read. The log also names groups below it, and those that were removed with their
/// last process.
void add_group(const Evidence& evidence, const Cause& cause, std::string_view group, double kills, double times,
               Findings& found) {
  const std::vector<std::string_view> logged = logged_groups(evidence, group);
  const std::string_view limiting = logged.size() == 1 ? logged[0] : group;
  const TypeEvidence* const type = evidence.type(Allocator::kMemcg, limiting);
  const Limit whose = limit_of(evidence, limiting, logged);
  const auto limit = type == nullptr || whose != Limit::kOwn ? std::nullopt : type->limit_bytes;
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                 "Control group " + short_name(limiting, 36) + ": " +
                                     counted(std::max(kills, 1.0), "process", "processes") + " killed" +
                                     (limit                    ? " at its limit of " + bytes_text(*limit)
                                      : logged.size() == 1     ? std::string(" at its limit")
                                      : whose == Limit::kBelow ? " below it in " + duration_words(evidence.recent_seconds)
                                                               : std::string()));
  finding.killer = kKernel;
  finding.is_about("memcg", limiting);
  constexpr std::size_t kMaxNamed = 3;
  for (std::size_t i = 0; i < std::min(logged.size(), kMaxNamed); ++i) finding.by("group", logged[i]);
  if (limiting != group || logged.empty()) finding.by("group", group);
  finding.fact({.text = counted(times, "time") + " out of memory in " + duration_words(evidence.recent_seconds),
                .source = std::string(kGroupEvents),
                .value = times,
                .window_seconds = evidence.recent_seconds});
  if (type != nullptr && type->bytes) {
    finding.fact({.text = bytes_text(*type->bytes) + " in use now",
                  .source = "memcg/" + std::string(limiting),
                  .value = type->bytes,
                  .limit = limit});
    finding.bytes = *type->bytes;
  }
  add_peak(evidence, limiting, limit, finding);
  const KillEvidence* const victim = last_victim(evidence, true, limiting);
  if (victim != nullptr) add_victim(*victim, finding);
  if (victim != nullptr) add_outcome(evidence, *victim, finding);
  const double logged_limit = victim == nullptr || victim->limit_group != limiting ? 0 : victim->limit_bytes;
  GroupAtLimit at_limit{
      .group = limiting, .limit_bytes = whose == Limit::kOwn ? limit.value_or(logged_limit) : 0, .kill = victim};
  // Of several groups below it, the newest kill's.
  if (whose == Limit::kBelow && victim != nullptr && is_within(victim->limit_group, group))
    at_limit = {.group = victim->limit_group, .limit_bytes = victim->limit_bytes, .kill = victim};
  finding.leads_to(
      whose == Limit::kBelow && logged.empty()
          ? "A group below it, which was removed or is not read, was at its limit. What grew there is the cause."
          : "The killed process is only the victim. The cause is what grew in the group.");
  add_prevention(prevention_at_limit(evidence, at_limit), finding);
  finding.then("journalctl -k --since -1h --grep oom -n 50");
  if (const std::string command = raise_command(evidence, at_limit); !command.empty()) finding.then(command);
  finding.then(evidence.type(Allocator::kMemcg, group) == nullptr
                   ? std::string("memstatctl events")
                   : "memstatctl show " + shell_word("memcg/" + std::string(group)));
  note_end(evidence, limiting, victim, finding);
}

/// Whether one of these findings names the group, or one above it.
bool is_named(std::span<const Finding> findings, std::string_view group) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& one) {
    return std::any_of(one.who.begin(), one.who.end(), [&](const auto& who) { return is_within(group, who.name); });
  });
}

/// Kills in groups that memstatd has never read, because they were removed with their processes or are too deep. `begin`:
/// the first finding about groups that are read.
void add_groups_of_log(const Evidence& evidence, const Cause& cause, std::size_t begin, Findings& found) {
  const std::size_t count = found.size() - begin;
  for (const std::string_view group : logged_groups(evidence, "/")) {
    if (is_named(std::span(found).subspan(begin, count), group)) continue;
    const auto kills =
        static_cast<double>(std::count_if(evidence.kills.begin(), evidence.kills.end(), [&](const KillEvidence& kill) {
          return kill.limit_group == group && is_recent_kill(evidence, kill);
        }));
    add_group(evidence, cause, group, kills, kills, found);
  }
}

void add_unnamed_group(const Evidence& evidence, const Cause& cause, Findings& found) {
  const auto is_it = [&](const KillEvidence& kill) { return is_in_unnamed_group(evidence, kill); };
  const auto kills = static_cast<double>(std::count_if(evidence.kills.begin(), evidence.kills.end(), is_it));
  const auto victim = std::find_if(evidence.kills.rbegin(), evidence.kills.rend(), is_it);
  if (kills == 0) return;
  const std::string limit = victim->limit_bytes > 0 ? " of " + bytes_text(victim->limit_bytes) : std::string();
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kConfirmed,
                                 counted(kills, "process", "processes") + " killed at a control group's limit" + limit);
  finding.killer = kKernel;
  finding.fact({.text = counted(kills, "kill") + " in the kernel's log, which does not name the group",
                .source = std::string(kLogEvents),
                .value = kills});
  add_victim(*victim, finding);
  finding.bytes = victim->limit_bytes;
  finding.by("process", process_of(*victim));
  finding.leads_to("The killed process is only the victim. The cause is what grew in its group.");
  add_prevention(prevention_at_limit(evidence, {.group = {}, .limit_bytes = victim->limit_bytes, .kill = &*victim}),
                 finding);
  finding.then("journalctl -k --since -1h --grep oom -n 50").then("memstatctl types --allocator memcg --sort failures");
  note_end(evidence, {}, &*victim, finding);
}

/// Before the kernel kills for the whole machine, it makes the failing allocation reclaim memory, and counts that.
bool was_never_short(const Evidence& evidence) {
  constexpr double kWellAbove = 0.1;  // far above the zones' reserves
  return !evidence.samples(kDirect).empty() && evidence.moved(kDirect) < recent_kills(evidence) &&
         evidence.available_bytes && evidence.share(available_without_arc(evidence)) >= kWellAbove;
}

/// The groups at any depth that have had kills, if they are few. Empty: many, none, or group-limits was not inspected.
std::vector<const Holder*> groups_with_kills(const Evidence& evidence) {
  constexpr std::size_t kMaxGroups = 3;
  std::vector<const Holder*> groups;
  const InspectionAnswer* const answer = evidence.inspection("group-limits");
  if (answer == nullptr) return groups;
  for (const Holder& row : answer->holders) {
    if (row.name == "kills") groups.push_back(&row);
  }
  if (groups.size() > kMaxGroups) groups.clear();
  return groups;
}

/// Kills on a machine that had memory, which neither a group that is read nor the log explains.
void add_unknown_groups(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (!was_never_short(evidence) || last_victim(evidence, false) != nullptr) return;
  const double kills = recent_kills(evidence) - static_cast<double>(requested_kills(evidence));
  if (kills <= 0) return;
  Finding& finding = add_finding(found, cause, Severity::kNow, Certainty::kPossible,
                                 counted(kills, "process", "processes") +
                                     " killed, probably at limits of control groups that were removed or lie deeper");
  finding.killer = kKernel;
  finding.fact({.text = counted(kills, "kill") + " in " + duration_words(evidence.recent_seconds) +
                        ", in no control group that memstatd reads",
                .source = std::string(kKills),
                .value = kills,
                .window_seconds = evidence.recent_seconds});
  finding.fact({.text = bytes_text(*evidence.available_bytes) + " available now, and " +
                        counted(evidence.moved(kDirect), "allocation") + " of the machine had to wait",
                .source = "memstat_memory_available_bytes",
                .value = evidence.available_bytes});
  for (const Holder* const row : groups_with_kills(evidence)) {
    finding.by("group", row->group)
        .is_about("memcg", row->group)
        .fact({.text = short_name(row->group) + ": " + counted(static_cast<double>(row->count.value_or(0)), "kill") +
                       " since it was created",
               .source = "who/group-limits",
               .value = static_cast<double>(row->count.value_or(0))});
  }
  finding.leads_to("A container's group is often removed with its program. The kernel's log names it.");
  finding.then("journalctl -k --since -1h --grep oom -n 50");
  if (evidence.samples(kLogEvents).empty())  // below any prefix
    finding.then("cat $(dirname $(command -v memstatd))/../share/doc/memstatd/examples/kernel-log.conf");
  note_end(evidence, {}, nullptr, finding);
}

void look_at_groups(const Evidence& evidence, const Cause& cause, Findings& found) {
  const std::size_t begin = found.size();
  for (const TypeEvidence& group : evidence.types) {
    if (group.allocator != Allocator::kMemcg || group.failures.recent <= 0) continue;
    if (deepest_below(evidence, group) != nullptr) continue;
    const double kills = std::max(kills_in(evidence, group.name), 0.0);
    if (kills == 0 && recent_kills(evidence) == 0) continue;  // it found memory in the end, or no process could be killed
    const TypeEvidence* const limiting = limiting_group(evidence, group);
    if (limiting == nullptr) continue;
    if (!is_named(std::span(found).subspan(begin), limiting->name))  // a sibling's limit
      add_group(evidence, cause, limiting->name, kills, group.failures.recent, found);
  }
  if (recent_kills(evidence) <= 0) return;
  add_groups_of_log(evidence, cause, begin, found);
  if (found.size() == begin) add_unnamed_group(evidence, cause, found);
  if (found.size() == begin) add_unknown_groups(evidence, cause, found);
}

/// Whether a part gained more recently than the victim released. The victim then was the largest program, but not the cause.
bool has_outgrown(const LargestPart& part, const KillEvidence* victim) {
  return victim != nullptr && part.name != "anonymous" && part.recent > victim->program_bytes;
}

/// Whether only the last of several kills helped: its victim was small, but with it something else was freed, such as pipes.
bool has_freed_other_memory(const Evidence& evidence) {
  constexpr double kMuch = 0.25;
  const auto kills = std::count_if(evidence.kills.begin(), evidence.kills.end(), [&](const KillEvidence& kill) {
    return !kill.is_of_group && !kill.is_requested && is_recent_kill(evidence, kill);
  });
  return kills >= 2 && evidence.available_bytes && evidence.share(*evidence.available_bytes) >= kMuch;
}

/// Whether the victim held much of the memory, and no other part has more. What it releases is available a moment later.
bool held_the_memory(const Evidence& evidence, const KillEvidence* victim, const std::optional<LargestPart>& part) {
  constexpr double kMuch = 0.25;
  if (victim == nullptr || evidence.share(victim->program_bytes) < kMuch) return false;
  return !part || part->name == "anonymous" || part->bytes <= victim->program_bytes;
}

/// Finds what took the memory. If killing freed much memory, it was program memory, of the victim or of its kind, unless
/// another part has grown by more. Otherwise it is the largest part now.
void add_cause_of_kill(const Evidence& evidence, Finding& finding) {
  const KillEvidence* const victim = last_victim(evidence, false);
  if (victim != nullptr) add_victim(*victim, finding);
  const bool made_room = evidence.available_bytes && evidence.share(available_without_arc(evidence)) >= 0.1;
  const auto part = largest_part(evidence);
  if (part && (has_outgrown(*part, victim) || (!made_room && !held_the_memory(evidence, victim, part)))) {
    const bool is_unaccounted = part->name == "unaccounted";
    finding.is_about(kAccountAllocator, part->name);
    finding.fact({.text = is_unaccounted
                              ? bytes_text(part->bytes) + " are in no part of the account, more than in any"
                              : part_words(part->name) + ": " + bytes_text(part->bytes) + ", more than any other part",
                  .source = std::string(part->metric),
                  .value = part->bytes});
    name_holder(evidence, charge_of(part->name), Holds::kNow, part->bytes / 3, finding);
    return;
  }
  finding.is_about(kAccountAllocator, "anonymous");
  if (victim == nullptr || (evidence.share(victim->program_bytes) < 0.25 && !has_freed_other_memory(evidence))) return;
  finding.by("process", process_of(*victim));
  if (victim->group.size() > 1) finding.by("group", victim->group);
}

/// Whether much memory was available before the kill: more than the victims had, and no allocation had to wait for it, or
/// only one zone is short.
bool is_contradicted(const Evidence& evidence, const std::vector<ShortZone>& zones) {
  constexpr double kMuch = 0.1;
  if (!evidence.available_bytes || last_victim(evidence, false) == nullptr) return false;
  if (evidence.share(available_without_arc(evidence) - released_by_kills(evidence)) < kMuch) return false;
  return was_never_short(evidence) || !zones.empty();
}

/// Kills on a machine that had memory: by a request, at a limit of kernel memory, or for one zone.
void add_contradicted(const Evidence& evidence, const Cause& cause, double kills, const std::vector<ShortZone>& zones,
                      Findings& found) {
  const KillEvidence& victim = *last_victim(evidence, false);
  Finding& finding =
      add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                  "The kernel killed " + counted(kills, "process", "processes") +
                      " as if memory had run out: " + bytes_text(*evidence.available_bytes) + " are available");
  finding.killer = kKernel;
  finding.fact({.text = counted(kills, "kill") + " in " + duration_words(evidence.recent_seconds),
                .source = std::string(kKills),
                .value = kills,
                .window_seconds = evidence.recent_seconds});
  add_victim(victim, finding);
  finding.fact({.text = bytes_text(*evidence.available_bytes) + " of " + bytes_text(evidence.total_bytes) +
                        " available now, and " + counted(evidence.moved(kDirect), "allocation") + " had to wait",
                .source = "memstat_memory_available_bytes",
                .value = evidence.available_bytes});
  if (!victim.requested_by.empty()) {
    finding.fact({.text = short_name(victim.requested_by) + " needed memory" +
                          (victim.gfp.empty() ? std::string() : " with " + cut_text(victim.gfp, 60)),
                  .source = "linux_kernel_log"});
  }
  finding.by("process", process_of(victim));
  if (!zones.empty()) finding.is_about("page", zones.front().name);
  finding.leads_to(zones.empty()
                       ? "Somebody requested it (SysRq f), or a page fault failed at a group's limit of kernel memory."
                       : "Only zone " + zones.front().name + " was short of memory.");
  finding.then("journalctl -k --since -1h --grep 'invoked oom-killer|sysrq|Killed process' -n 20");
}

/// Recent kills for the whole machine. The machine's counter includes those at limits of groups, as the log says.
double kills_of_machine(const Evidence& evidence, bool is_logged) {
  const auto of_groups = std::count_if(evidence.kills.begin(), evidence.kills.end(), [&](const KillEvidence& kill) {
    return kill.is_of_group && is_recent_kill(evidence, kill);
  });
  const double kills = recent_kills(evidence) - static_cast<double>(requested_kills(evidence));
  return is_logged && kills > 0 ? std::max(1.0, kills - static_cast<double>(of_groups)) : kills;
}

void look_at_machine(const Evidence& evidence, const Cause& cause, Findings& found) {
  const bool is_of_group = std::any_of(evidence.types.begin(), evidence.types.end(), [&](const TypeEvidence& type) {
    return type.allocator == Allocator::kMemcg && type.failures.recent > 0 && limiting_group(evidence, type) != nullptr;
  });
  const bool is_logged =
      last_victim(evidence, false) != nullptr;  // a kill for the whole machine, in addition to those in groups
  const double kills = kills_of_machine(evidence, is_logged);
  if (kills <= 0) return;
  const bool is_unnamed = std::any_of(evidence.kills.begin(), evidence.kills.end(),
                                      [&](const KillEvidence& kill) { return is_in_unnamed_group(evidence, kill); });
  if (!is_logged && (is_of_group || is_unnamed || was_never_short(evidence) || !logged_groups(evidence, "/").empty()))
    return;
  const std::vector<ShortZone> zones = short_zones(evidence);
  const KillEvidence* const victim = last_victim(evidence, false);
  const bool is_of_daemon = victim != nullptr && is_of_young_pages(*victim);
  if (!is_of_daemon && is_contradicted(evidence, zones)) return add_contradicted(evidence, cause, kills, zones, found);
  const bool is_blind = evidence.value("memstat_memcg_groups_left_out").value_or(0) > 0;
  Finding& finding = add_finding(found, cause, Severity::kNow,
                                 is_blind       ? Certainty::kPossible
                                 : is_of_daemon ? Certainty::kLikely
                                                : Certainty::kConfirmed,
                                 (is_of_daemon ? "To protect recent pages (MGLRU's min_ttl_ms), kswapd killed "
                                               : "Memory ran out: the kernel killed ") +
                                     counted(kills, "process", "processes"));
  finding.killer = kKernel;
  finding.fact({.text = counted(kills, "kill") + " in " + duration_words(evidence.recent_seconds),
                .source = std::string(kKills),
                .value = kills,
                .window_seconds = evidence.recent_seconds});
  add_cause_of_kill(evidence, finding);
  if (evidence.available_bytes) {
    finding.fact({.text = bytes_text(*evidence.available_bytes) + " available now",
                  .source = "memstat_memory_available_bytes",
                  .value = evidence.available_bytes});
  }
  finding.bytes = evidence.total_bytes;
  finding.leads_to(victim != nullptr && victim->had_asked
                       ? "The kernel kills the process that asks for memory, which need not be the cause."
                       : "The kernel kills the largest process, which is not always the cause.");
  if (victim != nullptr) add_outcome(evidence, *victim, finding);
  if (victim != nullptr) add_prevention(prevention_on_machine(evidence, *victim), finding);
  finding.then("journalctl -k --since -1h --grep 'Out of memory' -n 50").then("memstatctl leaks");
  note_end(evidence, {}, victim, finding);
}

void look_at_requested(const Evidence& evidence, const Cause& cause, Findings& found) {
  const std::size_t kills = requested_kills(evidence);
  if (kills == 0) return;
  const auto last = std::find_if(evidence.kills.rbegin(), evidence.kills.rend(),
                                 [&](const KillEvidence& kill) { return is_requested(evidence, kill); });
  const std::string process = short_name(last->command, 20) + " (pid " + std::to_string(last->pid) + ")";
  Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kConfirmed,
                                 "Somebody requested a kill (SysRq f), and " + process + " ended: memory had not run out");
  finding.killed = process;
  finding.killer = "kernel (SysRq f)";
  finding.fact({.text = counted(static_cast<double>(kills), "requested kill") + ", with order -1 in the log",
                .source = "linux_kernel_log",
                .value = static_cast<double>(kills)});
  add_victim(*last, finding);
  finding.is_past = true;
  finding.by("process", process);
  finding.leads_to("A person at the console or a program that writes to /proc/sysrq-trigger did this.")
      .then("journalctl -k --grep 'sysrq|invoked oom-killer' -n 10");
}

std::string reason_of(const KillEvidence& kill, std::string_view group) {
  if (kill.is_requested) return "somebody requested it (SysRq f)";
  if (is_of_young_pages(kill)) return "by kswapd, to protect recent pages (MGLRU's min_ttl_ms)";
  if (kill.is_of_group)
    return group.empty() ? std::string("a group was at its limit") : "group " + short_name(group, 30) + " was at its limit";
  return "out of memory, by the kernel's log";
}

/// The log also has kills from before the first poll, which explain why a program is gone. People ask an hour later.
void look_at_past(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (evidence.kills.empty() || recent_kills(evidence) > 0) return;
  const KillEvidence& kill = evidence.kills.back();
  if (!kill.seconds_ago) return;
  const std::string process = short_name(kill.command, 20) + " (pid " + std::to_string(kill.pid) + ")";
  const std::string_view group = kill.limit_group.size() > 1 ? kill.limit_group : kill.group;
  Finding& finding =
      add_finding(found, cause, Severity::kNotable, Certainty::kConfirmed,
                  process + " was killed " + duration_words(*kill.seconds_ago) + " ago: " + reason_of(kill, group));
  const auto count = static_cast<double>(evidence.kills.size());
  const double oldest = evidence.kills.front().seconds_ago.value_or(0);
  finding.fact({.text = counted(count, "kill") + " in the kernel's log, the first one " + duration_words(oldest) +
                        " ago, none since the first poll",
                .source = "linux_kernel_log",
                .value = count,
                .window_seconds = oldest});
  add_victim(kill, finding);
  finding.is_past = true;
  finding.by("process", process);
  if (group.size() > 1) finding.by("group", group);
  if (kill.is_of_group) finding.is_about("memcg", group);
  finding.leads_to("The victim need not be the cause, and it may happen again.").then("memstatctl events");
}

constexpr std::array<std::string_view, 2> kMachineNeeds{kKills, "memstat_accounted_bytes"};
constexpr std::array<std::string_view, 2> kPastNeeds{kKills, kLogEvents};
constexpr std::array<std::string_view, 2> kGroupNeeds{kKills, "memcg/*"};
constexpr std::array<std::string_view, 18> kUses{kLogEvents,
                                                 kGroupPeak,
                                                 kSwapTotal,
                                                 kSwapFree,
                                                 "who/group-limits",
                                                 kGroupEvents,
                                                 kLocalEvents,
                                                 kDirect,
                                                 "memstat_memcg_groups_left_out",
                                                 kGroupAnonymous,
                                                 kGroupKernel,
                                                 kGroupParts,
                                                 kUnaccountedMetric,
                                                 "memstat_zfs_arc_bytes",
                                                 "memstat_zfs_arc_target_bytes",
                                                 "memstat_zfs_arc_min_bytes",
                                                 "memstat_zone_watermark_bytes",
                                                 "memstat_zone_free_cma_bytes"};
constexpr std::array<std::string_view, 9> kExplains{"memory_low",  "memory_stalls",  "direct_reclaim",
                                                    "swap_thrash", "zone_short",     "anonymous_growth",
                                                    "swap_full",   "reclaim_thrash", "kswapd_gave_up"};
constexpr std::array<std::string_view, 8> kGroupExplains{"cgroup_full",    "cgroup_growth",    "cgroup_throttled",
                                                         "cgroup_thrash",  "cgroup_swap_full", "memory_stalls",
                                                         "direct_reclaim", "reclaim_thrash"};

constexpr std::array kCauses{
    Cause{.name = "cgroup_oom_kill",
          .looks_for = "A control group needed more memory than its limit, and the kernel killed one of its processes.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kGroupNeeds,
          .uses = kUses,
          .explains = kGroupExplains,
          .runbook = "MemstatControlGroupOutOfMemory",
          .look = look_at_groups},
    Cause{.name = "machine_oom_kill",
          .looks_for = "The machine ran out of memory, and the kernel killed a process.",
          .system = CauseSystem::kLinux,
          .watches = Watches::kChange,
          .needs = kMachineNeeds,
          .uses = kUses,
          .explains = kExplains,
          .runbook = "MemstatOutOfMemoryKill",
          .inspection = "anonymous",
          .look = look_at_machine},
    Cause{.name = "kill_requested",
          .looks_for = "Somebody made the kernel kill a process, although memory had not run out.",
          .system = CauseSystem::kLinux,
          .needs = kPastNeeds,
          .runbook = "MemstatOutOfMemoryKill",
          .look = look_at_requested},
    Cause{.name = "killed_before",
          .looks_for = "The kernel killed a process for lack of memory before the first poll, as far as its log goes back.",
          .system = CauseSystem::kLinux,
          .needs = kPastNeeds,
          .runbook = "MemstatOutOfMemoryKill",
          .look = look_at_past},
};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::kills
