// SPDX-License-Identifier: BSD-2-Clause
// Common code of the sources of events: each reads one table, and they agree on some facts.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/events/attach/event_settings.h"
#include "core/events/table/event_metrics.h"
#include "core/events/table/table.h"
#include "core/source.h"

namespace memstat::events {

/// State of a source that creates its table on the first open or read. Replays create none. Thread safety: as
/// ReaderState.
struct TableState final : ReaderState {
  std::unique_ptr<TextTableSource> table;
};

template <const TableFormat& kFormat, auto kMake>
Result<void> open_table(KernelView& view, RawBytes&, TableState& state) {
  if (!state.table) state.table = kMake(state);
  return view.open_table(kFormat.source, *state.table);
}

template <const TableFormat& kFormat, auto kMake>
Result<void> read_table(KernelView& view, RawBytes& raw, TableState& state) {
  if (!state.table) state.table = kMake(state);
  return view.read_table(kFormat.source, *state.table, raw.parts[0]);
}

/// The steps of a source whose raw data is one table. `kMake` creates the table from the state.
template <const TableFormat& kFormat, auto kMake, auto kParse>
constexpr SourceSteps table_steps() {
  return source_steps<TableState, open_table<kFormat, kMake>, read_table<kFormat, kMake>, kParse>();
}

inline constexpr std::array<MetricOrigin, 4> kCostOrigins{{
    {kEventsCost, "events x ns an event, or run_time_ns of memstatd's programs"},
    {kEventsSampled, "memstatd's governor"},
    {kEventsCounted, "memstatd's governor"},
    {kEventsBudget, "key events.budget"},
}};

/// `origins`, and the origins of the values in the row "governor".
template <std::size_t kCount>
constexpr std::array<MetricOrigin, kCount + kCostOrigins.size()> with_costs(const MetricOrigin (&origins)[kCount]) {
  return [&]<std::size_t... kOwn, std::size_t... kCost>(std::index_sequence<kOwn...>, std::index_sequence<kCost...>) {
    return std::array<MetricOrigin, kCount + kCostOrigins.size()>{origins[kOwn]..., kCostOrigins[kCost]...};
  }
  (std::make_index_sequence<kCount>(), std::make_index_sequence<kCostOrigins.size()>());
}

/// The descriptor of a Linux source that attaches programs to events. Fills in what all of them share.
constexpr SourceDescriptor attached_source(SourceDescriptor descriptor) {
  descriptor.is_on_by_default = false;
  descriptor.is_traced = true;
  descriptor.max_files = SourceDescriptor::kFilesVary;
  descriptor.helper_capabilities = kAttachCapabilities;
  descriptor.needs = kAttachNeeds;
  return descriptor;
}

}  // namespace memstat::events
