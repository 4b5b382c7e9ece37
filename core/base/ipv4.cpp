// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/ipv4.h"

#include "core/base/text.h"

namespace memstat {

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = part < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos || end == 0 || end > 3) return {};
    const auto number = parse_u64(text.substr(0, end));
    // "010" is eight to some readers and ten to others: refuse it.
    if (!number || *number > 255 || (end > 1 && text[0] == '0')) return {};
    address = (address << 8) | static_cast<std::uint32_t>(*number);
    text.remove_prefix(part < 3 ? end + 1 : end);
  }
  return address;
}

std::string format_ipv4(std::uint32_t address) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += std::to_string((address >> shift) & 255);
    if (shift != 0) text += '.';
  }
  return text;
}

std::string format_endpoint(Endpoint endpoint) {
  return format_ipv4(endpoint.address) + ":" + std::to_string(endpoint.port);
}

}  // namespace memstat
