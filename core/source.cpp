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

std::vector<std::string> reopened_paths_of(const SourceDescriptor& source) {
  // Of a directory: modules may add deeper ones later. Fewer in procfs, where each path takes a descriptor
  // (daemon/privileges): /proc/sys, /proc/net.
  constexpr std::size_t kDepth = 3, kDepthInProc = 2;
  std::vector<std::string> paths(source.reopened_directories.begin(), source.reopened_directories.end());
  for (const PlannedFile& file : source.plan) {
    if (file.is_kept_open) continue;
    const std::string_view fixed = file.path.substr(0, file.path.find('*'));
    const std::size_t max_depth = fixed.starts_with("/proc/") ? kDepthInProc : kDepth;
    std::size_t end = 0;
    for (std::size_t depth = 0; depth < max_depth && end != std::string_view::npos; ++depth) end = fixed.find('/', end + 1);
    std::string path(fixed.substr(0, end));
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
  }
  return paths;
}

bool reads_debugfs(const SourceDescriptor& source) {
  return std::any_of(source.plan.begin(), source.plan.end(),
                     [](const PlannedFile& file) { return file.path.starts_with("/sys/kernel/debug/"); });
}

const SourceDescriptor* find_source(std::string_view name) {
  for (const SourceDescriptor* source : all_sources()) {
    if (source->name == name) return source;
  }
  return nullptr;
}

}  // namespace memstat
