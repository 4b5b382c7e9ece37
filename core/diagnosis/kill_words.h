// SPDX-License-Identifier: BSD-2-Clause
// Why the kernel killed a process, who else held memory, and what would have prevented it, as far as its log and its
// counters show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/diagnosis/cause.h"

namespace memstat {

/// Metrics from which it follows what would have prevented a kill.
inline constexpr std::string_view kGroupPeak = "memstat_memcg_peak_bytes";
inline constexpr std::string_view kSwapTotal = "memstat_swap_total_bytes";
inline constexpr std::string_view kSwapFree = "memstat_swap_free_bytes";

/// "stress (pid 12)".
std::string process_words(std::string_view command, std::uint64_t pid);

/// " with 20 MiB of program memory", and the shared memory that it had mapped, if that is more; "" if the log has neither.
std::string memory_words(const KillEvidence& kill);

/// Whether kswapd itself decided. It never waits for memory, so it does so for one reason: only pages are left that are
/// younger than min_ttl_ms of the multi-generational LRU. A program may have that name, but seldom asks with these flags.
bool is_of_young_pages(const KillEvidence& kill);

/// Adds as facts why the kernel decided, with the victim's score, and the largest process that was not killed. One that
/// held more than the victim becomes a holder, too.
void add_decision(const KillEvidence& kill, Finding& finding);

/// Adds as facts what the log says after that kill: that a next victim was exiting already or that there was none, so that
/// nothing more was killed, or that the memory of this one was not freed.
void add_outcome(const Evidence& evidence, const KillEvidence& kill, Finding& finding);

/// A control group whose processes were killed at its limit.
struct GroupAtLimit {
  std::string_view group;              ///< "": the log does not name it
  double limit_bytes = 0;              ///< 0: unknown
  const KillEvidence* kill = nullptr;  ///< the last one; nullptr: not in the log
};
/// A new limit: half as much again, and at least the group's highest use, in whole MiB.
std::uint64_t wider_limit_mib(const Evidence& evidence, const GroupAtLimit& group);

// Advice that would have prevented the kill, one or two sentences; "": the evidence supports none.
std::string prevention_at_limit(const Evidence& evidence, const GroupAtLimit& group);
/// Of a kill because the machine's memory was used up.
std::string prevention_on_machine(const Evidence& evidence, const KillEvidence& kill);
/// Of a kill because memory was used up on the nodes that a cpuset or a memory policy allows.
std::string prevention_on_nodes(const Evidence& evidence, const KillEvidence& kill);

}  // namespace memstat
