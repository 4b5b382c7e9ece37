// SPDX-License-Identifier: BSD-2-Clause
#include "core/source.h"

#include <algorithm>

namespace memstat {

std::vector<const SourceDescriptor*> in_reading_order(std::span<const SourceDescriptor* const> sources) {
  std::vector<const SourceDescriptor*> ordered(sources.begin(), sources.end());
  const auto rank = [](const SourceDescriptor* source) { return !source->replaces.empty() ? 0 : source->is_roster ? 1 : 2; };
  std::stable_sort(ordered.begin(), ordered.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return ordered;
}

std::vector<const SystemMetric*> system_metrics_of(std::span<const SourceDescriptor* const> sources) {
  std::vector<const SystemMetric*> metrics;
  for (const SourceDescriptor* source : sources) {
    for (const MetricOrigin& origin : source->origins) {
      if (origin.of != MetricOrigin::Of::kSystem) continue;
      if (std::find(metrics.begin(), metrics.end(), origin.metric) == metrics.end()) metrics.push_back(origin.metric);
    }
  }
  return metrics;
}

const SourceDescriptor* find_source(std::string_view name) {
  for (const SourceDescriptor* source : all_sources()) {
    if (source->name == name) return source;
  }
  return nullptr;
}

}  // namespace memstat
