// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::pipes {
namespace {

TEST(WhoPipes, BothEndsOfAPipeAreOne) {
  ProcessKernel kernel;
  kernel.add(7, "shell");
  kernel.add(8, "files", 50);
  for (int i = 0; i < 3; ++i) {
    kernel.link(7, "pipe:[" + std::to_string(100 + i) + "]");
    kernel.link(7, "pipe:[" + std::to_string(100 + i) + "]");
  }
  kernel.link(8, "pipe:[100]");
  EXPECT_EQ(holders_text(answer_of(kernel, "pipes")), "7 shell 3; 8 files 1");
}

TEST(WhoPipes, AProcessWithVeryManyFilesHidesNoOther) {
  ProcessKernel kernel;
  kernel.add(6, "hoarder", 20'000, "/dev/null");
  kernel.add(7, "leaky", 20'000, "pipe:[1]");
  kernel.add(8, "shell", 1, "pipe:[2]");
  for (int i = 0; i < 5000; ++i) kernel.links["/proc/6/fd/" + std::to_string(i)] = "pipe:[" + std::to_string(100 + i) + "]";
  const InspectionAnswer answer = answer_of(kernel, "pipes", {.max_objects = 10'000});
  EXPECT_TRUE(answer.is_cut);
  EXPECT_TRUE(holders_text(answer).starts_with("6 hoarder ")) << holders_text(answer);
  EXPECT_TRUE(holders_text(answer).ends_with("; 8 shell 1")) << holders_text(answer);
}

TEST(WhoPipes, AFileNamedLikeAPipeIsNotAPipe) {
  ProcessKernel kernel;
  kernel.add(7, "shell");
  for (const char* const target : {"/tmp/pipe:[1]", "pipe:[]", "pipe:[1", "pipe:[x]", "pipe:[1] (deleted)", "pipe:", "pipe",
                                   "pipe:[99999999999999999999]", "socket:[1]", ""}) {
    kernel.link(7, target);
  }
  EXPECT_EQ(holders_text(answer_of(kernel, "pipes")), "");
}

}  // namespace
}  // namespace memstat::inspections::pipes
