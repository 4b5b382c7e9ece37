// SPDX-License-Identifier: BSD-2-Clause
// What prometheus-cpp writes for a snapshot: the reference for our own writers.
#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// A label value without the escapes of the text formats.
inline std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    if (is_escape) ++i;
    plain += is_escape && text[i] == 'n' ? '\n' : text[i];
  }
  return plain;
}

inline double figure_of(ValueFormat format, std::uint64_t bits) {
  switch (format) {
    case ValueFormat::kSigned: return static_cast<double>(static_cast<std::int64_t>(bits));
    case ValueFormat::kDouble: return std::bit_cast<double>(bits);
    case ValueFormat::kUnsigned: break;
  }
  return static_cast<double>(bits);
}

/// Every metric of every row as families of prometheus-cpp.
inline std::vector<prometheus::MetricFamily> prometheus_families(const Snapshot& snapshot) {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    prometheus::MetricFamily family;
    family.name = metric.name;
    family.help = metric.help;
    family.type = metric.kind == MetricKind::kCounter     ? prometheus::MetricType::Counter
                  : metric.kind == MetricKind::kHistogram ? prometheus::MetricType::Histogram
                                                          : prometheus::MetricType::Gauge;
    const auto add = [&](std::size_t row, double value, const std::vector<prometheus::ClientMetric::Label>& more) {
      const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
      prometheus::ClientMetric sample;
      sample.label = {{"allocator", std::string(labels.allocator())}, {"type", unescaped(labels.escaped_type())}};
      sample.label.insert(sample.label.end(), more.begin(), more.end());
      sample.counter.value = value;
      sample.gauge.value = value;
      family.metric.push_back(sample);
    };
    const bool is_of_rows = metric.scope == MetricScope::kType || metric.scope == MetricScope::kSizeClass;
    const Figure figure = is_of_rows ? Figure::from_number(metric.figure) : Figure(Field::kBytes);
    for (std::size_t row = 0; is_of_rows && row < snapshot.row_count(); ++row) {
      if (!snapshot.has(figure, row)) continue;
      if (metric.scope == MetricScope::kType) add(row, figure_of(metric.format, snapshot.value(figure, row)), {});
      for (std::size_t i = 0; metric.scope == MetricScope::kSizeClass && i < snapshot.size_classes().size(); ++i) {
        if ((snapshot.value(figure, row) >> i & 1U) != 0) {
          add(row, 1, {{"size", std::to_string(snapshot.size_classes()[i])}});
        }
      }
    }
    for (std::size_t i = 0; metric.scope == MetricScope::kAllocator && i < kAllocatorCount; ++i) {
      const auto allocator = static_cast<Allocator>(i);
      const auto sum = static_cast<AllocatorFigure>(metric.figure);
      if (!snapshot.has(sum, allocator)) continue;
      prometheus::ClientMetric sample;
      sample.label = {{"allocator", std::string(to_string(allocator))}};
      sample.gauge.value = figure_of(metric.format, snapshot.value(sum, allocator));
      family.metric.push_back(sample);
    }
    for (const Snapshot::CpuBlock& block : snapshot.cpu_blocks()) {
      if (metric.scope != MetricScope::kCpu || !block.figures.has(static_cast<CpuField>(metric.figure))) continue;
      for (std::uint32_t cpu = 0; cpu < block.count; ++cpu) {
        add(block.row, figure_of(metric.format, snapshot.values(block, static_cast<CpuField>(metric.figure))[cpu]),
            {{"cpu", std::to_string(cpu)}});
      }
    }
    for (const Snapshot::NodeBlock& block : snapshot.node_blocks()) {
      const auto field = static_cast<NodeField>(metric.figure);
      if (metric.scope != MetricScope::kNode || !block.figures.has(field)) continue;
      for (std::uint32_t node = 0; node < block.count; ++node) {
        add(block.row, static_cast<double>(snapshot.values(block, field)[node]), {{"node", std::to_string(node)}});
      }
    }
    const auto add_named = [&](const Snapshot::LabelPlace& place, double value, const HistogramCounts& counts = {}) {
      prometheus::ClientMetric sample;
      for (std::size_t i = 0; i < counts.counts.size(); ++i) {
        const auto& bounds = metric.buckets->bounds;
        sample.histogram.sample_count += counts.counts[i];
        sample.histogram.bucket.push_back(
            {sample.histogram.sample_count, i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity()});
      }
      sample.histogram.sample_sum = counts.sum;
      snapshot.labels_at(place, label_names(metric)).for_each([&](std::string_view name, std::string_view text) {
        sample.label.push_back({std::string(name), unescaped(text)});
      });
      sample.counter.value = value;
      sample.gauge.value = value;
      family.metric.push_back(sample);
    };
    if (metric.scope == MetricScope::kDetail) {
      for (const Snapshot::Detail& detail : snapshot.details()) add_named(detail.labels, 1);
    }
    if (metric.scope == MetricScope::kSystem) {
      for (const Snapshot::MachineSample& sample : snapshot.samples(metric.figure)) {
        if (metric.kind == MetricKind::kHistogram) {
          add_named(sample.labels, 0, snapshot.histogram(sample));
        } else {
          add_named(sample.labels, figure_of(metric.format, sample.bits));
        }
      }
    }
    if (!family.metric.empty()) families.push_back(family);
  }
  return families;
}

inline std::string prometheus_text(const Snapshot& snapshot) {
  return prometheus::TextSerializer().Serialize(prometheus_families(snapshot));
}

}  // namespace memstat
