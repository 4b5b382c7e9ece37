// SPDX-License-Identifier: BSD-2-Clause
// When to retry what exceeded the budget. Works on given times in ns and does not access the kernel.
#pragma once

#include <algorithm>
#include <cstdint>

namespace memstat::events {

/// Exponential back-off from 1 minute to 1 hour; reset after an hour without failure.
class RetryBackoff {
 public:
  static constexpr std::int64_t kFirstNs = 60'000'000'000;
  static constexpr std::int64_t kMaxNs = 60 * kFirstNs;

  /// Call when the work starts, for the first time or again.
  void begun(std::int64_t now_ns) {
    begun_ns_ = now_ns;
    is_begun_ = true;
  }
  /// Call when the work was given up, or could not be restarted.
  void given_up(std::int64_t now_ns) {
    const bool has_lasted = is_begun_ && now_ns - begun_ns_ >= kMaxNs;
    delay_ns_ = delay_ns_ == 0 || has_lasted ? kFirstNs : std::min(2 * delay_ns_, kMaxNs);
    due_ns_ = now_ns + delay_ns_;
    is_begun_ = false;
  }
  /// Whether it is time to retry what was given up.
  [[nodiscard]] bool is_due(std::int64_t now_ns) const { return now_ns >= due_ns_; }

 private:
  bool is_begun_ = false;
  std::int64_t begun_ns_ = 0;
  std::int64_t delay_ns_ = 0;  // the latest delay; 0: never given up
  std::int64_t due_ns_ = 0;
};

}  // namespace memstat::events
