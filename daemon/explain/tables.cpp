// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/tables.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "core/diagnosis/cause.h"

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

const LimitWord* limit_word(std::string_view os, std::string_view allocator, std::string_view type) {
  static const auto words = rows_of<LimitWord>(limit_words_text());
  const auto found = std::find_if(words.begin(), words.end(), [&](const LimitWord& word) {
    return word.os == os && word.allocator == allocator && matches_pattern(word.type, type);
  });
  return found == words.end() ? nullptr : &*found;
}

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

std::string_view runbook_of_cause(std::string_view name) {
  const Cause* const cause = find_cause(name);
  return cause == nullptr ? std::string_view() : cause->runbook;
}

}  // namespace memstat
