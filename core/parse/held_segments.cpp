// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/held_segments.h"

#include <array>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/parse/header_table.h"

namespace memstat {

std::optional<std::size_t> read_held_segments(std::string_view text, HeldSegments& held) {
  std::string_view rest = text;
  std::string_view line;
  next_line(rest, line);
  constexpr std::array<std::string_view, 3> kNames = {"nattch", "rss", "swap"};
  std::array<std::size_t, 3> places{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto place = column_of(line, kNames[i]);
    if (!place) return std::nullopt;
    places[i] = *place;
  }
  held.is_known = true;
  while (!rest.empty()) {
    const std::size_t offset = text.size() - rest.size();
    next_line(rest, line);
    std::array<std::optional<std::uint64_t>, 3> numbers;
    std::string_view word;
    for (std::size_t place = 0; next_word(line, word); ++place) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (place == places[i]) numbers[i] = parse_u64(word);
      }
    }
    const auto& [attached, resident, swapped] = numbers;
    if (!attached || !resident || !swapped) return offset;
    held.resident = saturating_sum(held.resident, *resident);
    held.swapped = saturating_sum(held.swapped, *swapped);
    if (*attached != 0) continue;
    ++held.unattached;
    held.unattached_bytes = saturating_sum(held.unattached_bytes, saturating_sum(*resident, *swapped));
  }
  return std::nullopt;
}

}  // namespace memstat
