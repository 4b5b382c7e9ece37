// SPDX-License-Identifier: BSD-2-Clause
// Amounts of memory as people of the SystemTap memory tapset know them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/parse/statm.h"

namespace memstat {

/// A short text on the stack. Thread safety: a plain value.
template <std::size_t N>
class ShortText {
 public:
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }
  /// Puts `text` behind it, as much of it as there is room for.
  void append(std::string_view text) { size_ += text.copy(bytes_.data() + size_, N - size_); }

 private:
  std::array<char, N> bytes_;
  std::size_t size_ = 0;
};

/// As the tapset's bytes_to_string: what is below 1024 as it is, all else in the largest unit of K, M and G of which there
/// is at least one, with one decimal when that is below 100. Digits beyond are cut off, so 102399 is "99.9K" and 102400
/// "100K". Five characters, blanks on the left; more from 10000 G on.
ShortText<16> bytes_to_string(std::uint64_t bytes);

/// As the tapset's proc_mem_string: "size: 301m, rss: 11m, shr: 8m, txt: 52k, data: 2248k". Each amount is exact where four
/// digits do for that (in the largest unit that divides it), otherwise as bytes_to_string has it; units are small letters.
ShortText<128> proc_mem_string(const ProcessMemory& memory);

}  // namespace memstat
