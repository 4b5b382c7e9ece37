// SPDX-License-Identifier: BSD-2-Clause
// Recent kills as the kernel's log has them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/diagnosis/evidence.h"

namespace memstat {

/// Allowed between a kill and the poll that counts it, and between the log's clock and the uptime.
inline constexpr double kLogSlackSeconds = 5;

/// `kill`: of the evidence. Without times, the newest kills of the log are those that were counted.
bool is_recent_kill(const Evidence& evidence, const KillEvidence& kill);

/// The same for one that somebody requested.
bool is_requested(const Evidence& evidence, const KillEvidence& kill);

/// The same for one in a group that the log does not name: the line that does is missing before 4.19, after ten kills in
/// five seconds, and where only part of the log is kept.
bool is_in_unnamed_group(const Evidence& evidence, const KillEvidence& kill);

/// The last recent victim at the limit of `group` or one below it, or of the whole machine, whose death nobody requested;
/// nullptr: none in the log. A kill whose group the log does not name may be of any, so it comes after those of this one.
const KillEvidence* last_victim(const Evidence& evidence, bool is_of_group, std::string_view group = "/");

/// The groups at their limits in recent kills, the newest first, without duplicates: `group` and those below it.
std::vector<std::string_view> logged_groups(const Evidence& evidence, std::string_view group);

/// Recent kills for the whole machine that somebody requested.
std::size_t requested_kills(const Evidence& evidence);

/// What the recent victims released together. Memory beyond that was there before they were killed.
double released_by_kills(const Evidence& evidence);

}  // namespace memstat
