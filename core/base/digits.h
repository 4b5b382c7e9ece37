// SPDX-License-Identifier: BSD-2-Clause
// Numbers as digits.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memstat {

/// The digits of a number, on the stack.
class NumberDigits {
 public:
  explicit NumberDigits(std::uint64_t number, int base = 10)
      : size_(static_cast<std::size_t>(std::to_chars(room_.data(), room_.data() + room_.size(), number, base).ptr -
                                       room_.data())) {}
  [[nodiscard]] std::string_view view() const { return {room_.data(), size_}; }

 private:
  std::array<char, 20> room_;
  std::size_t size_;
};

/// "0xffff888000001000"
inline std::string hex(std::uint64_t number) { return std::string("0x").append(NumberDigits(number, 16).view()); }

}  // namespace memstat
