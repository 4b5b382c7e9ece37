// SPDX-License-Identifier: BSD-2-Clause
// Character classes of ASCII, and numbers as digits, independent of the locale.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memstat {

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

inline std::string lower_case(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), ascii_lower);
  return low;
}

/// The value of a hexadecimal digit, or -1.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = ascii_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// The digits of a number, on the stack.
class NumberDigits {
 public:
  explicit NumberDigits(std::uint64_t number, int base = 10)
      : size_(static_cast<std::size_t>(std::to_chars(room_.data(), room_.data() + room_.size(), number, base).ptr -
                                       room_.data())) {}
  [[nodiscard]] std::string_view view() const { return {room_.data(), size_}; }

 private:
  std::array<char, 20> room_{};
  std::size_t size_;
};

/// Texts and numbers one after another, on the stack. What exceeds `kCapacity` bytes is dropped.
template <std::size_t kCapacity>
class StackText {
 public:
  template <typename... Parts>
  explicit StackText(const Parts&... parts) {
    append(parts...);
  }
  template <typename... Parts>
  void append(const Parts&... parts) {
    (put(parts), ...);
  }
  /// Valid until the next append, and as long as this object.
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void put(std::string_view text) { size_ += text.copy(bytes_.data() + size_, kCapacity - size_); }
  void put(std::uint64_t number) { put(NumberDigits(number).view()); }

  std::array<char, kCapacity> bytes_;  // uninitialized beyond size_
  std::size_t size_ = 0;
};

/// "0xffff888000001000"
inline std::string hex(std::uint64_t number) { return std::string("0x").append(NumberDigits(number, 16).view()); }

}  // namespace memstat
