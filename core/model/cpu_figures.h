// SPDX-License-Identifier: BSD-2-Clause
// The per-CPU figures of one memory type, held for the CPUs that have used it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/model/field.h"
#include "core/model/staging.h"

namespace memstat {

/// One value a field and CPU. Memory is taken for groups of kCpuGroup neighbouring CPUs once one of them has a figure that
/// is not 0: a type that no CPU ever used costs nothing, and one that three CPUs of 4096 use costs three groups at most.
/// A group once held stays. Thread safety: none.
class CpuFigures {
 public:
  CpuFigures() = default;

  /// 0 where nothing is held, for whichever CPU and field.
  [[nodiscard]] std::uint64_t get(CpuField field, std::uint32_t cpu) const {
    if (cpu >= cpu_count_ || !fields_.has(field)) return 0;
    const std::uint32_t place = places_[cpu / kCpuGroup];
    return place == 0 ? 0 : column(place, cpu / kCpuGroup, field)[cpu % kCpuGroup];
  }
  /// The first CPU from `cpu` on in a group that is held, or `end`.
  [[nodiscard]] std::uint32_t next_held(std::uint32_t cpu, std::uint32_t end) const {
    while (cpu < cpu_count_ && places_[cpu / kCpuGroup] == 0) cpu = (cpu / kCpuGroup + 1) * kCpuGroup;
    return cpu < cpu_count_ ? std::min(cpu, end) : end;
  }

  /// Whether take() of these fields of staged type `index` finds room for every figure that is not 0.
  [[nodiscard]] bool has_room_for(const Staging& staging, std::size_t index, CpuFieldMask fields) const;
  /// The same figures with room for that, of which take() must then write the new part. Throws std::bad_alloc.
  [[nodiscard]] CpuFigures with_room_for(const Staging& staging, std::size_t index, CpuFieldMask fields) const;
  /// Takes these fields of staged type `index`, for all CPUs; those that the staging does not have become 0.
  void take(const Staging& staging, std::size_t index, CpuFieldMask fields) noexcept;
  /// Makes these fields 0 on all CPUs. What is held stays held.
  void clear(CpuFieldMask fields) noexcept;

 private:
  [[nodiscard]] std::uint32_t group_count() const { return (cpu_count_ + kCpuGroup - 1) / kCpuGroup; }
  /// CPUs of a group: the last one may have fewer.
  [[nodiscard]] std::uint32_t width(std::uint32_t group) const {
    return std::min(kCpuGroup, cpu_count_ - group * kCpuGroup);
  }
  [[nodiscard]] std::uint64_t* column(std::uint32_t place, std::uint32_t group, CpuField field) const {
    return &values_[(place - 1) * fields_.size() * kCpuGroup + fields_.rank(field) * width(group)];
  }

  std::unique_ptr<std::uint64_t[]> values_;  // [place - 1][field by rank][cpu of the group]; places as the groups
  std::unique_ptr<std::uint16_t[]> places_;  // by group, 0: not held. Null while cpu_count_ is 0.
  CpuFieldMask fields_;
  std::uint32_t cpu_count_ = 0;
};

}  // namespace memstat
