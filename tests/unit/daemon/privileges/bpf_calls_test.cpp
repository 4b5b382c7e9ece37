// SPDX-License-Identifier: BSD-2-Clause
// What the sandbox permits of bpf(2): running a program that was loaded before, and nothing else.
#if defined(__linux__)

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "daemon/privileges/privileges.h"

namespace memstat {
namespace {

constexpr long kLoadProgram = 5;       // BPF_PROG_LOAD
constexpr long kNewPass = 33;          // BPF_ITER_CREATE
constexpr long kProgramByNumber = 13;  // BPF_PROG_GET_FD_BY_ID
constexpr int kNoFilter = 77;

/// The wait status of a process that calls bpf(2) within the sandbox.
int status_of_call(long command) {
  const pid_t child = fork();
  if (child == 0) {
    const auto report =
        drop_privileges({.user = "nobody", .lock_memory = false, .readable_paths = {}, .writable_paths = {}});
    if (!report) _exit(2);
    if (!report->seccomp) _exit(kNoFilter);
    const std::uint32_t no_link[2] = {0xffffffffU, 0};
    _exit(syscall(SYS_bpf, command, no_link, sizeof no_link) < 0 && errno != ENOSYS ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(BpfCalls, LetAPassBeMadeAndEndTheProcessForAllElse) {
  if (!std::string_view(MEMSTAT_SANITIZER).empty()) GTEST_SKIP() << "there is no sandbox under a sanitizer";
  const int allowed = status_of_call(kNewPass);
  ASSERT_TRUE(WIFEXITED(allowed)) << "signal " << WTERMSIG(allowed);
  if (WEXITSTATUS(allowed) == kNoFilter) GTEST_SKIP() << "built or running without seccomp";
  EXPECT_EQ(WEXITSTATUS(allowed), 0);
  for (const long command : {kLoadProgram, kProgramByNumber, kNewPass + 1}) {
    const int status = status_of_call(command);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << command << ": " << status;
  }
}

}  // namespace
}  // namespace memstat

#endif
