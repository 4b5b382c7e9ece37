// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::message_queues {
namespace {

TEST(WhoMessageQueues, AreTheFilesOfTheMount) {
  ProcessKernel kernel;
  kernel.files["/proc/sys/fs/mqueue/queues_max"] = "256\n";
  kernel.files["/proc/self/mountinfo"] =
      "20 1 0:5 / /dev rw - devtmpfs mqueue rw\n36 20 0:20 / /dev/mqueue rw,nosuid shared:9 - mqueue mqueue rw\n";
  for (const char* const name : {"a", "b", "c"}) kernel.files["/dev/mqueue/" + std::string(name)] = "";
  const InspectionAnswer answer = answer_of(kernel, "message-queues");
  ASSERT_EQ(holders_text(answer), "/dev/mqueue 3");
  EXPECT_EQ(answer.holders[0].limit, 256U);
}

TEST(WhoMessageQueues, WithoutTheMountThereAreNoHolders) {
  ProcessKernel kernel;
  for (const char* const mounts : {"", "36 - mqueue x", "20 1 0:5 / /dev rw - devtmpfs mqueue rw\n"}) {
    kernel.files["/proc/self/mountinfo"] = mounts;
    EXPECT_EQ(holders_text(answer_of(kernel, "message-queues")), "") << mounts;
  }
}

}  // namespace
}  // namespace memstat::inspections::message_queues
