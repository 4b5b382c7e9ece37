// SPDX-License-Identifier: BSD-2-Clause
// Pages in every wire format. A page is the output of render() for the memory types, then of render_own() for the daemon
// itself, then the format's document_end.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <prometheus/metric_family.h>

#include "daemon/exposition/format.h"
#include "daemon/exposition/native_histogram.h"
#include "daemon/exposition/rendered_snapshot.h"
#include "daemon/snapshot/filter.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// Renders the memory types into `out`, replacing its content. Returns the number of series. Families are contiguous, in the
/// order of the catalogue; families without samples are omitted. Allocates nothing in the steady state. Thread safety: only
/// reads the snapshot.
std::size_t render(ExpositionFormat format, const RenderOptions& options, const Snapshot& snapshot, Buffer& out,
                   std::span<const MetricDescriptor> catalogue = metric_catalogue());

/// The same for what the filter admits. `filter` must be made for this snapshot.
std::size_t render(ExpositionFormat format, const RenderOptions& options, const PageFilter& filter, const Snapshot& snapshot,
                   Buffer& out);

/// Prepares a new snapshot for page_of(): sets `options` and `series`, and discards the pages of the previous snapshot.
/// Called by the thread that built the snapshot.
void prepare_pages(const RenderOptions& options, RenderedSnapshot& snapshot);

/// The page of the memory types. The first caller for a format renders it, at most once per snapshot. Valid while the
/// snapshot is held. Throws std::bad_alloc. Thread safety: safe for a published snapshot.
std::string_view page_of(const RenderedSnapshot& snapshot, ExpositionFormat format);

/// The daemon's own metrics at one moment.
struct OwnMetrics {
  std::vector<prometheus::MetricFamily> families;  ///< Gauges and counters.
  std::vector<HistogramFamily::Data> histograms;
  std::int64_t created_ns = 0;  ///< Start of the counters in `families`, ns since 1970; 0: unknown.
};

/// Renders them into `out`, replacing its content. Allocates.
void render_own(ExpositionFormat format, const RenderOptions& options, const OwnMetrics& own, Buffer& out);

/// Converts a histogram to the daemon's form, with native buckets if it has them. The count after the last bound is of
/// observations above it. Requires one count more than bounds. Allocates.
HistogramData histogram_data(const HistogramBuckets& buckets, const HistogramCounts& histogram, std::int64_t created_ns);

}  // namespace memstat
