// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/origins_page.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace memstat::ctl {
namespace {

constexpr std::string_view kOriginAllocations = "memstat_slab_origin_allocations_total{";
constexpr std::string_view kOriginBytes = "memstat_slab_origin_allocated_bytes_total{";

/// Cuts `NAME="VALUE"` off the line, with the comma behind it. Nothing when it does not begin so.
std::optional<std::pair<std::string_view, std::string>> take_page_label(std::string_view& line) {
  const std::size_t equals = line.find("=\"");
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = line.substr(0, equals);
  line.remove_prefix(equals + 2);
  std::string value;
  while (!line.empty() && line.front() != '"') {
    if (line.front() == '\\') {
      line.remove_prefix(1);
      if (line.empty()) return std::nullopt;
      value += line.front() == 'n' ? '\n' : line.front();
    } else {
      value += line.front();
    }
    line.remove_prefix(1);
  }
  if (line.empty()) return std::nullopt;
  line.remove_prefix(1);
  if (line.starts_with(',')) line.remove_prefix(1);
  return std::pair(name, std::move(value));
}

/// A line behind its `{`: the origin, and its number as `bytes`.
std::optional<events::SlabOrigin> parse_origin_line(std::string_view line) {
  events::SlabOrigin origin;
  while (!line.starts_with('}')) {
    auto label = take_page_label(line);
    if (!label) return std::nullopt;
    if (label->first == "cache") origin.cache = std::move(label->second);
    if (label->first == "group") origin.group = std::move(label->second);
    if (label->first == "command") origin.command = std::move(label->second);
    if (label->first == "call_site") origin.call_site = std::move(label->second);
  }
  if (!line.starts_with("} ")) return std::nullopt;
  line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), origin.bytes);
  const bool is_whole = error == std::errc() && (end == line.data() + line.size() || *end == ' ');
  return is_whole && !origin.cache.empty() ? std::optional(std::move(origin)) : std::nullopt;
}

}  // namespace

std::vector<events::SlabOrigin> parse_origins_page(std::string_view page) {
  std::vector<events::SlabOrigin> origins;
  std::map<events::OriginNames, std::uint64_t> allocations;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(page.size(), line.size() + 1));
    const std::string_view word = line.substr(0, line.find('{') + 1);
    if (word != kOriginAllocations && word != kOriginBytes) continue;
    auto origin = parse_origin_line(line.substr(word.size()));
    if (!origin) continue;
    if (word == kOriginAllocations) {
      allocations[names_of(*origin)] = origin->bytes;
    } else {
      origins.push_back(*std::move(origin));
    }
  }
  for (events::SlabOrigin& origin : origins) {
    const auto found = allocations.find(names_of(origin));
    if (found != allocations.end()) origin.allocations = found->second;
  }
  return origins;
}

}  // namespace memstat::ctl
