// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/report_source.h"

#include <bit>
#include <cstddef>

#include "core/model/type_rules.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/snapshot/row_extras.h"

namespace memstat::ctl {
namespace {

TypeRow row_of(const Snapshot& snapshot, std::size_t at) {
  const Snapshot::Row& entry = snapshot.rows()[at];
  const RowLabels labels = entry.labels(snapshot.label_bytes().data());
  TypeRow row;
  row.allocator = labels.allocator();
  row.allocator_number = allocator_number(row.allocator);
  row.name = unescaped_label(labels.escaped_type());
  for (const Column* column : kColumns) {
    if (!snapshot.has(column->field, at)) continue;
    row.figures |= column->figure;
    row.*column->value = snapshot.value(column->field, at);
  }
  if (snapshot.has(TrackedFigure::kLimitUsed, at)) {
    row.limit_used = std::bit_cast<double>(snapshot.value(TrackedFigure::kLimitUsed, at));
  }
  if (snapshot.has(TrackedFigure::kGrowth, at)) {
    row.growth = std::bit_cast<double>(snapshot.value(TrackedFigure::kGrowth, at));
  }
  row.is_container = is_container(entry.allocator, row.name);
  row.fails_routinely = fails_routinely(entry.allocator, row.name);
  return row;
}

/// The block's figures by CPU or by node.
template <typename Block>
std::vector<Split> splits_of_block(const Snapshot& snapshot, MetricScope scope, const Block& block) {
  std::vector<Split> splits;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    const auto field = static_cast<typename Block::FieldType>(metric.figure);
    if (metric.scope != scope || !block.figures.has(field)) continue;
    Split split{.title = split_title(metric.name), .is_bytes = metric.unit == "bytes", .values = {}};
    const std::uint64_t* const values = snapshot.values(block, field);
    for (std::uint32_t i = 0; i < block.count; ++i) {
      split.values.push_back(values[i] == UINT64_MAX ? std::nullopt : std::optional(values[i]));
    }
    splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace

std::vector<TypeRow> rows_of(const Snapshot& snapshot) {
  std::vector<TypeRow> rows;
  rows.reserve(snapshot.row_count());
  const MergedNames merged(snapshot);
  const GroupFacts groups(snapshot);
  for (std::size_t at = 0; at < snapshot.row_count(); ++at) {
    rows.push_back(row_of(snapshot, at));
    const GroupFacts::Facts& facts = groups.of(at);
    if (facts.tasks && facts.tasks_limit) {
      rows.back().tasks = facts.tasks;
      rows.back().tasks_limit = *facts.tasks_limit;
    }
    rows.back().headroom = facts.headroom;
    for (const std::string_view name : merged.of(at)) rows.back().also.emplace_back(name);
  }
  for (const Snapshot::Detail& detail : snapshot.details()) {
    rows[detail.row].detail = snapshot.detail_text(detail);
  }
  return rows;
}

Splits splits_of(const Snapshot& snapshot, const TypeRow& type) {
  Splits splits;
  const auto at = memstat::row_of(snapshot, type.allocator, type.name);
  if (!at) return splits;
  const Snapshot::Row& row = snapshot.rows()[*at];
  if (row.cpu_block != 0) {
    splits.cpus = splits_of_block(snapshot, MetricScope::kCpu, snapshot.cpu_blocks()[row.cpu_block - 1]);
  }
  if (row.node_block != 0) {
    splits.nodes = splits_of_block(snapshot, MetricScope::kNode, snapshot.node_blocks()[row.node_block - 1]);
  }
  return splits;
}

}  // namespace memstat::ctl
