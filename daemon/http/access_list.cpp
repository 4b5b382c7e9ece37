// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/access_list.h"

#include <algorithm>

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

std::optional<Ipv4Network> parse_ipv4_network(std::string_view text) {
  Ipv4Network network;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto prefix = parse_u64(digits);
    if (!prefix || *prefix > 32 || digits.size() > 2) return {};
    network.prefix = static_cast<unsigned>(*prefix);
  }
  const auto address = parse_ipv4(text.substr(0, slash));
  if (!address) return {};
  network.address = *address & network.mask();
  return network;
}

Error option_error(std::string_view key, std::string_view value, std::string_view why) {
  Error error;
  error.code = ErrorCode::kData;
  error.path.append(key).append(value.empty() ? "" : ": ").append(value);
  error.detail = why;
  return error;
}

Result<AccessList> AccessList::make(std::span<const std::string> allow) {
  AccessList list;
  for (const std::string& entry : allow) {
    const auto network = parse_ipv4_network(entry);
    if (!network) {
      const bool ipv6 = entry.find(':') != std::string::npos;
      return option_error("allow", entry,
                          ipv6 ? "the HTTP server has no IPv6; let a reverse proxy on this host serve IPv6 clients"
                               : "not an IPv4 network; write it as 192.0.2.0/24 or 192.0.2.1");
    }
    list.networks_.push_back(*network);
  }
  return list;
}

bool AccessList::admits(std::uint32_t address) const {
  return is_loopback(address) || std::any_of(networks_.begin(), networks_.end(), [&](const Ipv4Network& network) {
           return (address & network.mask()) == network.address;
         });
}

}  // namespace memstat
