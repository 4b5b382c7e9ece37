// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::bpf {
namespace {

void add(ProcessKernel& kernel, std::uint64_t pid, const std::string& kind, const std::string& id,
         const std::string& bytes) {
  const std::string number = kernel.link(pid, "anon_inode:bpf-" + kind);
  kernel.files[ProcessKernel::path(pid) + "/fdinfo/" + number] =
      "pos:\t0\n" + kind + "_type:\t1\nmemlock:\t" + bytes + "\n" + kind + "_id:\t" + id + "\n";
}

TEST(WhoBpf, EachMapAndProgramOfAProcessCountsOnce) {
  ProcessKernel kernel;
  kernel.add(7, "agent");
  kernel.add(8, "other");
  for (const char* const id : {"1", "2", "2"}) add(kernel, 7, "map", id, "4096");
  add(kernel, 7, "prog", "2", "8192");
  add(kernel, 8, "map", "1", "4096");
  EXPECT_EQ(holders_text(answer_of(kernel, "bpf")), "7 agent maps 2 8192B; 7 agent programs 1 8192B; 8 other maps 1 4096B");
}

TEST(WhoBpf, DamagedAndHugeFiguresDoNotWrap) {
  ProcessKernel kernel;
  kernel.add(7, "agent");
  add(kernel, 7, "map", "x", "4096");
  add(kernel, 7, "map", "1", "many");
  kernel.link(7, "anon_inode:bpf-map");
  EXPECT_EQ(holders_text(answer_of(kernel, "bpf")), "");
  add(kernel, 7, "map", "2", "18446744073709551615");
  add(kernel, 7, "map", "3", "4096");
  EXPECT_EQ(holders_text(answer_of(kernel, "bpf")), "7 agent maps 2 18446744073709551615B");
}

}  // namespace
}  // namespace memstat::inspections::bpf
