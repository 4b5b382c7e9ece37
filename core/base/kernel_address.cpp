// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/kernel_address.h"

#include <algorithm>

namespace memstat {
namespace {

constexpr std::size_t kDigits = 16;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Finds the next run of exactly 16 digits that begins with ffff, from `at` on; npos: there is none.
std::size_t find_address(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (!is_hex(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_hex(text[at])) ++at;
    const auto is_f = [](char c) { return c == 'f' || c == 'F'; };
    if (at - begin == kDigits && std::all_of(&text[begin], &text[begin] + 4, is_f)) return begin;
  }
  return std::string_view::npos;
}

}  // namespace

bool has_kernel_address(std::string_view text) {
  return text.size() >= kDigits && find_address(text, 0) != std::string_view::npos;
}

void zero_kernel_addresses(char* bytes, std::size_t size) {
  const std::string_view text(bytes, size);
  const std::size_t last = text.find_last_not_of('\0');
  if (last == std::string_view::npos || text.substr(0, last).find('\0') != std::string_view::npos) return;
  for (std::size_t at = 0; (at = find_address(text, at)) != std::string_view::npos;) {
    std::fill_n(bytes + at, kDigits, '0');
  }
}

}  // namespace memstat
