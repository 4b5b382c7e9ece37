// SPDX-License-Identifier: BSD-2-Clause
// Splits lists in header values, and writes them differently with the same meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memstat {

/// The elements of a list, with their blanks. Commas between quotes do not count; unclosed quotes reach to the
/// end.
inline std::vector<std::string> list_elements(std::string_view list) {
  std::vector<std::string> elements(1);
  bool quoted = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == ',' && !quoted) {
      elements.emplace_back();
      continue;
    }
    if (list[i] == '"') quoted = !quoted;
    elements.back() += list[i];
    if (list[i] == '\\' && quoted && i + 1 < list.size()) elements.back() += list[++i];
  }
  return elements;
}

/// The same list with `separator` (a comma, with any blanks) between its elements.
inline std::string list_with_separator(std::string_view list, std::string_view separator) {
  std::string joined;
  bool first = true;
  for (const std::string& element : list_elements(list)) {
    if (!first) joined += separator;
    first = false;
    joined += element;
  }
  return joined;
}

}  // namespace memstat
