// SPDX-License-Identifier: BSD-2-Clause
// Objects attached to memory types through a caller pointer slot.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/model/memory_type.h"

namespace memstat {

/// One T per type, in caller pointer slot `kSlot`. The objects live as long as this container, or until released. Thread
/// safety: none; confined to the list's thread.
template <typename T, std::size_t kSlot>
class TypeSlot {
 public:
  [[nodiscard]] static T* of(const MemoryType& type) {
    auto* const object = static_cast<Object*>(type.caller_pointer(kSlot));
    return object == nullptr ? nullptr : &object->value;
  }

  /// The type's object. `fill(T&)` initializes a new one; if it throws, the type has none.
  template <typename Fill>
  T& get_or_create(MemoryType& type, Fill fill) {
    if (T* kept = of(type); kept != nullptr) return *kept;
    auto made = std::make_unique<Object>();
    fill(made->value);
    made->place = objects_.size();
    type.set_caller_pointer(kSlot, nullptr);  // makes room, so that it does not throw below
    objects_.push_back(std::move(made));
    type.set_caller_pointer(kSlot, objects_.back().get());
    return objects_.back()->value;
  }

  void release(MemoryType& type) {
    auto* const object = static_cast<Object*>(type.caller_pointer(kSlot));
    if (object == nullptr) return;
    type.set_caller_pointer(kSlot, nullptr);
    objects_.back()->place = object->place;
    objects_[object->place].swap(objects_.back());
    objects_.pop_back();
  }

 private:
  struct Object {
    T value{};
    std::size_t place = 0;  // in objects_
  };
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace memstat
