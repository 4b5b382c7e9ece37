// SPDX-License-Identifier: BSD-2-Clause
// The two clocks, behind an interface so that tests need no sleep.
#pragma once

#include <chrono>
#include <cstdint>

namespace memstat {

/// Reads time. Thread safety: safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds that never go back; their zero means nothing. For schedules and deadlines.
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
  /// Nanoseconds since 1970 (UTC). For what is shown to people only.
  [[nodiscard]] virtual std::int64_t realtime_ns() const = 0;
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

}  // namespace memstat
