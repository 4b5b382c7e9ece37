// SPDX-License-Identifier: BSD-2-Clause
// Makes the Nth allocation of this thread fail, in a test program of which one file includes failing_allocations_new.h.
#pragma once

#include <cstddef>

namespace memstat {

/// Allocations of this thread until one (and only that one) throws std::bad_alloc. Negative: none does.
inline thread_local std::ptrdiff_t allocations_until_failure = -1;

/// While it lives, allocation number `n` (from 0) of this thread fails. Thread safety: of this thread only.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::ptrdiff_t n) { allocations_until_failure = n; }
  ~FailingAllocation() { allocations_until_failure = -1; }
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether the number of allocations reached the one that failed.
  [[nodiscard]] bool has_failed() const { return allocations_until_failure < 0; }
};

}  // namespace memstat
