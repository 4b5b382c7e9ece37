// SPDX-License-Identifier: BSD-2-Clause
// dashboards/runbooks.md, in the program: embed.cmake makes the text of it at build time.
#pragma once

#include <string_view>
#include <vector>

namespace memstat {

/// The whole file. Static.
std::string_view runbooks_text();

/// What to do about one alert. Thread safety: a plain value.
struct Runbook {
  std::string_view alert;    ///< "MemstatNearLimit"
  std::string_view section;  ///< Below its heading, without blank lines at both ends.
};

/// One for each heading of the second level, in the order of the file. Pointers into runbooks_text().
std::vector<Runbook> runbooks();

}  // namespace memstat
