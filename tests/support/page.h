// SPDX-License-Identifier: BSD-2-Clause
// Reads a text page: one sample, or all lines.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"

namespace memstat {

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line; next_line(text, line);) lines.emplace_back(line);
  return lines;
}

/// The value of the series written exactly so, `memstat_type_bytes{allocator="uma",type="a"}`; nothing if it is missing,
/// "twice" if it occurs more than once.
inline std::optional<std::string> value_of(std::string_view page, std::string_view series) {
  std::optional<std::string> value;
  for (const std::string& line : lines_of(page)) {
    if (!line.starts_with(series) || line.size() <= series.size() || line[series.size()] != ' ') continue;
    value = value ? "twice" : line.substr(series.size() + 1);
  }
  return value;
}

/// The sample of one type, by the last part of the metric's name ("bytes") and the label values as they are on the page.
inline std::optional<std::string> type_value(std::string_view page, std::string_view metric, std::string_view allocator,
                                             std::string_view type) {
  std::string series = "memstat_type_";
  series.append(metric).append("{allocator=\"").append(allocator).append("\",type=\"").append(type).append("\"}");
  return value_of(page, series);
}

/// Errors in the order of a page, "" if none: families that are not contiguous, HELP or TYPE that do not occur exactly once
/// and before the samples, duplicate series.
inline std::string problem_of(std::string_view page) {
  std::set<std::string> families;
  std::set<std::string> series;
  std::string family;
  bool has_type = false;
  bool is_histogram = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      has_type = false;
      if (!families.insert(family).second) return "a second HELP: " + line;
    } else if (line.starts_with("# TYPE ")) {
      if (has_type || !line.starts_with("# TYPE " + family + " ")) return "a misplaced TYPE: " + line;
      has_type = true;
      is_histogram = line.ends_with(" histogram");
    } else {
      std::string name = line.substr(0, line.find_first_of("{ "));
      for (const std::string_view part : {"_bucket", "_sum", "_count"}) {
        if (is_histogram && name == family + std::string(part)) name = family;
      }
      if (!has_type || name != family) return "a sample outside of its family: " + line;
      if (!series.insert(line.substr(0, line.rfind(' '))).second) return "a series twice: " + line;
    }
  }
  return "";
}

}  // namespace memstat
