// SPDX-License-Identifier: BSD-2-Clause
// What an answer lacks, from how the sources of a kernel fare.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/telemetry/source_status.h"

namespace memstat::ctl {

/// A line for people for all sources that lack a permission, and one for each source that fails. Empty: nothing is missing.
/// `is_replay`: of a capture, which is as it was recorded.
std::vector<std::string> missing_sources(std::span<const SourceStatus> sources, bool is_replay);

/// Why there are no types at all; "" when any source is up.
std::string why_nothing(std::span<const SourceStatus> sources);

}  // namespace memstat::ctl
