// SPDX-License-Identifier: BSD-2-Clause
// Which clients may connect: IPv4 networks. IPv6 has no place here because the HTTP server has none.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/ipv4.h"

namespace memstat {

/// An error of code kData about a configured value: "key: value: data: why".
Error option_error(std::string_view key, std::string_view value, std::string_view why);

/// The addresses that may connect: 127.0.0.0/8 and the networks of a configuration. Thread safety: a plain value.
class AccessList {
 public:
  /// No network means loopback only.
  explicit AccessList(std::vector<Ipv4Network> allow) : networks_(std::move(allow)) {}

  /// `address` is in host byte order.
  [[nodiscard]] bool admits(std::uint32_t address) const;

 private:
  std::vector<Ipv4Network> networks_;
};

}  // namespace memstat
