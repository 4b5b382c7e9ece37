// SPDX-License-Identifier: BSD-2-Clause
// The parts of the account, compared with each other.
#pragma once

#include <optional>
#include <string_view>

#include "core/diagnosis/evidence.h"

namespace memstat {

inline constexpr std::string_view kUnaccountedMetric = "memstat_unaccounted_bytes";

/// One part, or what no part explains.
struct LargestPart {
  std::string_view name;    ///< "anonymous", "unaccounted"
  std::string_view metric;  ///< where its bytes come from
  double bytes = 0;
  double recent = 0;  ///< its recent change
};

/// The largest part that is not a cache. Unaccounted memory is compared like a part. Nothing: none has bytes.
std::optional<LargestPart> largest_part(const Evidence& evidence);

/// Available memory without what the cache of ZFS should give back: while programs are killed, it did not. 0: none, or
/// unknown.
double available_without_arc(const Evidence& evidence);

/// Kills that were counted recently. Kernels before 4.13 count none, so those of the log.
double recent_kills(const Evidence& evidence);

/// Whether kills followed from memory that no part explains: it is the largest part, and little is available.
bool has_unaccounted_killed(const Evidence& evidence);

}  // namespace memstat
