// SPDX-License-Identifier: BSD-2-Clause
// The pods and containers of the control groups that findings name: people know those, and no paths of 190 characters.
#pragma once

#include "core/diagnosis/cause.h"

namespace memstat {

/// The metrics that name_pods() reads.
inline constexpr std::string_view kPodMetrics[] = {"memstat_memcg_container", "memstat_pod"};

/// Adds to each finding whose innermost named group is in a pod or a container which one that is.
void name_pods(const Evidence& evidence, Findings& findings);

}  // namespace memstat
