// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/account.h"

#include <pwd.h>

#include "config/config.h"

namespace memstat {

std::string account_for(const std::string& user) {
  const bool is_missing = user == kOwnUser && getpwnam(user.c_str()) == nullptr;  // NOLINT(concurrency-mt-unsafe)
  return is_missing ? "nobody" : user;
}

}  // namespace memstat
