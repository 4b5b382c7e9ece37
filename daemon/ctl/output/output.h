// SPDX-License-Identifier: BSD-2-Clause
// The output and exit status of memstatctl.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memstat::ctl {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPartial = 3;
inline constexpr int kExitNotable = 10;  ///< For why: something is wasteful or notable.
inline constexpr int kExitUrgent = 11;   ///< For why: something fails now or soon.

/// The format of a report.
enum class Layout { kText, kJson, kCsv };

/// The result of a command.
struct Report {
  std::string output = {};                ///< For standard output.
  std::string problem = {};               ///< Why it failed; "": it did not.
  std::vector<std::string> notes = {};    ///< Damage in the source, for standard error; not a failure.
  std::vector<std::string> missing = {};  ///< Missing parts of the answer, for standard error: kExitPartial.
  /// Status after the report was written. Unless it is kExitDone, it takes precedence over kExitPartial. With a problem, the
  /// status is kExitUsage if this is kExitUsage, and otherwise kExitFailed.
  int status = kExitDone;
};

/// Writes the text to standard output. Returns kExitDone; or kExitFailed, after a message on standard error.
int print(std::string_view text);

}  // namespace memstat::ctl
