// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/runbooks.h"

#include <algorithm>
#include <cstddef>

namespace memstat {

std::vector<Runbook> runbooks() {
  constexpr std::string_view kHeading = "\n## ";
  std::vector<Runbook> found;
  std::string_view rest = runbooks_text();
  for (std::size_t at = rest.find(kHeading); at != std::string_view::npos; at = rest.find(kHeading)) {
    rest.remove_prefix(at + kHeading.size());
    const std::size_t end_of_name = std::min(rest.find('\n'), rest.size());
    const std::string_view alert = rest.substr(0, end_of_name);
    std::string_view section = rest.substr(end_of_name, std::min(rest.find(kHeading), rest.size()) - end_of_name);
    while (section.starts_with('\n')) section.remove_prefix(1);
    while (section.ends_with('\n')) section.remove_suffix(1);
    found.push_back({.alert = alert, .section = section});
  }
  return found;
}

}  // namespace memstat
