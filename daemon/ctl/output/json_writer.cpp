// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/json_writer.h"

#include <algorithm>

namespace memstat::ctl {
// The writer puts each item on its own line, followed by its comma, and keys need no escapes.
std::string compact_json(std::string_view pretty) {
  constexpr std::string_view kVersionEnd = ", ";
  std::string text;
  bool follows_comma = false;
  while (!pretty.empty()) {
    std::string_view line = pretty.substr(0, pretty.find('\n'));
    pretty.remove_prefix(std::min(line.size() + 1, pretty.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    const bool is_opening = line.ends_with('{') || line.ends_with('[');
    if (follows_comma) text += is_opening ? ", " : ",";
    if (line.ends_with(kVersionEnd)) {
      text += line;
      follows_comma = false;
      continue;
    }
    follows_comma = line.ends_with(',');
    if (follows_comma) line.remove_suffix(1);
    const std::size_t key_end = is_opening ? std::string_view::npos : line.find("\": ");
    if (key_end == std::string_view::npos) {
      text += line;
    } else {
      text += line.substr(0, key_end + 2);
      text += line.substr(key_end + 3);
    }
  }
  return text + '\n';
}

}  // namespace memstat::ctl
