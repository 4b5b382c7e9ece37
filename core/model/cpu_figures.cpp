// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/cpu_figures.h"

#include <cstring>

namespace memstat {

bool CpuFigures::has_room_for(const Staging& staging, std::size_t index, CpuFieldMask fields) const {
  bool is_any_used = false;
  for (std::uint32_t group = 0; group < staging.cpu_group_count(); ++group) {
    if (!staging.is_cpu_group_used(index, group)) continue;
    is_any_used = true;
    if (group >= group_count() || places_[group] == 0) return false;
    if (width(group) < staging.cpu_group_width(group)) return false;
  }
  return !is_any_used || (fields - fields_).empty();
}

CpuFigures CpuFigures::with_room_for(const Staging& staging, std::size_t index, CpuFieldMask fields) const {
  CpuFigures grown;
  grown.fields_ = fields_ | fields;
  grown.cpu_count_ = std::max(cpu_count_, staging.cpu_count());
  grown.places_.reset(new std::uint16_t[grown.group_count()]());
  std::size_t cpus = 0;
  std::uint16_t held = 0;
  for (std::uint32_t group = 0; group < grown.group_count(); ++group) {
    const bool is_held = group < group_count() && places_[group] != 0;
    if (!is_held && !staging.is_cpu_group_used(index, group)) continue;
    grown.places_[group] = ++held;
    cpus += grown.width(group);
  }
  const std::size_t size = cpus * grown.fields_.size();
  // Skip zeroing what take() overwrites anyway: on a huge machine it would be one more pass over all memory.
  const bool is_written_whole = cpu_count_ == 0 && grown.fields_ == fields;
  grown.values_.reset(is_written_whole ? new std::uint64_t[size] : new std::uint64_t[size]());
  for (std::uint32_t group = 0; group < group_count(); ++group) {
    if (places_[group] == 0) continue;
    for_each_of(fields_, [&](CpuField field) {
      std::copy_n(column(places_[group], group, field), width(group), grown.column(grown.places_[group], group, field));
    });
  }
  return grown;
}

void CpuFigures::take(const Staging& staging, std::size_t index, CpuFieldMask fields) noexcept {
  for (std::uint32_t group = 0; group < group_count(); ++group) {
    if (places_[group] == 0) continue;
    const std::uint32_t taken = staging.is_cpu_group_used(index, group) ? staging.cpu_group_width(group) : 0;
    const char* const blocks = taken != 0 ? staging.cpu_block(index, group * kCpuGroup) : nullptr;
    const std::size_t size = staging.cpu_block_size();
    for_each_of(fields & fields_, [&](CpuField field) {
      std::uint64_t* const to = column(places_[group], group, field);
      const std::size_t offset = staging.offset_in_cpu_block(field);
      for (std::uint32_t cpu = 0; cpu < taken; ++cpu) std::memcpy(&to[cpu], blocks + cpu * size + offset, sizeof *to);
      std::fill(to + taken, to + width(group), 0);
    });
  }
}

void CpuFigures::clear(CpuFieldMask fields) noexcept {
  for (std::uint32_t group = 0; group < group_count(); ++group) {
    if (places_[group] == 0) continue;
    for_each_of(fields & fields_,
                [&](CpuField field) { std::fill_n(column(places_[group], group, field), width(group), 0); });
  }
}

}  // namespace memstat
