// SPDX-License-Identifier: BSD-2-Clause
// Numbers that tell objects of this process apart.
#pragma once

#include <atomic>
#include <cstdint>

namespace memstat {

/// From 1; no other call in this process returns the same. Thread safety: safe.
inline std::uint64_t unique_number() {
  static std::atomic<std::uint64_t> last_unique_number{0};
  return ++last_unique_number;
}

}  // namespace memstat
