// SPDX-License-Identifier: BSD-2-Clause
// dashboards/runbooks.md, embedded at build time by embed.cmake.
#pragma once

#include <string_view>
#include <vector>

namespace memstat {

/// The whole file. Static.
std::string_view runbooks_text();

/// The runbook of one alert.
struct Runbook {
  std::string_view alert;    ///< "MemstatNearLimit"
  std::string_view section;  ///< The text below its heading, without leading and trailing blank lines.
};

/// One per second-level heading, in file order. Views of runbooks_text().
std::vector<Runbook> runbooks();

}  // namespace memstat
