// SPDX-License-Identifier: BSD-2-Clause
// A step of a test that must not happen to the process of the others: without privileges, under a limit.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace memstat {

/// The status with which `run` exits in a process of its own; -1 when it does not come to that.
template <typename Run>
int exit_status_of_child(Run run) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// False where root's privileges could not be given up.
inline bool become_nobody() { return ::getuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0); }

}  // namespace memstat
