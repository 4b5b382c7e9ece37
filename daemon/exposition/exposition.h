// SPDX-License-Identifier: BSD-2-Clause
// Pages in every wire format. A whole page is what render() gives of the memory types, followed by what render_own() gives
// of the daemon itself, and the format's document_end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

/// Renders the memory types into `out`, which is emptied before; returns how many series that are. Families are contiguous,
/// in the order of the catalogue; one without samples is left out. Steady state: no allocation.
/// Thread safety: reads the snapshot only.
std::size_t render(ExpositionFormat format, const RenderOptions& options, const Snapshot& snapshot, Buffer& out,
                   std::span<const MetricDescriptor> catalogue = metric_catalogue());

/// The same, of what the filter shows. `filter`: made for this snapshot.
std::size_t render(ExpositionFormat format, const RenderOptions& options, const PageFilter& filter, const Snapshot& snapshot,
                   Buffer& out);

/// Renders the text page of a new snapshot into it: `text`, `series` and `options`; forgets the pages in other formats,
/// which are of the snapshot before. For the thread that built it.
void render_text(const RenderOptions& options, RenderedSnapshot& snapshot);

/// The page of the memory types in any format, with the options that the text was rendered with. Others than text are
/// rendered by the first caller, at most once a snapshot. Lives as long as the snapshot is held. Throws std::bad_alloc.
/// Thread safety: safe, for a published snapshot.
std::string_view page_of(const RenderedSnapshot& snapshot, ExpositionFormat format);

/// The daemon's own figures at one moment.
struct OwnMetrics {
  std::vector<prometheus::MetricFamily> families;  ///< Gauges, counters and histograms; nothing else is rendered.
  std::vector<HistogramFamily::Data> histograms;
  std::int64_t created_ns = 0;  ///< When the counters among `families` began, since 1970; 0: not known.
};

/// Renders them into `out`, which is emptied before. Allocates.
void render_own(ExpositionFormat format, const RenderOptions& options, const OwnMetrics& own, Buffer& out);

/// The same histogram as the daemon's own are, with native buckets where they have them: what is above the last bound is in
/// the bucket after it. Requires one count more than bounds. Allocates.
HistogramData histogram_data(const HistogramBuckets& buckets, const HistogramCounts& histogram, std::int64_t created_ns);

}  // namespace memstat
