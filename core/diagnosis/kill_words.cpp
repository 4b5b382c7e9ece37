// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/kill_words.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/diagnosis/parts.h"
#include "core/diagnosis/words.h"

namespace memstat {
namespace {

constexpr double kMiB = 1U << 20U;
/// From this share of the memory in question on, a process or a part is worth mending.
constexpr double kLargeShare = 0.25;
constexpr std::string_view kPrevention = "What would have prevented it: ";

/// A number without a fraction.
std::string digits(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

std::string nodes_of(const KillEvidence& kill) {
  return kill.nodes.empty() ? std::string() : " (nodes " + cut_text(kill.nodes, 40) + ")";
}

/// Where the kernel looked for memory.
std::string place_of(const KillEvidence& kill) {
  if (kill.constraint == "cpuset") return "the nodes of cpuset " + short_name(kill.cpuset) + nodes_of(kill);
  if (kill.constraint == "memory_policy") return "the nodes that a memory policy allows" + nodes_of(kill);
  return "the whole machine";
}

std::string reason_of(const KillEvidence& kill) {
  if (kill.is_requested) return "somebody requested it (SysRq f)";
  if (kill.is_of_group) {
    const std::string limit = kill.limit_bytes > 0 ? " of " + bytes_text(kill.limit_bytes) : std::string();
    const std::string group =
        kill.limit_group.size() > 1 ? "group " + short_name(kill.limit_group) : std::string("a control group");
    return group + " was at its limit" + limit;
  }
  if (kill.had_asked) return "it asked for memory (vm.oom_kill_allocating_task is set)";
  if (is_of_young_pages(kill)) return "kswapd found no pages older than min_ttl_ms (MGLRU)";
  if (kill.is_of_fault) return "a page fault got no memory (gfp_mask 0x0), of which the kernel logs no more";
  const std::string asker = kill.requested_by.empty() ? std::string("a request") : short_name(kill.requested_by);
  const std::string what = kill.piece_bytes > 0 ? bytes_text(kill.piece_bytes) + " in one piece" : std::string("memory");
  return "it found no " + what + " for " + asker + (kill.gfp.empty() ? std::string() : " (" + cut_text(kill.gfp, 60) + ")") +
         " on " + place_of(kill);
}

/// "; its score was 977, its oom_score_adj 0"; "" if the log has neither.
std::string score_of(const KillEvidence& kill) {
  std::vector<std::string> words;
  if (kill.score) words.push_back("its score was " + digits(*kill.score));
  if (kill.oom_score_adj) words.push_back("its oom_score_adj was " + digits(*kill.oom_score_adj));
  return words.empty() ? std::string() : "; " + separated(words, ", ");
}

double bytes_of(const TaskEvidence& task) { return task.resident_bytes + task.swap_bytes; }

/// The process that held the most when the kernel decided.
struct LargestProcess {
  std::string words;
  double bytes;
};
LargestProcess largest_process(const KillEvidence& kill) {
  if (kill.other && bytes_of(*kill.other) > kill.program_bytes)
    return {process_words(kill.other->command, kill.other->pid), bytes_of(*kill.other)};
  return {"the victim", kill.program_bytes};
}

std::string less_for(const LargestProcess& process, double of_bytes) {
  return "less memory for " + process.words + ", which held " + bytes_text(process.bytes) + " of " + bytes_text(of_bytes);
}

/// Available when the kernel decided: what the victim has released since was not.
double available_then(const Evidence& evidence, const KillEvidence* kill) {
  return std::max(evidence.available_bytes.value_or(0) - (kill == nullptr ? 0 : kill->program_bytes), 0.0);
}

double peak_of(const Evidence& evidence, const GroupAtLimit& group) {
  const MetricEvidence* const peak = evidence.sample(kGroupPeak, group.group);
  return peak == nullptr || group.group.empty() ? 0 : peak->value;
}

/// Swap takes program memory. "": it would not have helped, or it is not known whether there is any.
std::string swap_advice(const Evidence& evidence) {
  const auto total = evidence.value(kSwapTotal);
  const auto free = evidence.value(kSwapFree);
  constexpr double kFullShare = 0.1;
  if (!total || !free) return {};
  if (*total <= 0) return "swap, of which this machine has none";
  return *free <= kFullShare * *total ? "more swap, since the " + bytes_text(*total) + " were in use" : std::string();
}

}  // namespace

std::string process_words(std::string_view command, std::uint64_t pid) {
  return short_name(command) + " (pid " + std::to_string(pid) + ")";
}

std::string memory_words(const KillEvidence& kill) {
  if (kill.program_bytes <= 0 && kill.shared_bytes <= 0) return {};  // before 2.6.34 the log does not have it
  std::string words = " with " + bytes_text(kill.program_bytes) + " of program memory";
  if (kill.shared_bytes > kill.program_bytes) words += " and " + bytes_text(kill.shared_bytes) + " of shared memory";
  return words;
}

bool is_of_young_pages(const KillEvidence& kill) {
  constexpr std::string_view kDaemon = "kswapd";
  return kill.requested_by.starts_with(kDaemon) && kill.requested_by.size() > kDaemon.size() &&
         kill.requested_by.find_first_not_of("0123456789", kDaemon.size()) == std::string::npos && kill.gfp == "GFP_KERNEL";
}

void add_decision(const KillEvidence& kill, Finding& finding) {
  finding.fact({.text = "the kernel decided it because " + reason_of(kill) + score_of(kill), .source = "linux_kernel_log"});
  if (!kill.other) return;
  const TaskEvidence& other = *kill.other;
  const std::string words = process_words(other.command, other.pid);
  const bool is_larger = bytes_of(other) > kill.program_bytes;
  finding.fact(
      {.text = "the largest process that was not killed was " + words + " with " + bytes_text(other.resident_bytes) +
               (other.swap_bytes > 0 ? " and " + bytes_text(other.swap_bytes) + " of swap" : std::string()) +
               (is_larger ? ", more than the victim" : "") + "; its oom_score_adj was " + digits(other.oom_score_adj),
       .source = "linux_kernel_log",
       .value = bytes_of(other)});
  if (is_larger) finding.by("process", words);
}

void add_outcome(const Evidence& evidence, const KillEvidence& kill, Finding& finding) {
  const auto line_after = [&](std::string_view event) -> const LoggedEvidence* {
    const LoggedEvidence* const line = evidence.any_line(event);
    const bool is_after = line != nullptr && line->has_time && kill.seconds_ago && line->seconds_ago <= *kill.seconds_ago;
    return is_after ? line : nullptr;
  };
  const auto add = [&](std::string text) { finding.fact({.text = std::move(text), .source = "linux_kernel_log"}); };
  // Such a line names no group.
  const LoggedEvidence* const exiting = line_after("victim_exiting");
  if (exiting != nullptr && exiting->is_of_group == kill.is_of_group)
    add("the kernel then chose " + short_name(exiting->subject) + ", which was already exiting: nothing more was killed");
  const LoggedEvidence* const nobody = line_after("nobody_to_kill");
  if (nobody != nullptr && nobody->is_of_group == kill.is_of_group)
    add("then no process was left that may be killed: nothing more was killed");
  const LoggedEvidence* const unfreed = line_after("reaper_failed");
  if (unfreed != nullptr && unfreed->line.find("pid:" + std::to_string(kill.pid) + " ") != std::string::npos)
    add("the kernel could not free the victim's memory at once (oom_reaper)");
}

std::uint64_t wider_limit_mib(const Evidence& evidence, const GroupAtLimit& group) {
  constexpr double kMore = 1.5;
  const double bytes = std::max(kMore * group.limit_bytes, peak_of(evidence, group));
  return static_cast<std::uint64_t>(std::ceil(std::min(bytes, 1e18) / kMiB));
}

std::string prevention_at_limit(const Evidence& evidence, const GroupAtLimit& group) {
  if (group.limit_bytes <= 0) return {};
  const double peak = peak_of(evidence, group);
  const double more = static_cast<double>(wider_limit_mib(evidence, group)) * kMiB - group.limit_bytes;
  const double available = available_then(evidence, group.kill);
  const bool has_room = !evidence.available_bytes || available >= more;
  std::vector<std::string> ways;
  if (has_room) {
    ways.push_back(peak > 0 ? "a limit above the " + bytes_text(std::max(peak, group.limit_bytes)) +
                                  " that the group has had at most"
                            : "a limit above " + bytes_text(group.limit_bytes));
  }
  if (group.kill != nullptr) {
    const LargestProcess largest = largest_process(*group.kill);
    if (largest.bytes >= kLargeShare * group.limit_bytes) ways.push_back(less_for(largest, group.limit_bytes));
  }
  std::string no_room = has_room ? std::string()
                                 : "A higher limit alone would have moved the shortage to the machine, which had " +
                                       bytes_text(available) + " available.";
  if (ways.empty()) return no_room;
  return std::string(kPrevention) + separated(ways, ", or ") + "." + (has_room ? "" : " " + no_room);
}

std::string prevention_on_machine(const Evidence& evidence, const KillEvidence& kill) {
  if (is_of_young_pages(kill)) return std::string(kPrevention) + "0 in /sys/kernel/mm/lru_gen/min_ttl_ms.";
  if (kill.is_requested || kill.is_of_group || kill.is_of_fault || evidence.total_bytes <= 0) return {};
  std::vector<std::string> ways;
  const LargestProcess largest = largest_process(kill);
  const auto part = largest_part(evidence);
  const bool is_of_programs = evidence.share(largest.bytes) >= kLargeShare;
  if (is_of_programs) {
    ways.push_back(less_for(largest, evidence.total_bytes));
  } else if (part && part->name != "anonymous" && evidence.share(part->bytes) >= kLargeShare) {
    ways.push_back(
        "less in " +
        (part->name == "unaccounted" ? std::string("memory that no part of the account explains") : part_words(part->name)) +
        ", which held " + bytes_text(part->bytes) + " of " + bytes_text(evidence.total_bytes));
  }
  const bool helps_swap =
      is_of_programs || (part && part->name == "anonymous" && evidence.share(part->bytes) >= kLargeShare);
  if (const std::string swap = helps_swap ? swap_advice(evidence) : std::string(); !swap.empty()) ways.push_back(swap);
  std::string text = ways.empty() ? std::string() : std::string(kPrevention) + separated(ways, ", or ") + ".";
  if (!kill.had_asked) return text;
  return text + (text.empty() ? "" : " ") +
         "With vm.oom_kill_allocating_task=0 the kernel chooses by size, and not the one that asks.";
}

std::string prevention_on_nodes(const Evidence& evidence, const KillEvidence& kill) {
  constexpr double kEnough = 0.1;
  const double available = available_then(evidence, &kill);
  if (evidence.share(available) < kEnough) return {};
  const std::string more = kill.constraint == "cpuset" ? "more nodes in cpuset.mems of " + short_name(kill.cpuset)
                                                       : std::string("a memory policy with more nodes");
  return std::string(kPrevention) + more + nodes_of(kill) + ": " + bytes_text(available) + " were available on the machine.";
}

}  // namespace memstat
