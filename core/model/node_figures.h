// SPDX-License-Identifier: BSD-2-Clause
// The figures of one memory type by NUMA node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/model/field.h"
#include "core/model/staging.h"

namespace memstat {

/// One value per node and field, for all fields that a source has given so far. A type without values takes no memory;
/// allocated memory is kept.
class NodeFigures {
 public:
  NodeFigures() = default;

  /// kNoFigure if nothing is stored, for any node and field.
  [[nodiscard]] std::uint64_t get(NodeField field, std::uint32_t node) const {
    return node < node_count_ && fields_.has(field) ? values_[place(field, node)] : kNoFigure;
  }

  /// Whether take() of these fields of the staging's types has room.
  [[nodiscard]] bool has_room_for(const Staging& staging, NodeFieldMask fields) const {
    return fields.empty() || ((fields - fields_).empty() && staging.node_count() <= node_count_);
  }
  /// A copy with room for these figures; new ones are kNoFigure. Throws std::bad_alloc.
  [[nodiscard]] NodeFigures with_room_for(const Staging& staging, NodeFieldMask fields) const;
  /// Copies these fields of a staged type, for all nodes. Fields and nodes missing from the staging become kNoFigure.
  /// Requires room.
  void take(const Staging& staging, const StagedType& type, NodeFieldMask fields) noexcept;

 private:
  [[nodiscard]] std::size_t place(NodeField field, std::uint32_t node) const {
    return node * fields_.size() + fields_.rank(field);
  }

  std::unique_ptr<std::uint64_t[]> values_;  // [node][field by rank]
  NodeFieldMask fields_;
  std::uint32_t node_count_ = 0;
};

}  // namespace memstat
