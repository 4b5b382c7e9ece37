// SPDX-License-Identifier: BSD-2-Clause
// Decides when memory that only a peak needed can be released.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/base/buffer.h"

namespace memstat {

/// Detects that the use of memory has fallen for good. Buffers are reused, so that a steady poll allocates nothing, and keep
/// the size that a peak needed. Releasing them makes the next polls allocate, so a peak is over only after kPolls polls with
/// less than half of it.
class PeakWatch {
 public:
  static constexpr unsigned kPolls = 30;                           ///< Five minutes at the default interval.
  static constexpr std::size_t kMinPeak = std::size_t{64} * 1024;  ///< Smaller peaks are not worth releasing.

  /// Records the bytes that a poll used. Returns true once when a peak is over.
  bool is_over(std::size_t used) {
    recent_ = std::max(recent_, used);
    if (++polls_ < kPolls) return false;
    const bool has_fallen = peak_ >= kMinPeak && recent_ < peak_ / 2;
    peak_ = has_fallen ? recent_ : std::max(peak_, recent_);
    recent_ = 0;
    polls_ = 0;
    return has_fallen;
  }

 private:
  std::size_t peak_ = 0;    // maximum in the complete rounds of kPolls polls since the last release
  std::size_t recent_ = 0;  // maximum in this round
  unsigned polls_ = 0;      // in this round
};

/// Frees the unused capacity. Keeps the content, at another address.
inline void shrink(Buffer& buffer) {
  Buffer kept;
  if (!buffer.empty()) kept.assign(buffer.view());
  buffer.swap(kept);
}

}  // namespace memstat
