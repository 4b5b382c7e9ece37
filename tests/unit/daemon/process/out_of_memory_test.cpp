// SPDX-License-Identifier: BSD-2-Clause
// Tests how a process ends, in a forked child.
#include "daemon/process/out_of_memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "core/base/sanitizer.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

[[maybe_unused]] void need_too_much() {
  volatile std::size_t bytes = std::numeric_limits<std::size_t>::max() / 4;
  ::operator delete(::operator new(bytes));
}

struct Ending {
  int wait_status = -1;
  std::string said;
};

template <typename Child>
Ending ending_of(Child child) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    end_clearly_when_out_of_memory();
    child();
    _exit(0);
  }
  close(ends[1]);
  Ending ending;
  char piece[4096];
  for (ssize_t got = 0; (got = read(ends[0], piece, sizeof piece)) > 0;) {
    ending.said.append(piece, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(pid, &ending.wait_status, 0);
  return ending;
}

#if !defined(MEMSTAT_SANITIZED)
TEST(OutOfMemory, WhereNothingCatchesItTheProcessEndsWithALine) {
  const auto in_noexcept = []() noexcept { need_too_much(); };
  const auto in_thread = [] { std::thread(need_too_much).join(); };
  for (const Ending& ending : {ending_of(in_noexcept), ending_of(in_thread)}) {
    EXPECT_TRUE(WIFEXITED(ending.wait_status) && WEXITSTATUS(ending.wait_status) == 1) << ending.wait_status;
    EXPECT_EQ(ending.said, "memstatd: ended: out of memory\n");
  }
}
#endif

TEST(OutOfMemory, OtherExceptionsStillAbort) {
  const auto mistake = []() noexcept { static_cast<void>(std::vector<int>().at(1)); };
  const Ending ending = ending_of(mistake);
  EXPECT_TRUE(WIFSIGNALED(ending.wait_status) && WTERMSIG(ending.wait_status) == SIGABRT) << ending.wait_status;
}

}  // namespace
}  // namespace memstat
