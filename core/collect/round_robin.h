// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "core/base/clock.h"

namespace memstat {

/// Distributes a time budget over several reads: each read continues where the previous one stopped. Things are numbered
/// from 0 in the order of take() calls.
class RoundRobin {
 public:
  /// `first`: the first thing of this read; next_first() of the previous read. The clock must outlive this object.
  RoundRobin(const Clock& clock, std::int64_t budget_ns, std::uint32_t first)
      : clock_(clock), budget_ns_(budget_ns), first_(first), next_first_(first) {}

  void next_thing() { ++number_; }
  /// Whether to read this thing now: true for at least one thing per read, however long it takes.
  bool take() {
    if (number_ - 1 < first_ || is_over_) return false;
    const std::int64_t now = clock_.monotonic_ns();
    if (!has_taken_) {
      end_ns_ = now + budget_ns_;
    } else if (now >= end_ns_) {
      is_over_ = true;
      next_first_ = number_ - 1;
      return false;
    }
    has_taken_ = true;
    return true;
  }
  /// The first thing of the next read.
  [[nodiscard]] std::uint32_t next_first() const { return is_over_ ? next_first_ : 0; }

 private:
  const Clock& clock_;
  std::int64_t budget_ns_;
  std::uint32_t first_;
  std::uint32_t next_first_;
  std::int64_t end_ns_ = 0;
  std::uint32_t number_ = 0;  // the current thing's number plus one
  bool has_taken_ = false;
  bool is_over_ = false;
};

}  // namespace memstat
