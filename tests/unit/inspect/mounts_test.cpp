// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::mounts {
namespace {

TEST(WhoMounts, AreCountedOnceInEachNamespace) {
  ProcessKernel kernel;
  kernel.files["/proc/sys/fs/mount-max"] = "100000\n";
  kernel.links["/proc/self/ns/mnt"] = "mnt:[1]";
  kernel.files["/proc/self/mountinfo"] = "a\nb\nc\n";
  for (const int pid : {7, 8, 9}) {
    kernel.add(static_cast<std::uint64_t>(pid), "container");
    kernel.links[ProcessKernel::path(static_cast<std::uint64_t>(pid)) + "/ns/mnt"] = pid == 7 ? "mnt:[1]" : "mnt:[2]";
    kernel.files[ProcessKernel::path(static_cast<std::uint64_t>(pid)) + "/mountinfo"] = "a\nb\n";
  }
  const InspectionAnswer answer = answer_of(kernel, "mounts");
  EXPECT_EQ(holders_text(answer), "this namespace 3; 8 container 2");
  EXPECT_EQ(answer.holders.at(0).limit, 100000U);
}

}  // namespace
}  // namespace memstat::inspections::mounts
