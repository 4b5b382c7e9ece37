// SPDX-License-Identifier: BSD-2-Clause
// Finds the control group that holds the memory of a finding, by the kernel's charges.
#pragma once

#include <string_view>

#include "core/diagnosis/cause.h"

namespace memstat {

/// Metrics of charges.
inline constexpr std::string_view kGroupAnonymous = "memstat_memcg_anonymous_bytes";
inline constexpr std::string_view kGroupKernel = "memstat_memcg_kernel_bytes";
inline constexpr std::string_view kGroupTasks = "memstat_memcg_tasks";
inline constexpr std::string_view kGroupParts = "memstat_memcg_part_bytes";
inline constexpr std::string_view kGroupSwap = "memstat_memcg_swap_bytes";
inline constexpr std::string_view kGroupRefaults = "memstat_memcg_refaulted_pages_total";
inline constexpr std::string_view kGroupHeadroom = "memstat_memcg_headroom_bytes";
inline constexpr std::string_view kGroupHeadroomSetBy = "memstat_memcg_headroom_set_by";
inline constexpr std::string_view kGroupEvents = "memstat_memcg_events_total";
inline constexpr std::string_view kGroupStalls = "memstat_memcg_pressure_stall_seconds_total";

/// A kind of charge, and its words in findings.
struct Charge {
  std::string_view metric;
  std::string_view part;   ///< the second label; "": the metric has none
  std::string_view words;  ///< follows the amount
};
inline constexpr Charge kProgramMemory{kGroupAnonymous, "", "of program memory"};
inline constexpr Charge kKernelMemory{kGroupKernel, "", "of kernel memory"};
inline constexpr Charge kTasks{kGroupTasks, "", "tasks"};
inline constexpr Charge kSharedMemory{kGroupParts, "shmem", "of shared memory"};
inline constexpr Charge kSocketMemory{kGroupParts, "sock", "of socket buffers"};
inline constexpr Charge kDirtyMemory{kGroupParts, "file_dirty", "of dirty files"};
inline constexpr Charge kSwapSpace{kGroupSwap, "", "of swap"};
inline constexpr Charge kSwappedIn{kGroupRefaults, "anon", "pages read back from swap"};
inline constexpr Charge kReadAgain{kGroupRefaults, "file", "pages of files read again"};
inline constexpr Charge kStalled{kGroupStalls, "full", "seconds of stalls for memory"};

enum class Holds : std::uint8_t { kNow, kGainedLately };

/// The innermost group with more than half of the charges of all groups, and at least `at_least`; nullptr: none, so that the
/// data does not name a holder.
const MetricEvidence* holder(const Evidence& evidence, const Charge& charge, Holds holds, double at_least);

/// Adds that group, if there is one, to the finding, with its charge as a fact; then its largest children, at most three, if
/// they have more than half of that charge together. Without such a group: the largest groups of the machine.
void name_holder(const Evidence& evidence, const Charge& charge, Holds holds, double at_least, Finding& finding);

/// A group's own charge; 0 if it has none.
double charged_to(const Evidence& evidence, std::string_view group, const Charge& charge, Holds holds);

/// Whether `inner` is the group, or below it.
bool is_within(std::string_view inner, std::string_view group);
/// Whether `inner` is below the group.
bool is_below(std::string_view inner, std::string_view group);

/// Version 1 counts all kills in a group, whatever their reason, but not how often the group ran out of memory.
bool is_version_1(const Evidence& evidence);
/// The path of a file of a group, such as "/memory.stat", as one word of a shell.
std::string group_file(const Evidence& evidence, std::string_view group, std::string_view file);

/// Whether its programs waited for memory for less than `share` of the time since the poll before, whatever they did
/// earlier.
bool has_stopped_waiting(const Evidence& evidence, std::string_view group, double share = 0.05);

/// The charge that contains a part of the account, or an allocator's types.
const Charge& charge_of(std::string_view part_or_allocator);

}  // namespace memstat
