// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/log_privacy.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/base/ascii.h"
#include "core/base/ip_address.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxAddress = 64;  // with a port

bool is_hex(char c) { return hex_digit(c) >= 0; }
bool is_of_address(char c) {
  const char low = ascii_lower(c);
  return is_hex(c) || (low >= 'a' && low <= 'z') || c == '_' || c == '-' || c == '.' || c == ':';
}

/// The length of the IP address at the beginning of a word; 0 if it is none, or names no host.
std::size_t address_length(std::string_view word) {
  if (word.size() > kMaxAddress || word.find_first_of(".:") == std::string_view::npos) return 0;
  const auto length_of = [](std::string_view text) {
    const auto address = parse_ip(text);
    const bool is_wildcard = address && (*address == IpAddress{} || *address == IpAddress::v4(0));
    return address && !is_wildcard ? text.size() : 0;
  };
  const std::size_t colon = word.rfind(':');
  const bool has_port = colon != std::string_view::npos && word.find(':') == colon;
  return length_of(has_port ? word.substr(0, colon) : word);
}

/// Where the digits of a kernel address begin in a word; nothing if it is none.
std::optional<std::size_t> pointer_digits(std::string_view before, std::string_view word) {
  const std::size_t begin = word.starts_with("0x") ? 2 : 0;
  const std::string_view digits = word.substr(begin);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_hex)) return std::nullopt;
  const bool is_whole = digits.size() == 16 && digits.starts_with("ffff");
  const bool is_long = begin != 0 && digits.size() > 8;
  return is_whole || is_long || (begin != 0 && before.ends_with("pcb ")) ? std::optional(begin) : std::nullopt;
}

}  // namespace

void mask_addresses(std::string& lines) {
  for (std::size_t at = 0; at < lines.size();) {
    const auto begin = static_cast<std::size_t>(
        std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end(), is_of_address) - lines.begin());
    auto end = static_cast<std::size_t>(
        std::find_if_not(lines.begin() + static_cast<std::ptrdiff_t>(begin), lines.end(), is_of_address) - lines.begin());
    at = end;
    while (end > begin && lines[end - 1] == '.') --end;                    // of a sentence
    if (begin == end || (begin > 0 && lines[begin - 1] == '/')) continue;  // part of a path
    const std::string_view word = std::string_view(lines).substr(begin, end - begin);
    if (const auto digits = pointer_digits(std::string_view(lines).substr(0, begin), word)) {
      std::fill(lines.begin() + static_cast<std::ptrdiff_t>(begin + *digits),
                lines.begin() + static_cast<std::ptrdiff_t>(end), '0');
    } else if (const std::size_t length = address_length(word); length != 0) {
      lines.replace(begin, length, 1, '*');
      at -= length - 1;
    }
  }
}

}  // namespace memstat
