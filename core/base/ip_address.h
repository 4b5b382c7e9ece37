// SPDX-License-Identifier: BSD-2-Clause
// IP addresses, networks and listening endpoints.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// An IPv6 address, or an IPv4 address in mapped form (::ffff:192.0.2.1).
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const IpAddress&, const IpAddress&) = default;

  /// `number` is in host byte order.
  static constexpr IpAddress v4(std::uint32_t number) {
    IpAddress address;
    address.bytes[10] = address.bytes[11] = 0xFF;
    for (unsigned i = 0; i < 4; ++i) address.bytes[12 + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
    return address;
  }
  [[nodiscard]] constexpr bool is_v4() const {
    for (unsigned i = 0; i < 10; ++i) {
      if (bytes[i] != 0) return false;
    }
    return bytes[10] == 0xFF && bytes[11] == 0xFF;
  }
  /// The IPv4 address in host byte order.
  [[nodiscard]] constexpr std::uint32_t v4_number() const {
    std::uint32_t number = 0;
    for (unsigned i = 12; i < 16; ++i) number = number << 8U | bytes[i];
    return number;
  }
  /// Bits of an address of this family: 32 or 128.
  [[nodiscard]] constexpr unsigned width() const { return is_v4() ? 32 : 128; }
  /// The address with all bits after the first `prefix` cleared. Requires prefix <= width().
  [[nodiscard]] IpAddress masked(unsigned prefix) const;
};

/// Parses "192.0.2.1" or "2001:db8::1". Rejects everything else, including IPv4 numbers with leading zeros, which some
/// programs read as octal, and IPv6 zones.
std::optional<IpAddress> parse_ip(std::string_view text);

std::string format_ip(const IpAddress& address);

bool is_loopback(const IpAddress& address);
inline constexpr IpAddress kLoopbackAddress = IpAddress::v4(0x7F000001);  ///< 127.0.0.1

/// A network. `prefix` is 0 (every host of the family) to width() (one host); bits beyond it are 0.
struct IpNetwork {
  IpAddress address;
  unsigned prefix = 0;
  friend bool operator==(const IpNetwork&, const IpNetwork&) = default;
  [[nodiscard]] bool holds(const IpAddress& host) const {
    return host.is_v4() == address.is_v4() && host.masked(prefix) == address;
  }
};

/// An address and a port (0: any free port), or the path of a Unix socket.
struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
  std::string path = {};  ///< Path of a Unix socket, otherwise empty.
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  /// Whether only local programs can connect.
  [[nodiscard]] bool is_local() const { return is_unix() || is_loopback(address); }
};

/// "127.0.0.1:8947", "[::1]:8947" or "unix:/run/memstatd/memstatd.sock".
std::string format_endpoint(const Endpoint& endpoint);

}  // namespace memstat
