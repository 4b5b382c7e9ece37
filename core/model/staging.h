// SPDX-License-Identifier: BSD-2-Clause
// What a parser produced and nobody has committed yet. A parse that fails leaves a Staging that is simply thrown away, which
// is how a failed source changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/field.h"

namespace memstat {

/// One type as parsed. `name` is valid UTF-8 and points into the raw bytes or into the Staging: it lives until either is
/// changed.
struct StagedType {
  std::string_view name;
  FieldMask fields;  ///< Which of `figures` the kernel gave for this type.
  Figures figures;
};

/// The types of one allocator in the order of the kernel's records, with their per-CPU figures as columns.
/// Room is kept from one poll to the next, so that filling it again allocates nothing.
/// Thread safety: none; one owner at a time.
class Staging {
 public:
  /// Forgets all types. `cpu_fields` and `cpu_count` give the shape of the per-CPU figures to come; no CPU fields: none.
  void reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count);

  /// Room for so many types and their per-CPU figures; only a hint.
  void reserve(std::size_t type_count);

  /// Adds a type; its per-CPU figures are 0 until written. Bytes of `name` that are not UTF-8 are replaced, by something
  /// longer; a name that this makes longer than `longest` bytes is cut. The reference lives until the next add.
  StagedType& add(std::string_view name, std::size_t longest = std::string_view::npos);

  /// What libmemstat makes of several types of one name when it meets them again: one type in the place of the first, with
  /// the figures of the last. Throws std::bad_alloc.
  void fold_duplicates();

  [[nodiscard]] const std::vector<StagedType>& types() const { return types_; }
  [[nodiscard]] CpuFieldMask cpu_fields() const { return cpu_fields_; }
  [[nodiscard]] std::uint32_t cpu_count() const { return cpu_count_; }

  /// One field of type `index` for every CPU: `cpu_count()` values. Requires the field to be in cpu_fields().
  /// The pointer lives until the next add.
  [[nodiscard]] std::uint64_t* cpu_column(std::size_t index, CpuField field) {
    return cpu_figures_.data() + (index * cpu_fields_.size() + cpu_fields_.rank(field)) * cpu_count_;
  }
  [[nodiscard]] const std::uint64_t* cpu_column(std::size_t index, CpuField field) const {
    return cpu_figures_.data() + (index * cpu_fields_.size() + cpu_fields_.rank(field)) * cpu_count_;
  }

  /// Whether the parser missed something that the source keeps from poll to poll, so that it has to be read again.
  [[nodiscard]] bool is_incomplete() const { return is_incomplete_; }
  void set_incomplete() { is_incomplete_ = true; }

  /// Bytes of each size class that Field::kSizeMask has a bit for; empty when the allocator has none or does not tell.
  [[nodiscard]] std::vector<std::uint64_t>& size_classes() { return size_classes_; }
  [[nodiscard]] const std::vector<std::uint64_t>& size_classes() const { return size_classes_; }

 private:
  std::vector<std::uint64_t> size_classes_;
  std::vector<StagedType> types_;
  std::vector<std::uint64_t> cpu_figures_;  // [type][field by rank][cpu]
  std::deque<std::string> repaired_names_;  // a deque: names keep their address
  CpuFieldMask cpu_fields_;
  std::uint32_t cpu_count_ = 0;
  bool is_incomplete_ = false;
};

}  // namespace memstat
