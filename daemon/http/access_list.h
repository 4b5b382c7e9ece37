// SPDX-License-Identifier: BSD-2-Clause
// Which clients may connect: IPv4 networks in CIDR notation. IPv6 has no place here because the HTTP server has none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ipv4.h"
#include "core/base/result.h"

namespace memstat {

/// An IPv4 network. `address` is in host byte order with the host bits cleared; `prefix` is 0 (every host) to 32 (one host).
struct Ipv4Network {
  std::uint32_t address = 0;
  unsigned prefix = 32;
  [[nodiscard]] constexpr std::uint32_t mask() const { return ipv4_mask(prefix); }
};

/// "192.0.2.0/24", or one address. Host bits that are set are cleared. Anything else: nothing. Thread safety: safe.
std::optional<Ipv4Network> parse_ipv4_network(std::string_view text);

/// Whether `address` (host byte order) is in 127.0.0.0/8.
constexpr bool is_loopback(std::uint32_t address) { return (address >> 24) == 127; }

/// An error of code kData about a configured value: "key: value: data: why".
Error option_error(std::string_view key, std::string_view value, std::string_view why);

/// The addresses that may connect: 127.0.0.0/8 and the networks of a configuration. Thread safety: a plain value.
class AccessList {
 public:
  /// An empty `allow` means loopback only. Fails (kData, the entry in `path`) on an entry that is no IPv4 network.
  static Result<AccessList> make(std::span<const std::string> allow);

  /// `address` is in host byte order.
  [[nodiscard]] bool admits(std::uint32_t address) const;

 private:
  std::vector<Ipv4Network> networks_;
};

}  // namespace memstat
