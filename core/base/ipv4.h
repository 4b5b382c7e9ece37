// SPDX-License-Identifier: BSD-2-Clause
// IPv4 addresses, networks and endpoints, all in host byte order. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// "192.0.2.1" as a number in host byte order. Anything else, also numbers with leading zeros, which are octal to some
/// programs: nothing.
std::optional<std::uint32_t> parse_ipv4(std::string_view text);

/// The reverse of parse_ipv4.
std::string format_ipv4(std::uint32_t address);

/// Whether the address is in 127.0.0.0/8.
constexpr bool is_loopback(std::uint32_t address) { return (address >> 24U) == 127; }
inline constexpr std::uint32_t kLoopbackAddress = 0x7F000001;  ///< 127.0.0.1

/// The network mask of a prefix of 0 to 32 bits.
constexpr std::uint32_t ipv4_mask(unsigned prefix) { return prefix == 0 ? 0 : 0xFFFFFFFFU << (32 - prefix); }

/// A network whose bits beyond `prefix`, which is 0 (every host) to 32 (one host), are 0.
struct Ipv4Network {
  std::uint32_t address = 0;
  unsigned prefix = 32;
  friend bool operator==(const Ipv4Network&, const Ipv4Network&) = default;
  [[nodiscard]] constexpr bool holds(std::uint32_t host) const { return (host & ipv4_mask(prefix)) == address; }
};

/// An address and a port. Address 0 means all interfaces, port 0 any free port.
struct Endpoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// "127.0.0.1:8947".
std::string format_endpoint(Endpoint endpoint);

}  // namespace memstat
