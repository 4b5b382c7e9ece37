// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/account.h"

#include <pwd.h>

#include "config/config.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(Account, IsMemstatdsOwnWhereThereIsOneAndElseNobody) {
  const std::string own(kOwnUser);
  EXPECT_EQ(account_for(own, kOwnUser), getpwnam(own.c_str()) != nullptr ? own : "nobody");
}

TEST(Account, IsThereOrNot) {
  EXPECT_TRUE(is_account("root"));
  EXPECT_FALSE(is_account("no-such-account"));
}

TEST(Account, ALookupThatAbortsOrCrashesEndsTheProcessWithALineAndStatus1) {
  const auto abort_within = [] {
    const AccountLookup guard;
    std::abort();
  };
  EXPECT_EXIT(abort_within(), testing::ExitedWithCode(1), "^memstatd: ended: out of memory while an account was looked up");
  const auto crash_within = [] {
    const AccountLookup guard;
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(crash_within(), testing::ExitedWithCode(1), "out of memory");
  const auto abort_after = [] {
    (void)is_account("root");
    std::abort();
  };
  EXPECT_EXIT(abort_after(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace memstat
