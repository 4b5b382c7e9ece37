// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/stop_signals.h"

#include <ctime>

#include "core/base/clock.h"

namespace memstat::ctl {

StopSignals::StopSignals() {
  ::sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals_, signal);
  ::sigprocmask(SIG_BLOCK, &signals_, &before_);
}

StopSignals::~StopSignals() {
  take(0);  // a pending signal must not end the program on its way out
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::take(std::int64_t longest_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec longest{.tv_sec = static_cast<time_t>(longest_ns / kSecond),
                         .tv_nsec = static_cast<long>(longest_ns % kSecond)};
  if (!has_come_ && ::sigtimedwait(&signals_, nullptr, &longest) > 0) has_come_ = true;
  return has_come_;
}

bool StopSignals::has_come() { return take(0); }

bool StopSignals::wait_until(std::int64_t due_ns) {
  for (;;) {
    const std::int64_t left_ns = due_ns - system_clock().monotonic_ns();
    if (take(left_ns > 0 ? left_ns : 0)) return false;
    if (left_ns <= 0) return true;  // otherwise another signal ended the wait
  }
}

}  // namespace memstat::ctl
