// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/account.h"

#include <pwd.h>

namespace memstat {

std::string account_for(const std::string& user, std::string_view own) {
  const bool is_missing = user == own && getpwnam(user.c_str()) == nullptr;  // NOLINT(concurrency-mt-unsafe)
  return is_missing ? "nobody" : user;
}

}  // namespace memstat
