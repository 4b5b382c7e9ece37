// SPDX-License-Identifier: BSD-2-Clause
// Storage of the caller-owned slots of one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memstat {

/// Slots of each kind, per type and per type and CPU. libmemstat's MEMSTAT_MAXCALLER.
inline constexpr std::size_t kCallerSlotCount = 16;

/// The slots of a type and of its CPUs that hold a T. They take memory once one of them is set. Slots that are out of range
/// read as T{} and are not set.
template <typename T>
class CallerSlots {
 public:
  [[nodiscard]] T get(std::size_t slot) const { return slot < values_.size() ? values_[slot] : T{}; }
  [[nodiscard]] T get(std::size_t slot, std::uint32_t cpu) const {
    return slot < of_cpus_.size() && cpu < of_cpus_[slot].size() ? of_cpus_[slot][cpu] : T{};
  }

  /// Throws std::bad_alloc, but only on the first use.
  bool set(std::size_t slot, T value) {
    if (slot >= kCallerSlotCount) return false;
    if (values_.empty()) values_.resize(kCallerSlotCount);
    values_[slot] = value;
    return true;
  }

  /// Throws std::bad_alloc, but only on the first use of the slot or after CPUs have appeared.
  bool set(std::size_t slot, std::uint32_t cpu, std::uint32_t cpu_count, T value) {
    if (slot >= kCallerSlotCount || cpu >= cpu_count) return false;
    if (of_cpus_.empty()) of_cpus_.resize(kCallerSlotCount);
    if (cpu >= of_cpus_[slot].size()) of_cpus_[slot].resize(cpu_count);
    of_cpus_[slot][cpu] = value;
    return true;
  }

 private:
  std::vector<T> values_;
  std::vector<std::vector<T>> of_cpus_;  // [slot][CPU]
};

}  // namespace memstat
