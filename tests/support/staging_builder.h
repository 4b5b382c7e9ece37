// SPDX-License-Identifier: BSD-2-Clause
// A Staging written down as a table, for tests of the model and the daemon.
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/accounts.h"
#include "core/model/memory_type_list.h"
#include "core/model/staging.h"

namespace memstat {

/// One figure of a staged type, and one of all its CPUs.
using StagedFigure = std::pair<Field, std::uint64_t>;
using StagedCpuFigures = std::pair<CpuField, std::vector<std::uint64_t>>;

/// Types in the order of the kernel's records, newest first. Owns the names. Thread safety: none.
class StagingBuilder {
 public:
  explicit StagingBuilder(CpuFieldMask cpu_fields = {}, std::uint32_t cpu_count = 0) {
    staging_.reset(cpu_fields, cpu_count);
  }
  StagingBuilder(const StagingBuilder&) = delete;
  StagingBuilder& operator=(const StagingBuilder&) = delete;

  /// Adds a type whose field mask is what `figures` names.
  StagingBuilder& type(std::string_view name, std::initializer_list<StagedFigure> figures = {},
                       std::initializer_list<StagedCpuFigures> cpu_figures = {}) {
    StagedType& staged = staging_.add(names_.emplace_back(name));
    last_ = &staged;
    for (const auto& [field, value] : figures) figure(field, value);
    for (const auto& [field, values] : cpu_figures) {
      for (std::uint32_t cpu = 0; cpu < values.size() && cpu < staging_.cpu_count(); ++cpu) {
        staging_.set_cpu_figure(staging_.types().size() - 1, field, cpu, values[cpu]);
      }
    }
    return *this;
  }
  /// One more figure of the type added last.
  StagingBuilder& figure(Field field, std::uint64_t value) {
    last_->fields.add(field);
    last_->figures[field] = value;
    return *this;
  }
  StagingBuilder& types(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) type(name);
    return *this;
  }

  /// Declares, before the first type, that all types have these figures by node.
  StagingBuilder& nodes(NodeFieldMask fields, std::uint32_t count) {
    staging_.set_nodes(fields, count);
    return *this;
  }
  /// One figure of the type added last, on node 0, 1, ...
  StagingBuilder& node(NodeField field, std::initializer_list<std::uint64_t> values) {
    std::uint32_t node = 0;
    for (const std::uint64_t value : values) staging_.node_figure(staging_.types().back(), field, node++) = value;
    return *this;
  }
  /// The detail of the type added last.
  StagingBuilder& detail(std::string_view text) {
    last_->detail = staging_.keep_text(text);
    return *this;
  }
  StagingBuilder& statistic(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels = {}) {
    staging_.statistics().add(metric, bits, labels);
    return *this;
  }
  StagingBuilder& histogram(const SystemMetric& metric, const HistogramCounts& counts,
                            std::initializer_list<LabelValue> labels) {
    staging_.statistics().add_histogram(metric, counts, labels);
    return *this;
  }

  [[nodiscard]] const Staging& staging() const { return staging_; }

 private:
  std::deque<std::string> names_;  // a deque: names keep their address
  Staging staging_;
  StagedType* last_ = nullptr;
};

inline constexpr FieldMask kEveryField = FieldMask::from_bits((1U << kFieldCount) - 1);
inline constexpr CpuFieldMask kEveryCpuField = CpuFieldMask::from_bits((1U << kCpuFieldCount) - 1);
inline constexpr NodeFieldMask kEveryNodeField = NodeFieldMask::from_bits((1U << kNodeFieldCount) - 1);

/// The scope of a roster that owns every field of its allocator.
inline CommitScope roster_of(Allocator allocator, std::string_view source = "roster") {
  return {.source = source,
          .allocator = allocator,
          .is_roster = true,
          .fields = kEveryField,
          .cpu_fields = kEveryCpuField,
          .node_fields = kEveryNodeField};
}

/// The type of that name and ordinal, nullptr when there is none.
inline MemoryType* find_ordinal(const MemoryTypeList& list, std::string_view name, std::uint32_t ordinal) {
  for (MemoryType* type = list.first(); type != nullptr; type = type->next()) {
    if (type->name() == name && type->ordinal() == ordinal) return type;
  }
  return nullptr;
}

/// "name:ordinal" of every type in order, vanished ones with a '-' before them.
inline std::vector<std::string> order_of(const MemoryTypeList& list) {
  std::vector<std::string> order;
  for (const MemoryType* type = list.first(); type != nullptr; type = type->next()) {
    order.push_back((type->is_present() ? "" : "-") + type->name() + ":" + std::to_string(type->ordinal()));
  }
  return order;
}

}  // namespace memstat
