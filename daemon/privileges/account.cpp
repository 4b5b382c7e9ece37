// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/account.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

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

bool is_account(const std::string& user) {
  const AccountLookup guard;
  return getpwnam(user.c_str()) != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

AccountNumbers account_numbers(const std::string& user) {
  const AccountLookup guard;
  const passwd* const account = getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (account == nullptr) return {};
  return {.user = static_cast<std::int64_t>(account->pw_uid), .group = static_cast<std::int64_t>(account->pw_gid)};
}

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

}  // namespace memstat
