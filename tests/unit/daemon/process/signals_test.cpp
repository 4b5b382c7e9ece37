// SPDX-License-Identifier: BSD-2-Clause
// Signal handling belongs to the whole process, so each test uses a forked child.
#include "daemon/process/signals.h"

#include "tests/support/test.h"

#include <sys/wait.h>
#include <unistd.h>

namespace memstat {
namespace {

/// The wait status of a child that does this and then exits with 42.
int status_of(const std::function<void()>& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    child();
    _exit(42);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

bool exited(int wait_status, int code) { return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == code; }

bool ended_by(int wait_status, int signal) { return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == signal; }

TEST(Signals, AHangupDuringTheStartIsKept) {
  EXPECT_TRUE(exited(status_of([] {
                       hold_signals_for_start();
                       raise(SIGHUP);
                       raise(SIGPIPE);
                       block_stop_signals();
                       if (is_stop_wanted() || wait_for_signal() != SIGHUP) _exit(1);
                     }),
                     42));
}

void (*action_of(int signal))(int) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

TEST(Signals, AHangupThatTheParentIgnoredStillReloads) {
  EXPECT_TRUE(exited(status_of([] {
                       std::signal(SIGHUP, SIG_IGN);  // init for /etc/rc, nohup
                       hold_signals_for_start();
                       if (action_of(SIGHUP) != SIG_DFL) _exit(1);  // FreeBSD keeps no signal that is ignored
                       raise(SIGHUP);
                       block_stop_signals();
                       if (wait_for_signal() != SIGHUP) _exit(2);
                     }),
                     42));
}

TEST(Signals, ACommandThatEndsIgnoresWhatItsParentIgnored) {
  EXPECT_TRUE(exited(status_of([] {
                       std::signal(SIGHUP, SIG_IGN);
                       std::signal(SIGINT, SIG_IGN);
                       hold_signals_for_start();
                       release_signals();
                       if (action_of(SIGHUP) != SIG_IGN || action_of(SIGINT) != SIG_IGN) _exit(1);
                       if (action_of(SIGTERM) != SIG_DFL || action_of(SIGPIPE) != SIG_DFL) _exit(2);
                     }),
                     42));
}

TEST(Signals, AStopDuringTheStartEndsItAtOnceAndWell) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_TRUE(exited(status_of([signal] {
                         hold_signals_for_start();
                         raise(signal);
                       }),
                       0));
  }
}

TEST(Signals, AStopIsReportedOnceItIsBlocked) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_TRUE(exited(status_of([signal] {
                         hold_signals_for_start();
                         block_stop_signals();
                         if (is_stop_wanted()) _exit(1);
                         raise(signal);
                         if (!is_stop_wanted()) _exit(2);
                         if (wait_for_signal() != signal) _exit(3);
                         if (!is_stop_wanted()) _exit(4);  // also after the main thread has taken it
                       }),
                       42));
  }
}

TEST(Signals, AHelpersExitIsReportedAndIsNotAStop) {
  EXPECT_TRUE(exited(status_of([] {
                       hold_signals_for_start();
                       const pid_t helper = fork();
                       if (helper == 0) _exit(0);
                       block_stop_signals();
                       if (wait_for_signal() != SIGCHLD) _exit(1);
                       if (waitpid(helper, nullptr, WNOHANG) != helper) _exit(2);
                       if (is_stop_wanted()) _exit(3);
                     }),
                     42));
}

TEST(Signals, ACommandIsEndedByThem) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) {
    EXPECT_TRUE(ended_by(status_of([signal] {
                           hold_signals_for_start();
                           if (signal == SIGHUP) raise(SIGHUP);
                           release_signals();
                           raise(signal);
                         }),
                         signal));
  }
}

}  // namespace
}  // namespace memstat
