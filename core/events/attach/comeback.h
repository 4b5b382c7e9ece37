// SPDX-License-Identifier: BSD-2-Clause
// When to try again what took too much. It decides by times that it is given, in ns, and knows no kernel.
#pragma once

#include <algorithm>
#include <cstdint>

namespace memstat::events {

/// A minute after it was given up, then each time after twice as long, up to an hour; what has lasted for an hour begins
/// with a minute again. Thread safety: none.
class Comeback {
 public:
  static constexpr std::int64_t kFirstNs = 60'000'000'000;
  static constexpr std::int64_t kMostNs = 60 * kFirstNs;

  /// It was begun, for the first time or again.
  void begun(std::int64_t now_ns) {
    begun_ns_ = now_ns;
    is_begun_ = true;
  }
  /// It was given up, or could not be begun again.
  void given_up(std::int64_t now_ns) {
    const bool has_lasted = is_begun_ && now_ns - begun_ns_ >= kMostNs;
    delay_ns_ = delay_ns_ == 0 || has_lasted ? kFirstNs : std::min(2 * delay_ns_, kMostNs);
    due_ns_ = now_ns + delay_ns_;
    is_begun_ = false;
  }
  /// Of what is given up: whether its time has come.
  [[nodiscard]] bool is_due(std::int64_t now_ns) const { return now_ns >= due_ns_; }

 private:
  bool is_begun_ = false;
  std::int64_t begun_ns_ = 0;
  std::int64_t delay_ns_ = 0;  // of the last time; 0: it was never given up
  std::int64_t due_ns_ = 0;
};

}  // namespace memstat::events
