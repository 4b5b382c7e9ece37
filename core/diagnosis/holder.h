// SPDX-License-Identifier: BSD-2-Clause
// Which control group holds what a finding is about, by what the kernel charged to it.
#pragma once

#include <string_view>

#include "core/diagnosis/cause.h"

namespace memstat {

/// Metrics of what is charged to a group.
inline constexpr std::string_view kGroupAnonymous = "memstat_memcg_anonymous_bytes";
inline constexpr std::string_view kGroupKernel = "memstat_memcg_kernel_bytes";
inline constexpr std::string_view kGroupTasks = "memstat_memcg_tasks";
inline constexpr std::string_view kGroupParts = "memstat_memcg_part_bytes";

/// What the kernel charges to groups, and how findings call it.
struct Charge {
  std::string_view metric;
  std::string_view part;  ///< The second label; "" for a metric without one.
  std::string_view words;
};
inline constexpr Charge kProgramMemory{kGroupAnonymous, "", "program memory"};
inline constexpr Charge kKernelMemory{kGroupKernel, "", "kernel memory"};
inline constexpr Charge kTasks{kGroupTasks, "", "tasks"};
inline constexpr Charge kSharedMemory{kGroupParts, "shmem", "shared memory"};
inline constexpr Charge kSocketMemory{kGroupParts, "sock", "socket buffers"};
inline constexpr Charge kDirtyMemory{kGroupParts, "file_dirty", "dirty files"};

enum class Holds : std::uint8_t { kNow, kGainedLately };

/// The innermost group that has more than half of what the groups have together, and at least `at_least`; nullptr: there is
/// none, so the data does not say who.
const MetricEvidence* holder(const Evidence& evidence, const Charge& charge, Holds holds, double at_least);

/// Names that group in the finding, with the amount as a fact, where there is one.
void name_holder(const Evidence& evidence, const Charge& charge, Holds holds, double at_least, Finding& finding);

/// The charge that has the memory of a part of the account, or of an allocator's types.
const Charge& charge_of(std::string_view part_or_allocator);

}  // namespace memstat
