// SPDX-License-Identifier: BSD-2-Clause
// What memstatctl prints, and its exit statuses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memstat::ctl {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPartial = 3;
inline constexpr int kExitNotable = 10;  ///< Of why: something is wasteful or notable.
inline constexpr int kExitUrgent = 11;   ///< Of why: something fails now or soon.

/// How a report is written.
enum class Layout { kText, kJson, kCsv };

/// What a command prints, and how it ends.
struct Report {
  std::string output;                     ///< For standard output.
  std::string problem;                    ///< Why it failed; "": it did not.
  std::vector<std::string> notes = {};    ///< What of the source is damaged, for standard error; no failure.
  std::vector<std::string> missing = {};  ///< What the answer lacks, for standard error: kExitPartial.
  int status = kExitDone;                 ///< Of a report that was written; another than kExitDone outdoes kExitPartial.
};

/// Writes all of it to standard output. kExitDone, or kExitFailed after saying on standard error why it could not be
/// written.
int print(std::string_view text);

}  // namespace memstat::ctl
