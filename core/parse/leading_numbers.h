// SPDX-License-Identifier: BSD-2-Clause
// The first numbers of a file with nothing but numbers, as many files of /sys are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/text.h"

namespace memstat {

/// Nothing when there are fewer, or one of them is no number of 64 bits.
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
