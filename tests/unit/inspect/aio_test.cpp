// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::aio {
namespace {

TEST(WhoAio, AreMappingsOfContexts) {
  ProcessKernel kernel;
  kernel.add(7, "db");
  kernel.add(8, "shell");
  kernel.files["/proc/7/maps"] =
      "7f0000000000-7f0000010000 rw-s 00000000 00:10 1234                       /[aio] (deleted)\n"
      "7f0000020000-7f0000021000 rw-s 00000000 00:10 1235                       /[aio] (deleted)\n"
      "7f0000030000-7f0000031000 rw-s 00000000 08:01 99                         /srv/[aio]\n";
  kernel.files["/proc/8/maps"] = "7f0000000000-7f0000010000 rw-p 00000000 00:00 0\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "aio")), "7 db 2 69632B");
}

}  // namespace
}  // namespace memstat::inspections::aio
