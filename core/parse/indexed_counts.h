// SPDX-License-Identifier: BSD-2-Clause
// A total followed by its parts, as Linux prints figures of NUMA nodes and CPUs: "12593 C0=11792 C1=801".
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/base/text.h"

namespace memstat {

/// Parses such a text part by part. Skips other words, which newer kernels may add. Borrows the text.
class PlacedNumbers {
 public:
  /// `letter` is the prefix of each part.
  PlacedNumbers(std::string_view text, char letter) : rest_(trim(text)), letter_(letter) {
    std::string_view word;
    const auto total = next_word(rest_, word) ? parse_u64(word) : std::nullopt;
    is_good_ = total.has_value();
    total_ = total.value_or(0);
  }

  /// The leading number, which need not be the sum of the parts; 0 if it is missing.
  [[nodiscard]] std::uint64_t total() const { return total_; }

  /// The next CPU or node and its number. False after the last one, and if something is not a number of at most 64 bits.
  bool next(std::uint64_t& place, std::uint64_t& value) {
    std::string_view word;
    while (is_good_ && next_word(rest_, word)) {
      if (word.front() != letter_) continue;
      const std::size_t equals = std::min(word.find('='), word.size() - 1);
      const auto number = parse_u64(word.substr(1, equals - std::min<std::size_t>(equals, 1)));
      const auto found = parse_u64(word.substr(equals + 1));
      is_good_ = number && found;
      place = number.value_or(0);
      value = found.value_or(0);
      return is_good_;
    }
    return false;
  }

  /// False after something that was not a number. Values read before it remain valid.
  [[nodiscard]] bool is_good() const { return is_good_; }

 private:
  std::string_view rest_;
  char letter_;
  bool is_good_ = false;
  std::uint64_t total_ = 0;
};

}  // namespace memstat
