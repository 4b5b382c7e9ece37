// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/fd_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace memstat {
namespace {

// In a child, because the limits are the process's.
TEST(OpenFileLimit, IsRaisedToTheHardOneAndNoFurther) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit low{.rlim_cur = 32, .rlim_max = 48};
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) ::_exit(1);
    raise_open_file_limit();
    rlimit raised{};
    if (::getrlimit(RLIMIT_NOFILE, &raised) != 0) ::_exit(2);
    ::_exit(raised.rlim_cur == 48 && raised.rlim_max == 48 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the step that failed";
}

}  // namespace
}  // namespace memstat
