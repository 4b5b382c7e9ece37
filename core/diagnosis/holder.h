// SPDX-License-Identifier: BSD-2-Clause
// Which control group holds what a finding is about, by what the kernel charged to it.
#pragma once

#include <string_view>

#include "core/diagnosis/cause.h"

namespace memstat {

/// Bytes charged to a group, by what they are for.
inline constexpr std::string_view kGroupAnonymous = "memstat_memcg_anonymous_bytes";
inline constexpr std::string_view kGroupKernel = "memstat_memcg_kernel_bytes";
inline constexpr std::string_view kGroupTasks = "memstat_memcg_tasks";

enum class Holds : std::uint8_t { kNow, kGainedLately };

/// The innermost group that has more than half of what the groups have together, and at least `at_least`; nullptr: there is
/// none, so the data does not say who.
const MetricEvidence* holder(const Evidence& evidence, std::string_view metric, Holds holds, double at_least);

/// Names that group in the finding, with the amount as a fact. Does nothing for nullptr.
void name_holder(const Evidence& evidence, const MetricEvidence* group, Holds holds, std::string_view what,
                 Finding& finding);

}  // namespace memstat
