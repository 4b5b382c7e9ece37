// SPDX-License-Identifier: BSD-2-Clause
// Objects attached to memory types through a caller pointer slot, in storage that is reused when a type is evicted.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "core/model/memory_type.h"

namespace memstat {

/// One T per type, in caller pointer slot `kSlot`. The objects live as long as this container, or until released. Thread
/// safety: none; confined to the list's thread.
template <typename T, std::size_t kSlot>
class TypeSlot {
 public:
  [[nodiscard]] static T* of(const MemoryType& type) { return static_cast<T*>(type.caller_pointer(kSlot)); }

  /// The type's object. `fill(T&)` initializes a new one; if it throws, the type has none.
  template <typename Fill>
  T& get_or_create(MemoryType& type, Fill fill) {
    if (T* kept = of(type); kept != nullptr) return *kept;
    T made{};
    fill(made);
    if (free_.empty()) {
      objects_.emplace_back();
      free_.reserve(objects_.size());  // so that release() cannot fail
      free_.push_back(&objects_.back());
    }
    type.set_caller_pointer(kSlot, free_.back());
    T& kept = *free_.back();
    free_.pop_back();
    kept = std::move(made);
    return kept;
  }

  void release(MemoryType& type) {
    T* kept = of(type);
    if (kept == nullptr) return;
    free_.push_back(kept);
    type.set_caller_pointer(kSlot, nullptr);
  }

 private:
  std::deque<T> objects_;  // a deque, so that objects keep their address
  std::vector<T*> free_;
};

}  // namespace memstat
