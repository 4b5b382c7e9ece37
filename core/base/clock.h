// SPDX-License-Identifier: BSD-2-Clause
// The two clocks, behind an interface so that tests need no sleep. No other file asks the system for the time
// (tests/lint/code_rules_test.py).
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace memstat {

/// A point of the monotonic clock, for waits that have a deadline.
using TimePoint = std::chrono::steady_clock::time_point;

/// Reads time. Thread safety: safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds that never go back; their zero means nothing. For schedules and deadlines.
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
  /// Nanoseconds since 1970 (UTC). For what is shown to people only.
  [[nodiscard]] virtual std::int64_t realtime_ns() const = 0;

  /// monotonic_ns() as a point of time.
  [[nodiscard]] TimePoint now() const { return TimePoint(std::chrono::nanoseconds(monotonic_ns())); }
};

/// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t monotonic_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  [[nodiscard]] std::int64_t realtime_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
};

/// The clock of those who are given none.
inline const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

#if defined(CLOCK_BOOTTIME)
/// Time since this machine started, with the time that it slept, in seconds; 0: not known.
inline double seconds_since_boot() {
  timespec time{};
  if (::clock_gettime(CLOCK_BOOTTIME, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}
#endif

}  // namespace memstat
