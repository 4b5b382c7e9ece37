// SPDX-License-Identifier: BSD-2-Clause
// Which account the key `user` means on this machine.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace memstat {

/// Around a call of getpwnam() or its like: where glibc runs out of memory there, it aborts or crashes instead of failing
/// (2.36: nss_database.c, lines 291 and 402). While this lives, that ends the process with a line on standard error and
/// status 1. Thread safety: none; the process has one thread when it looks up accounts.
class AccountLookup {
 public:
  AccountLookup();
  AccountLookup(const AccountLookup&) = delete;
  AccountLookup& operator=(const AccountLookup&) = delete;
  ~AccountLookup();

 private:
  struct sigaction abort_before_ = {};
  struct sigaction crash_before_ = {};
};

/// Whether this machine has an account of that name. What cannot be looked up counts as not there. Thread safety: none, as
/// getpwnam(3).
bool is_account(const std::string& user);

/// An account and its group, -1: the present ones. Thread safety: a plain value.
struct AccountNumbers {
  std::int64_t user = -1;
  std::int64_t group = -1;
};

/// The account of that name; where there is none, which drop_privileges() says, the present one. Thread safety: none, as
/// is_account().
AccountNumbers account_numbers(const std::string& user);

/// The name of that account; "" when it has none. Thread safety: none, as is_account().
std::string account_name(std::int64_t user);

/// Who this process is: "root", "user 998 (_memstatd)", or "user 998" without a name.
std::string account_text(const std::string& name);

/// The number of the group of that name; -1 when there is none. Thread safety: none, as is_account().
std::int64_t group_number(const std::string& group);

/// `user`, but "nobody" where it is `own` and this machine has no such account: the packages make memstatd's own, a build
/// from source does not. Thread safety: none, as is_account().
std::string account_for(const std::string& user, std::string_view own);

}  // namespace memstat
