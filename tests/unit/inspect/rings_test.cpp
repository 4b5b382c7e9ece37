// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::rings {
namespace {

TEST(WhoRings, AreMappingsOfTheKernelsBuffersByKind) {
  ProcessKernel kernel;
  kernel.add(7, "db");
  kernel.add(8, "tcpdump");
  kernel.files["/proc/7/maps"] =
      "7f0000000000-7f0000010000 rw-s 00000000 00:0f 1234                       anon_inode:[io_uring]\n"
      "7f0000020000-7f0000021000 rw-s 10000000 00:0f 1234                       anon_inode:[io_uring]\n"
      "7f0000030000-7f0000031000 rw-p 00000000 00:00 0\n"
      "7f0000040000-7f0000049000 rw-s 00000000 00:0f 1234                       anon_inode:[perf_event]\n"
      "7f0000050000-7f0000059000 r--p 00000000 08:01 99                         /tmp/anon_inode:[io_uring]\n";
  kernel.files["/proc/8/maps"] = "7f0000000000-7f0000100000 rw-s 00000000 00:08 777                        socket:[777]\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "rings")),
            "8 tcpdump sockets 1 1048576B; 7 db io_uring 2 69632B; 7 db perf events 1 36864B");
}

TEST(WhoRings, LinesThatAreDamagedCountNothing) {
  ProcessKernel kernel;
  kernel.add(7, "db");
  kernel.files["/proc/7/maps"] =
      "7f00 rw-s 0 0 1 anon_inode:[io_uring]\n9-8 rw-s 0 0 1 anon_inode:[io_uring]\nx-y rw-s 0 0 1 anon_inode:[io_uring]\n"
      "anon_inode:[io_uring]\n\n1-2 rw-s 0";
  EXPECT_EQ(holders_text(answer_of(kernel, "rings")), "");
  kernel.files["/proc/7/maps"] =
      "0-ffffffffffffffff rw-s 0 0 1 anon_inode:[io_uring]\n0-ffffffffffffffff rw-s 0 0 1 anon_inode:[io_uring]\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "rings")), "7 db io_uring 2 18446744073709551615B");
}

}  // namespace
}  // namespace memstat::inspections::rings
