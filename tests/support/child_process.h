// SPDX-License-Identifier: BSD-2-Clause
// Runs a step of a test in a process of its own: without privileges, or under a limit.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace memstat {

/// The exit status of `run` in a process of its own; -1 if it did not exit.
template <typename Run>
int exit_status_of_child(Run run) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// False if root's privileges could not be dropped.
inline bool become_nobody() { return ::getuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0); }

}  // namespace memstat
