// SPDX-License-Identifier: BSD-2-Clause
// Reads known_types.txt, which the build embeds.
#include "daemon/explain/known_types.h"

#include <map>
#include <vector>

#include "core/base/text.h"

namespace memstat {
namespace {

std::vector<KnownType> read_known_types() {
  std::vector<KnownType> types;
  std::map<std::string_view, std::string_view> shared;  // by "name:"
  std::string_view rest = known_types_text();
  const auto text_of = [&](std::string_view line) {
    const auto found = shared.find(trim(line));
    return found == shared.end() ? trim(line) : found->second;
  };
  for (std::string_view line; next_line(rest, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (const std::size_t colon = line.find(": "); colon != std::string_view::npos) {
      shared.emplace(line.substr(0, colon + 1), line.substr(colon + 2));
      continue;
    }
    KnownType& type = types.emplace_back();
    const std::size_t blank = line.find(' ');
    type.allocator = line.substr(0, blank);
    type.pattern = line.substr(blank + 1);
    if (next_line(rest, line)) type.what = text_of(line);
    if (next_line(rest, line)) type.growth = text_of(line);
  }
  return types;
}

}  // namespace

std::span<const KnownType> known_types() {
  static const std::vector<KnownType> types = read_known_types();
  return types;
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= star + tail.size() && name.starts_with(pattern.substr(0, star)) && name.ends_with(tail);
}

}  // namespace memstat
