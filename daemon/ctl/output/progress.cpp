// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/progress.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "core/base/clock.h"

namespace memstat::ctl {

Progress::Progress() : is_terminal_(::isatty(STDERR_FILENO) == 1), next_ns_(system_clock().monotonic_ns() + 1'000'000'000) {}

bool Progress::is_due() const { return is_terminal_ && system_clock().monotonic_ns() >= next_ns_; }

void Progress::show(const std::string& text) {
  if (!is_due()) return;
  next_ns_ = system_clock().monotonic_ns() + 100'000'000;
  is_shown_ = true;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

void Progress::finish() {
  if (!is_shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  is_shown_ = false;
}

void wait_ns(std::int64_t window_ns, const std::string& what) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  // If progress is not visible, do not disturb the measured machine with wakeups.
  const std::int64_t step_ns = ::isatty(STDERR_FILENO) == 1 ? kSecond / 10 : 1000 * kSecond;
  Progress progress;
  const std::int64_t begin_ns = system_clock().monotonic_ns();
  const std::int64_t end_ns = begin_ns + window_ns;
  for (std::int64_t now_ns = begin_ns; now_ns < end_ns; now_ns = system_clock().monotonic_ns()) {
    progress.show(what + ": " + std::to_string((now_ns - begin_ns) / kSecond) + " of " +
                  std::to_string(window_ns / kSecond) + " s");
    ::poll(nullptr, 0, static_cast<int>((std::min(step_ns, end_ns - now_ns) + 999'999) / 1'000'000));
  }
}

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

bool StopSignals::has_arrived() { return take(0); }

bool StopSignals::wait_until(std::int64_t due_ns) {
  for (;;) {
    const std::int64_t left_ns = due_ns - system_clock().monotonic_ns();
    if (take(left_ns > 0 ? left_ns : 0)) return false;
    if (left_ns <= 0) return true;  // otherwise another signal ended the wait
  }
}

}  // namespace memstat::ctl
