// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/account.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>

namespace memstat {
namespace {

void end_without_memory(int) {
  constexpr std::string_view kLine = "memstatd: ended: out of memory while an account was looked up\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(1);
}

}  // namespace

AccountLookup::AccountLookup() {
  struct sigaction action = {};
  action.sa_handler = end_without_memory;
  ::sigaction(SIGABRT, &action, &abort_before_);
  ::sigaction(SIGSEGV, &action, &crash_before_);
}

AccountLookup::~AccountLookup() {
  ::sigaction(SIGABRT, &abort_before_, nullptr);
  ::sigaction(SIGSEGV, &crash_before_, nullptr);
}

AccountNumbers account_numbers(const std::string& user) {
  const AccountLookup guard;
  errno = 0;
  const passwd* const account = getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (account == nullptr) return {};
  return {.user = static_cast<std::int64_t>(account->pw_uid), .group = static_cast<std::int64_t>(account->pw_gid)};
}

bool is_account(const std::string& user) { return account_numbers(user).user >= 0; }

std::string account_name(std::int64_t user) {
  const AccountLookup guard;
  const passwd* const account = getpwuid(static_cast<uid_t>(user));  // NOLINT(concurrency-mt-unsafe)
  return account == nullptr ? std::string() : account->pw_name;
}

std::int64_t group_number(const std::string& group) {
  const AccountLookup guard;
  const ::group* const found = getgrnam(group.c_str());  // NOLINT(concurrency-mt-unsafe)
  return found == nullptr ? -1 : static_cast<std::int64_t>(found->gr_gid);
}

std::string account_text(const std::string& name) {
  if (geteuid() == 0) return "root";
  return "user " + std::to_string(geteuid()) + (name.empty() ? "" : " (" + name + ")");
}

std::string account_for(const std::string& user, std::string_view own) {
  return user == own && !is_account(user) ? "nobody" : user;
}

Error privilege_refused(const std::string& what, int system_errno, std::string_view advice) {
  return make_error(ErrorCode::kPermission, "privileges", what + "; " + std::string(advice), system_errno);
}

Result<AccountNumbers> account_to_become(const std::string& user, PrivilegeReport& report) {
  if (user.empty() || geteuid() != 0) {
    report.notes.push_back((user.empty() ? "user: the key is empty, so uid " : "user: not started as root, so uid ") +
                           std::to_string(geteuid()) + " stays");
    return AccountNumbers{};
  }
  const AccountNumbers account = account_numbers(user);
  if (account.user >= 0) return account;
  // Either the account is unknown, or accounts cannot be looked up at all, which is another error.
  const int status = errno;
  const bool is_unknown = status != EIO && status != EMFILE && status != ENFILE && status != ENOMEM;
  return make_error(
      ErrorCode::kData, "privileges",
      is_unknown ? "user: there is no account \"" + user + "\"; name an existing one, or \"\" to keep the current user"
                 : "user: cannot look up the account \"" + user + "\"",
      status);
}

Result<void> change_user(const AccountNumbers& account, PrivilegeReport& report) {
  constexpr std::string_view kAdvice =
      "start memstatd as root (CAP_SETUID and CAP_SETGID), or as the wanted user with the key user set to \"\"";
  if (account.user < 0) return {};
  const auto uid = static_cast<uid_t>(account.user);
  const auto gid = static_cast<gid_t>(account.group);
  // An empty list keeps the effective group on FreeBSD before 15, whose list begins with it; setresgid() changes that.
  if (setgroups(0, nullptr) != 0) return privilege_refused("setgroups failed", errno, kAdvice);
  if (setresgid(gid, gid, gid) != 0) return privilege_refused("setresgid failed", errno, kAdvice);
  if (setresuid(uid, uid, uid) != 0) return privilege_refused("setresuid failed", errno, kAdvice);
  if (uid != 0 && (setresuid(0, 0, 0) == 0 || getuid() != uid || geteuid() != uid)) {
    return privilege_refused("root was dropped, but the process could become root again", 0,
                             "report this with the version of the kernel");
  }
  report.user_changed = true;
  return {};
}

}  // namespace memstat
