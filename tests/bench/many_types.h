// SPDX-License-Identifier: BSD-2-Clause
// Any number of slab caches with figures of all sizes. Each has ten series in tier full.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/snapshot/snapshot.h"
#include "daemon/tracking/delta_tracker.h"

namespace memstat {

/// A list that is polled by hand, without a kernel, and tracked. Thread safety: none.
class ManyTypes {
 public:
  /// Names of 14 to 17 bytes, and two polls, for deltas.
  explicit ManyTypes(std::size_t types) {
    live_[static_cast<std::size_t>(Allocator::kSlab)] = kFields;
    for (std::size_t i = 0; i < types; ++i) names_.push_back("cache_number_" + std::to_string(i));
    poll();
    poll();
  }

  /// New figures for all types.
  void poll() {
    ++generation_;
    staging_.reset({}, 0);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      StagedType& type = staging_.add(names_[i]);
      type.fields = kFields;
      for (std::size_t field = 0; field < kFieldCount; ++field) {
        type.figures[static_cast<Field>(field)] = (i * 2654435761U) >> (i % 28) | generation_;
      }
    }
    const CommitScope scope{
        .source = "bench", .allocator = Allocator::kSlab, .is_roster = true, .fields = kFields, .cpu_fields = {}};
    if (!list_.commit(scope, staging_, generation_)) std::abort();
    tracker_.track(list_, live_, {}, generation_, static_cast<std::int64_t>(generation_) * 10'000'000'000);
  }

  void build(Snapshot& snapshot) { builder_.build(list_, live_, {}, generation_, {}, snapshot); }

 private:
  static constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree, Field::kRSize};

  std::array<FieldMask, kAllocatorCount> live_{};
  std::vector<std::string> names_;  // a Staging borrows its names
  Staging staging_;
  MemoryTypeList list_;
  DeltaTracker tracker_{{}};
  SnapshotBuilder builder_;
  std::uint64_t generation_ = 0;
};

}  // namespace memstat
