// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/pressure.h"

#include "core/base/text.h"

namespace memstat {
namespace {

/// The number after "total=" in microseconds; nothing if it is missing.
std::optional<std::uint64_t> pressure_total_of(std::string_view line) {
  constexpr std::string_view kTotal = "total=";
  for (std::string_view word; next_word(line, word);) {
    if (word.starts_with(kTotal)) return parse_u64(word.substr(kTotal.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> read_pressure(std::string_view text, Pressure& pressure) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t offset = text.size() - rest.size();
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return offset;
    std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    std::string_view kind;
    if (!next_word(line, kind)) continue;
    std::optional<std::uint64_t>* const total = kind == "some" ? &pressure.some : kind == "full" ? &pressure.full : nullptr;
    if (total == nullptr || *total) continue;
    *total = pressure_total_of(line);
    if (!*total) return offset;
  }
  return std::nullopt;
}

}  // namespace memstat
