// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/inspect/processes.h"
#include "tests/support/process_kernel.h"

namespace memstat::inspections::files {
namespace {

TEST(WhoFiles, TheLargestHolderComesFirstWithItsOwner) {
  ProcessKernel kernel;
  kernel.add(1, "init", 2);
  kernel.add(812, "nginx", 30);
  kernel.add(900, "empty");
  kernel.files["/proc/2/status"] = "Name:\tkthreadd\nUid:\t0\t0\t0\t0\nFDSize:\t64\nKthread:\t1\n";
  kernel.files["/etc/passwd"] = "root:x:0:0:root:/root:/bin/sh\nwww:x:1000:1000::/:/bin/false\n";
  const InspectionAnswer answer = answer_of(kernel, "files");
  EXPECT_EQ(holders_text(answer), "812 nginx 30; 1 init 2");
  EXPECT_EQ(answer.holders[0].user, "www");
  EXPECT_EQ(answer.holders[0].group, "/group-812");
  EXPECT_FALSE(answer.is_partial());
}

TEST(WhoFiles, AProcessThatMayNotBeLookedIntoIsCounted) {
  ProcessKernel kernel;
  kernel.counts_descriptors = false;
  kernel.add(1, "init", 2);
  kernel.add(812, "nginx", 30);
  kernel.failures["/proc/1/fd"] = EACCES;
  const InspectionAnswer answer = answer_of(kernel, "files");
  EXPECT_EQ(holders_text(answer), "812 nginx 30");
  EXPECT_EQ(answer.refused, 1U);
  EXPECT_TRUE(answer.is_partial());
}

TEST(WhoFiles, AnEndedProcessIsNeitherAHolderNorARefusal) {
  ProcessKernel kernel;
  kernel.counts_descriptors = false;
  kernel.add(1, "init", 2);
  kernel.add(812, "gone", 30);
  for (const int failure : {ESRCH, ENOENT}) {
    kernel.failures["/proc/812/fd"] = failure;
    const InspectionAnswer answer = answer_of(kernel, "files");
    EXPECT_EQ(holders_text(answer), "1 init 2");
    EXPECT_FALSE(answer.is_partial());
  }
  Inspector inspector(kernel, {});
  note_refusal(inspector, Process{.pid = 99, .command = {}, .uid = {}}, system_error("/proc/99/fd", EACCES));
  EXPECT_EQ(inspector.answer().refused, 0U);
}

TEST(WhoFiles, InAContainerTheAnswerIsPartialAndARecordingSaysSo) {
  ProcessKernel kernel;
  kernel.add(1, "init", 2);
  kernel.tables["linux_view"] = "view 1\nlacks pid_namespace\nlacks ipc_namespace\nend\n";
  const InspectionAnswer answer = answer_of(kernel, "files");
  EXPECT_EQ(answer.view.names(), "pid_namespace") << "files are in no IPC namespace";
  EXPECT_TRUE(answer.is_partial());
  InspectionAnswer replayed;
  ASSERT_TRUE(read_answer(write_answer(answer), replayed));
  EXPECT_EQ(replayed.view, answer.view);
  EXPECT_EQ(replayed.holders, answer.holders);
  ASSERT_TRUE(read_answer("memstat who 1\nasked_ns 1 looked_at 2 refused 0 unlisted 0 is_cut 0\nend 0\n", replayed));
  EXPECT_TRUE(replayed.view.is_whole()) << "recordings before it";
}

TEST(WhoFiles, WithoutProcessesThereIsNoAnswer) {
  ProcessKernel kernel;
  kernel.files["/proc/meminfo"] = "MemTotal: 1 kB\n";
  const auto answer = inspect(kernel, *find_inspection("files"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kNotPresent);
}

}  // namespace
}  // namespace memstat::inspections::files
