// SPDX-License-Identifier: BSD-2-Clause
// Which clients may connect.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/ip_address.h"

namespace memstat {

/// A kData error for a configured value: "key: value: why".
Error option_error(std::string_view key, std::string_view value, std::string_view why);

/// The addresses that may connect: loopback and the configured networks. Thread safety: a plain value.
class AccessList {
 public:
  /// Without networks, only loopback.
  explicit AccessList(std::vector<IpNetwork> allow) : networks_(std::move(allow)) {}

  [[nodiscard]] bool admits(const IpAddress& address) const;

 private:
  std::vector<IpNetwork> networks_;
};

}  // namespace memstat
