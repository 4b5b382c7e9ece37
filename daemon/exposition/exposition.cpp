// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/exposition.h"

#include <array>
#include <bit>

#include "daemon/exposition/all_formats.h"
#include "daemon/exposition/page_walk.h"

namespace memstat {
namespace {

/// By ExpositionFormat.
constexpr std::array<const FormatDescriptor*, kExpositionFormatCount> kFormats{&kTextFormat, &kOpenMetricsFormat,
                                                                               &kProtobufFormat};

/// About how large a page becomes, rather more than less: room that is never written to takes no memory, while a page that
/// grows step by step leaves holes in the heap.
std::size_t likely_size(const RenderOptions& options, const Snapshot& snapshot) {
  constexpr std::size_t kHeads = 16 * 1024;
  constexpr std::size_t kNameAndValue = 56;
  std::uint32_t shown = 0;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope == MetricScope::kType && metric.tier <= options.tier) shown |= 1U << metric.figure;
  }
  std::size_t size = kHeads;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope != MetricScope::kMachine || metric.tier > options.tier) continue;
    for (const Snapshot::MachineSample& sample : snapshot.samples(static_cast<Statistic>(metric.figure))) {
      size += sample.labels.size + kNameAndValue;
    }
  }
  for (const Snapshot::NodeBlock& block : snapshot.node_blocks()) {
    size += block.node_count * block.figures.size() * (snapshot.rows()[block.row].label_size + kNameAndValue);
  }
  for (const Snapshot::Detail& detail : snapshot.details()) size += detail.labels.size + kNameAndValue;
  for (const Snapshot::Row& row : snapshot.rows()) {
    size += static_cast<std::size_t>(std::popcount(row.figures & shown)) * (row.label_size + kNameAndValue);
  }
  return size;
}

const FormatDescriptor& descriptor(ExpositionFormat format) { return *kFormats[static_cast<std::size_t>(format)]; }

}  // namespace

std::string_view to_string(ExpositionFormat format) { return descriptor(format).name; }

std::optional<ExpositionFormat> parse_exposition_format(std::string_view name) {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i]->name == name) return static_cast<ExpositionFormat>(i);
  }
  return std::nullopt;
}

std::string_view content_type(ExpositionFormat format) { return descriptor(format).content_type; }

std::size_t render(ExpositionFormat format, const RenderOptions& options, const Snapshot& snapshot, Buffer& out) {
  out.clear();
  if (out.capacity() == 0) out.reserve(likely_size(options, snapshot));
  return descriptor(format).write_types(options, nullptr, snapshot, out);
}

std::size_t render(ExpositionFormat format, const RenderOptions& options, const PageFilter& filter, const Snapshot& snapshot,
                   Buffer& out) {
  out.clear();
  return descriptor(format).write_types(options, &filter, snapshot, out);
}

void render_text(const RenderOptions& options, Snapshot& snapshot) {
  snapshot.options = options;
  snapshot.series = render(ExpositionFormat::kText, options, snapshot, snapshot.text);
}

std::string_view page_of(const Snapshot& snapshot, ExpositionFormat format) {
  if (format == ExpositionFormat::kText) return snapshot.text.view();
  return snapshot.lazy_page(format).of([&](Buffer& out) { render(format, snapshot.options, snapshot, out); });
}

void render_own(ExpositionFormat format, const RenderOptions& options, const OwnMetrics& own, Buffer& out) {
  out.clear();
  descriptor(format).write_own(options, own, out);
}

}  // namespace memstat
