// SPDX-License-Identifier: BSD-2-Clause
// Reads the first numbers of a file that consists of numbers, as many files of /sys do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/text.h"

namespace memstat {

/// Nothing if there are fewer, or one of them does not fit in 64 bits.
template <std::size_t N>
std::optional<std::array<std::uint64_t, N>> read_leading_numbers(std::string_view text) {
  std::array<std::uint64_t, N> numbers{};
  std::string_view word;
  for (std::uint64_t& number : numbers) {
    const auto parsed = next_word(text, word) ? parse_u64(word) : std::nullopt;
    if (!parsed) return std::nullopt;
    number = *parsed;
  }
  return numbers;
}

}  // namespace memstat
