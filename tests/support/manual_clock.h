// SPDX-License-Identifier: BSD-2-Clause
// A clock that a test sets.
#pragma once

#include <atomic>
#include <chrono>

#include "core/base/clock.h"

namespace memstat {

/// The clocks of Clock, set by hand. Thread safety: safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t monotonic = 1'000'000'000, std::int64_t realtime = 1'700'000'000'000'000'000)
      : monotonic_ns_(monotonic), realtime_ns_(realtime) {}
  [[nodiscard]] std::int64_t monotonic_ns() const override { return monotonic_ns_; }
  [[nodiscard]] std::int64_t realtime_ns() const override { return realtime_ns_; }
  [[nodiscard]] std::int64_t cpu_ns() const override { return cpu_ns_; }
  [[nodiscard]] std::int64_t thread_cpu_ns() const override { return cpu_ns_; }
  void compute(std::chrono::nanoseconds by) { cpu_ns_ += by.count(); }
  void advance(std::chrono::nanoseconds by) {
    monotonic_ns_ += by.count();
    realtime_ns_ += by.count();
  }
  /// As when the machine's clock is set.
  void set_realtime(std::chrono::nanoseconds since_1970) { realtime_ns_ = since_1970.count(); }

 private:
  std::atomic<std::int64_t> monotonic_ns_;
  std::atomic<std::int64_t> realtime_ns_;
  std::atomic<std::int64_t> cpu_ns_{0};
};

}  // namespace memstat
