// SPDX-License-Identifier: BSD-2-Clause
// The per-CPU figures of one memory type, stored only for CPUs that have used it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/model/field.h"
#include "core/model/staging.h"

namespace memstat {

/// One value per field and CPU. Storage is allocated for groups of kCpuGroup neighbouring CPUs, once one of them has a
/// figure other than 0. A type that no CPU uses costs nothing; one used by three CPUs of 4096 costs at most three groups. An
/// allocated group is kept.
class CpuFigures {
 public:
  CpuFigures() = default;

  /// 0 if nothing is stored, for any CPU and field.
  [[nodiscard]] std::uint64_t get(CpuField field, std::uint32_t cpu) const {
    if (cpu >= cpu_count_ || !fields_.has(field)) return 0;
    const std::uint32_t place = places_[cpu / kCpuGroup];
    return place == 0 ? 0 : column(place, cpu / kCpuGroup, field)[cpu % kCpuGroup];
  }
  /// The first CPU at or after `cpu` whose group is allocated, or `end`.
  [[nodiscard]] std::uint32_t next_held(std::uint32_t cpu, std::uint32_t end) const {
    while (cpu < cpu_count_ && places_[cpu / kCpuGroup] == 0) cpu = (cpu / kCpuGroup + 1) * kCpuGroup;
    return cpu < cpu_count_ ? std::min(cpu, end) : end;
  }

  /// Whether take() of these fields of staged type `index` has room for every figure that is not 0.
  [[nodiscard]] bool has_room_for(const Staging& staging, std::size_t index, CpuFieldMask fields) const;
  /// A copy with room for these figures. take() must then fill the new part. Throws std::bad_alloc.
  [[nodiscard]] CpuFigures with_room_for(const Staging& staging, std::size_t index, CpuFieldMask fields) const;
  /// Copies these fields of staged type `index`, for all CPUs. Fields missing from the staging become 0.
  void take(const Staging& staging, std::size_t index, CpuFieldMask fields) noexcept;
  /// Zeroes these fields on all CPUs. Keeps the storage.
  void clear(CpuFieldMask fields) noexcept;

 private:
  [[nodiscard]] std::uint32_t group_count() const { return (cpu_count_ + kCpuGroup - 1) / kCpuGroup; }
  /// CPUs in a group; the last group may have fewer.
  [[nodiscard]] std::uint32_t width(std::uint32_t group) const {
    return std::min(kCpuGroup, cpu_count_ - group * kCpuGroup);
  }
  [[nodiscard]] std::uint64_t* column(std::uint32_t place, std::uint32_t group, CpuField field) const {
    return &values_[(place - 1) * fields_.size() * kCpuGroup + fields_.rank(field) * width(group)];
  }

  std::unique_ptr<std::uint64_t[]> values_;  // [place - 1][field by rank][CPU in the group]
  std::unique_ptr<std::uint16_t[]> places_;  // by group; 0: not allocated. Null while cpu_count_ is 0.
  CpuFieldMask fields_;
  std::uint32_t cpu_count_ = 0;
};

}  // namespace memstat
