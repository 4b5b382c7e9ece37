// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/account.h"

#include <gtest/gtest.h>
#include <pwd.h>

#include "config/config.h"

namespace memstat {
namespace {

TEST(Account, IsMemstatdsOwnWhereThereIsOneAndElseNobody) {
  const std::string own(kOwnUser);
  EXPECT_EQ(account_for(own, kOwnUser), getpwnam(own.c_str()) != nullptr ? own : "nobody");
}

TEST(Account, AnyOtherIsTakenAsItIs) {
  for (const char* const user : {"", "root", "nobody", "no-such-account"}) EXPECT_EQ(account_for(user, kOwnUser), user);
}

}  // namespace
}  // namespace memstat
