// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/signals.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <initializer_list>
#include <string_view>

namespace memstat {
namespace {

constexpr std::initializer_list<int> kStopSignals = {SIGTERM, SIGINT};

/// Sent by a write to a pipe without a reader, or beyond RLIMIT_FSIZE. Ignored, so that the write fails with an error.
constexpr std::initializer_list<int> kFailingWrites = {SIGPIPE, SIGXFSZ};

std::atomic<bool> stop_was_given_out = false;

/// Inherited dispositions: init runs /etc/rc with SIGHUP ignored, as nohup(1) does, and shells run background jobs with
/// SIGINT ignored.
constexpr std::array kHeldSignals{SIGHUP, SIGTERM, SIGINT, SIGPIPE, SIGCHLD};
std::array<struct sigaction, kHeldSignals.size()> inherited;

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

void act(int signal, void (*action)(int)) {
  struct sigaction what = {};
  what.sa_handler = action;
  sigemptyset(&what.sa_mask);
  sigaction(signal, &what, nullptr);
}

// Async-signal-safe, and does not block: the log may be a full pipe.
void end_at_once(int /*signal*/) {
  constexpr std::string_view kLine = "memstatd: asked to stop during start\n";
  pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&log, 1, 0) == 1 && (log.revents & POLLOUT) != 0) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
  }
  _exit(0);
}

void do_nothing(int /*signal*/) {}

}  // namespace

void ignore_failing_writes() {
  for (const int signal : kFailingWrites) act(signal, SIG_IGN);
}

void hold_signals_for_start() {
  const sigset_t kept = set_of({SIGHUP, SIGCHLD});
  sigprocmask(SIG_BLOCK, &kept, nullptr);
  for (std::size_t i = 0; i < kHeldSignals.size(); ++i) sigaction(kHeldSignals[i], nullptr, &inherited[i]);
  // FreeBSD discards an ignored signal even while it is blocked, and SIGCHLD is ignored by default.
  act(SIGHUP, SIG_DFL);
  act(SIGCHLD, do_nothing);
  for (const int signal : kStopSignals) act(signal, end_at_once);
  ignore_failing_writes();
}

void release_signals() {
  for (std::size_t i = 0; i < kHeldSignals.size(); ++i) sigaction(kHeldSignals[i], &inherited[i], nullptr);
  const sigset_t kept = set_of({SIGHUP, SIGCHLD});
  sigprocmask(SIG_UNBLOCK, &kept, nullptr);
}

void block_stop_signals() {
  const sigset_t stop = set_of(kStopSignals);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
}

int wait_for_signal() {
  const sigset_t handled = set_of({SIGHUP, SIGTERM, SIGINT, SIGCHLD});
  int signal = 0;
  while (sigwait(&handled, &signal) != 0) {
  }
  if (signal == SIGTERM || signal == SIGINT) stop_was_given_out = true;
  return signal;
}

bool is_stop_wanted() {
  if (stop_was_given_out) return true;
  sigset_t pending;
  if (sigpending(&pending) != 0) return false;
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

}  // namespace memstat
