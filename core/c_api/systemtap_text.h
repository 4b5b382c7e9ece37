// SPDX-License-Identifier: BSD-2-Clause
// Amounts of memory in the format of the SystemTap memory tapset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/parse/statm.h"

namespace memstat {

/// A short text on the stack.
template <std::size_t N>
class ShortText {
 public:
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }
  /// Appends `text`, truncated to the remaining room.
  void append(std::string_view text) { size_ += text.copy(bytes_.data() + size_, N - size_); }

 private:
  std::array<char, N> bytes_;
  std::size_t size_ = 0;
};

/// Like the tapset's bytes_to_string: below 1024 the number itself, otherwise in the largest unit of K, M and G that gives
/// at least one, with one decimal below 100. Truncated, not rounded: 102399 is "99.9K" and 102400 "100K". Five characters,
/// right-aligned; more from 10000 G on.
ShortText<16> bytes_to_string(std::uint64_t bytes);

/// Like the tapset's proc_mem_string: "size: 301m, rss: 11m, shr: 8m, txt: 52k, data: 2248k". Each amount is exact if four
/// digits suffice (in the largest unit that divides it), otherwise as in bytes_to_string. Units are lower-case.
ShortText<128> proc_mem_string(const ProcessMemory& memory);

}  // namespace memstat
