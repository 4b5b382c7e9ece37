// SPDX-License-Identifier: BSD-2-Clause
// Both clocks behind an interface, so that tests need no sleep. Only this file reads the system's time
// (tests/lint/code_rules_test.py).
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace memstat {

/// A point on the monotonic clock, for deadlines.
using TimePoint = std::chrono::steady_clock::time_point;

/// CPU time of a process, ns, that shows that slow work is not stuck. Waiting for a disk that hangs uses less.
inline constexpr std::int64_t kComputedNs = 5'000'000;

/// Thread safety: safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic nanoseconds from an unspecified origin. For schedules and deadlines.
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
  /// Nanoseconds since 1970 (UTC). For display only.
  [[nodiscard]] virtual std::int64_t realtime_ns() const = 0;

  /// CPU time that the process has used, ns; 0 if unknown.
  [[nodiscard]] virtual std::int64_t cpu_ns() const {
    timespec used{};
    if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return 0;
    return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
  }

  /// CPU time that the calling thread has used, ns; 0 if unknown.
  [[nodiscard]] virtual std::int64_t thread_cpu_ns() const {
    timespec used{};
    if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return 0;
    return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
  }

  /// monotonic_ns() as a TimePoint.
  [[nodiscard]] TimePoint now() const { return TimePoint(std::chrono::nanoseconds(monotonic_ns())); }
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t monotonic_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  [[nodiscard]] std::int64_t realtime_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
};

/// Default clock.
inline const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

/// The first time after `now_ns` in a schedule that has `due_ns` and an interval. Missed times are skipped: polls that
/// follow a slow one are not made up for.
constexpr std::int64_t next_in_schedule(std::int64_t due_ns, std::int64_t interval_ns, std::int64_t now_ns) {
  const std::int64_t step_ns = interval_ns < 1 ? 1 : interval_ns;
  return now_ns < due_ns ? due_ns : due_ns + step_ns * ((now_ns - due_ns) / step_ns + 1);
}

#if defined(CLOCK_BOOTTIME)
/// Seconds since boot, suspend included. 0 if unknown.
inline double seconds_since_boot() {
  timespec time{};
  if (::clock_gettime(CLOCK_BOOTTIME, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}
#endif

}  // namespace memstat
