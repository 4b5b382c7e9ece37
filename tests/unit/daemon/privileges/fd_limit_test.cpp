// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/startup.h"
#include "tests/support/child_process.h"
#include "tests/support/test.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace memstat {
namespace {

// In a child, because limits belong to the process.
TEST(OpenFileLimit, IsRaisedToTheHardOneAndNoFurther) {
  const int failed_step = exit_status_of_child([&] {
    const rlimit low{.rlim_cur = 32, .rlim_max = 48};
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) return 1;
    raise_open_file_limit();
    rlimit raised{};
    if (::getrlimit(RLIMIT_NOFILE, &raised) != 0) return 2;
    return raised.rlim_cur == 48 && raised.rlim_max == 48 ? 0 : 3;
  });
  EXPECT_EQ(failed_step, 0);
}

}  // namespace
}  // namespace memstat
