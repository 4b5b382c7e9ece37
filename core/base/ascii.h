// SPDX-License-Identifier: BSD-2-Clause
// Letters and digits of ASCII, whatever the locale is.
#pragma once

#include <algorithm>
#include <string_view>

namespace memstat {

/// A capital letter as a small one; any other byte as it is.
constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether the texts differ in nothing but capital and small letters of ASCII.
constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

/// The value of a hexadecimal digit, -1 for any other byte.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = ascii_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace memstat
