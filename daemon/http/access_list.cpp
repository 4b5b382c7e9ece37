// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/access_list.h"

#include <algorithm>

namespace memstat {

Error option_error(std::string_view key, std::string_view value, std::string_view why) {
  Error error;
  error.code = ErrorCode::kData;
  error.path.append(key).append(value.empty() ? "" : ": ").append(value);
  error.detail = why;
  return error;
}

bool AccessList::admits(const IpAddress& address) const {
  return is_loopback(address) ||
         std::any_of(networks_.begin(), networks_.end(), [&](const IpNetwork& network) { return network.holds(address); });
}

}  // namespace memstat
