// SPDX-License-Identifier: BSD-2-Clause
// Looks up the account of the key `user` on this machine, and becomes it.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string_view>

#include "core/base/not_copyable.h"
#include "daemon/privileges/privileges.h"

namespace memstat {

/// Use around getpwnam() and the like: if glibc (2.36) runs out of memory there, it aborts or crashes instead of
/// failing (nss_database.c, lines 291 and 402). While this object exists, that ends the process with a message on
/// standard error and status 1. Thread safety: none; the process has one thread when it looks up accounts.
class AccountLookup : NotCopyable {
 public:
  AccountLookup();
  ~AccountLookup();

 private:
  struct sigaction abort_before_ = {};
  struct sigaction crash_before_ = {};
};

/// Whether this machine has an account of this name. A failed lookup counts as no. Thread safety: none, as getpwnam(3).
bool is_account(const std::string& user);

/// An account and its group. -1: the current ones.
struct AccountNumbers {
  std::int64_t user = -1;
  std::int64_t group = -1;
};

/// The account of this name, or the current one if there is none (drop_privileges() reports that). Thread safety: none,
/// as is_account().
AccountNumbers account_numbers(const std::string& user);

/// The account's name; "" if it has none. Thread safety: none, as is_account().
std::string account_name(std::int64_t user);

/// The process's account, for display: "root", "user 998 (_memstatd)", or "user 998" without a name.
std::string account_text(const std::string& name);

/// The ID of the group of this name; -1 if there is none. Thread safety: none, as is_account().
std::int64_t group_number(const std::string& group);

/// `user`; but "nobody" if `user` is `own` and this machine has no such account: packages create memstatd's own
/// account, a build from source does not. Thread safety: none, as is_account().
std::string account_for(const std::string& user, std::string_view own);

/// A kPermission error for a step without which privileges would remain.
Error privilege_refused(const std::string& what, int system_errno, std::string_view advice);

/// The numbers of this account; -1 if the user stays, with a note, because `user` is "" or the process is not root. Errors:
/// kData if the account is unknown. Thread safety: none, as is_account().
Result<AccountNumbers> account_to_become(const std::string& user, PrivilegeReport& report);
/// Becomes this account, if any, with its primary group and no others, permanently. Errors: kPermission.
Result<void> change_user(const AccountNumbers& account, PrivilegeReport& report);

}  // namespace memstat
