// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/exposition.h"

#include <array>

#include "core/base/text.h"
#include "daemon/exposition/page_renderer.h"
#include "daemon/snapshot/selection.h"

namespace memstat {
namespace {

/// Indexed by ExpositionFormat.
#define MEMSTAT_ADDRESS(NAME) &k##NAME##Format,
constexpr std::array<const FormatDescriptor*, kExpositionFormatCount> kFormats{MEMSTAT_FORMATS(MEMSTAT_ADDRESS)};
#undef MEMSTAT_ADDRESS

/// The number of series on the pages with these options, as render() returns it.
std::size_t series_on_page(const RenderOptions& options, const Snapshot& snapshot) {
  std::size_t series = machine_series_of(options, snapshot);
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) series += series_of(options, snapshot, row);
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope != MetricScope::kAllocator || !options.types || metric.tier > options.tier) continue;
    for (const Snapshot::Unlisted& unlisted : snapshot.unlisted) series += unlisted.bytes ? 1 : 0;
  }
  return series;
}

}  // namespace

const FormatDescriptor& descriptor_of(ExpositionFormat format) { return *kFormats[static_cast<std::size_t>(format)]; }

std::string_view to_string(ExpositionFormat format) { return descriptor_of(format).name; }

std::string format_names() {
  std::vector<std::string_view> names;
  for (const auto* format : kFormats) names.emplace_back(format->name);
  return join_words(names, " or ");
}

std::optional<ExpositionFormat> parse_exposition_format(std::string_view name) {
  for (const ExpositionFormat format : kExpositionFormats) {
    if (to_string(format) == name) return format;
  }
  return std::nullopt;
}

std::size_t render(ExpositionFormat format, const RenderOptions& options, const Snapshot& snapshot, Buffer& out,
                   std::span<const MetricDescriptor> catalogue) {
  out.clear();
  return descriptor_of(format).write_types(catalogue, options, nullptr, snapshot, out);
}

std::size_t render(ExpositionFormat format, const RenderOptions& options, const PageFilter& filter, const Snapshot& snapshot,
                   Buffer& out) {
  out.clear();
  return descriptor_of(format).write_types(metric_catalogue(), options, &filter, snapshot, out);
}

void prepare_pages(const RenderOptions& options, RenderedSnapshot& snapshot) {
  snapshot.forget_pages();
  snapshot.options = options;
  snapshot.series = series_on_page(options, snapshot);
}

std::string_view page_of(const RenderedSnapshot& snapshot, ExpositionFormat format) {
  // Rather too high: memory that is never written costs nothing, but growing step by step fragments the heap.
  constexpr std::size_t kHeads = 16 * 1024;
  constexpr std::size_t kBytesOfSeries = 144;
  return snapshot.lazy_page(format).of([&](Buffer& out) {
    if (out.capacity() == 0) out.reserve(kHeads + snapshot.series * kBytesOfSeries);
    render(format, snapshot.options, snapshot, out);
  });
}

HistogramData histogram_data(const HistogramBuckets& buckets, const HistogramCounts& histogram, std::int64_t created_ns) {
  HistogramData data;
  data.sum = histogram.sum;
  data.created_ns = created_ns;
  for (std::size_t i = 0; i < buckets.bounds.size(); ++i) {
    data.count += histogram.counts[i];
    data.buckets.push_back({.upper_bound = buckets.bounds[i], .cumulative = data.count});
  }
  data.count += histogram.counts.back();
  if (!buckets.is_native || buckets.bounds.empty()) return data;
  data.has_native = true;
  data.schema = buckets.schema;
  data.zero_threshold = buckets.bounds.front();
  data.zero_count = histogram.counts.front();
  append_native_buckets(histogram.counts.subspan(1), buckets.first_index + 1, data);
  return data;
}

void render_own(ExpositionFormat format, const RenderOptions& options, const OwnMetrics& own, Buffer& out) {
  out.clear();
  descriptor_of(format).write_own(options, own, out);
}

}  // namespace memstat
