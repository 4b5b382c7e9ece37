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

/// How a report is written.
enum class Layout { kText, kJson, kCsv };

/// What a command prints on standard output, and why that is not all, or nothing ("" when it is all).
struct Report {
  std::string output;
  std::string problem;
  std::vector<std::string> notes = {};  ///< What of the source is damaged, for standard error; no failure.
};

/// Writes all of it to standard output. kExitDone, or kExitFailed after saying on standard error why it could not be
/// written.
int print(std::string_view text);

}  // namespace memstat::ctl
