// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/base/text.h"

namespace memstat {
namespace {

std::optional<IpAddress> parse_v4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = part < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos || end == 0 || end > 3) return {};
    const auto number = parse_u64(text.substr(0, end));
    // Reject leading zeros: some programs read "010" as 8, others as 10.
    if (!number || *number > 255 || (end > 1 && text[0] == '0')) return {};
    address = (address << 8) | static_cast<std::uint32_t>(*number);
    text.remove_prefix(part < 3 ? end + 1 : end);
  }
  return IpAddress::v4(address);
}

}  // namespace

IpAddress IpAddress::masked(unsigned prefix) const {
  const unsigned kept = prefix + (is_v4() ? 96 : 0);
  IpAddress result;
  for (unsigned i = 0; i < bytes.size(); ++i) {
    const unsigned bits = std::clamp(static_cast<int>(kept) - static_cast<int>(8 * i), 0, 8);
    result.bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xFF00U >> bits));
  }
  return result;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return parse_v4(text);
  std::array<char, INET6_ADDRSTRLEN> copy{};
  if (text.size() >= copy.size() || text.find('\0') != std::string_view::npos) return {};
  text.copy(copy.data(), text.size());
  IpAddress address;
  if (::inet_pton(AF_INET6, copy.data(), address.bytes.data()) != 1) return {};
  return address;
}

std::string format_ip(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = address.is_v4();
  ::inet_ntop(is_v4 ? AF_INET : AF_INET6, address.bytes.data() + (is_v4 ? 12 : 0), text.data(), text.size());
  return text.data();
}

bool is_loopback(const IpAddress& address) {
  if (address.is_v4()) return address.bytes[12] == 127;
  IpAddress loopback;
  loopback.bytes[15] = 1;
  return address == loopback;
}

std::string format_endpoint(const Endpoint& endpoint) {
  if (endpoint.is_unix()) return "unix:" + endpoint.path;
  const std::string address = format_ip(endpoint.address);
  return (endpoint.address.is_v4() ? address : "[" + address + "]") + ":" + std::to_string(endpoint.port);
}

}  // namespace memstat
