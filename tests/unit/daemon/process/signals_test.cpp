// SPDX-License-Identifier: BSD-2-Clause
// Signal handling belongs to the whole process, so each test uses a forked child, whose exit status is the step that failed.
#include "daemon/process/signals.h"

#include "tests/support/child_process.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

void (*action_of(int signal))(int) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

TEST(Signals, AHangupThatTheParentIgnoredStillReloads) {
  EXPECT_EQ(exit_status_of_child([] {
              std::signal(SIGHUP, SIG_IGN);  // init for /etc/rc, nohup
              hold_signals_for_start();
              if (action_of(SIGHUP) != SIG_DFL) return 1;  // FreeBSD keeps no signal that is ignored
              raise(SIGHUP);
              raise(SIGPIPE);
              block_stop_signals();
              return is_stop_wanted() || wait_for_signal() != SIGHUP ? 2 : 0;
            }),
            0);
}

TEST(Signals, ACommandThatEndsIgnoresWhatItsParentIgnored) {
  EXPECT_EQ(exit_status_of_child([] {
              std::signal(SIGHUP, SIG_IGN);
              std::signal(SIGINT, SIG_IGN);
              std::signal(SIGPIPE, SIG_DFL);  // ignored since another test of this program
              hold_signals_for_start();
              release_signals();
              if (action_of(SIGHUP) != SIG_IGN || action_of(SIGINT) != SIG_IGN) return 1;
              return action_of(SIGTERM) != SIG_DFL || action_of(SIGPIPE) != SIG_DFL ? 2 : 0;
            }),
            0);
}

TEST(Signals, AStopEndsTheStartAtOnceAndWellAndIsReportedOnceItIsBlocked) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EQ(exit_status_of_child([signal] {
                hold_signals_for_start();
                raise(signal);
                return 1;
              }),
              0);
    EXPECT_EQ(exit_status_of_child([signal] {
                hold_signals_for_start();
                block_stop_signals();
                if (is_stop_wanted()) return 1;
                raise(signal);
                if (!is_stop_wanted()) return 2;
                if (wait_for_signal() != signal) return 3;
                return is_stop_wanted() ? 0 : 4;  // also after the main thread has taken it
              }),
              0);
  }
}

TEST(Signals, AHelpersExitIsReportedAndIsNotAStop) {
  EXPECT_EQ(exit_status_of_child([] {
              hold_signals_for_start();
              const pid_t helper = fork();
              if (helper == 0) _exit(0);
              block_stop_signals();
              if (wait_for_signal() != SIGCHLD) return 1;
              if (waitpid(helper, nullptr, WNOHANG) != helper) return 2;
              return is_stop_wanted() ? 3 : 0;
            }),
            0);
}

}  // namespace
}  // namespace memstat
