// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/access_list.h"

#include <algorithm>

#include "core/base/text.h"

namespace memstat {

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
