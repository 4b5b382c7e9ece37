// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::keys {
namespace {

TEST(WhoKeys, AreOfUsersWithTheirQuotas) {
  ProcessKernel kernel;
  kernel.files["/proc/key-users"] =
      "    0:   119 118/118 110/1000000 2424/25000000\n 1000:   200 199/199 198/200 19000/20000\n"
      " 1001:     1 0/0 0/200 0/20000\nbroken\n 5: 1 1/1 x/200 1\n";
  const InspectionAnswer answer = answer_of(kernel, "keys");
  EXPECT_EQ(holders_text(answer), "bytes 19000; bytes 2424; count 198; count 110");
  EXPECT_EQ(answer.holders[0].user, "1000");
  EXPECT_EQ(answer.holders[0].limit, 20000U);
}

}  // namespace
}  // namespace memstat::inspections::keys
