// SPDX-License-Identifier: BSD-2-Clause
// The statistics of a Staging by name, for tests that look for some of them.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/model/accounts.h"
#include "core/source.h"

namespace memstat {

/// The metric of that name, of any source. Throws std::out_of_range when there is none.
inline const SystemMetric& metric_named(std::string_view name) {
  for (const SystemMetric* metric : system_metrics_of(all_sources())) {
    if (metric->facts.name == name) return *metric;
  }
  throw std::out_of_range("no source has the metric " + std::string(name));
}

/// Bits by "metric{value,value}"; the name lacks "memstat_", and there are braces only with labels. The last of two with the
/// same name is kept, and has_unique_statistics() is false.
inline std::map<std::string, std::uint64_t> statistics_of(const Staging& staging) {
  std::map<std::string, std::uint64_t> found;
  const StagedStatistics& statistics = staging.statistics();
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    std::string key(entry.metric->facts.name.substr(std::string_view("memstat_").size()));
    const std::size_t count = entry.metric->label_names().size();
    for (std::size_t i = 0; i < count; ++i) {
      key += i == 0 ? "{" : ",";
      key += statistics.label(entry, i);
    }
    found[key + (count == 0 ? "" : "}")] = entry.bits;
  }
  return found;
}

inline bool has_unique_statistics(const Staging& staging) {
  return statistics_of(staging).size() == staging.statistics().entries().size();
}

/// The sum and the number of all statistics whose name begins with this.
struct StatisticSum {
  std::uint64_t sum = 0;
  std::size_t count = 0;
};
inline StatisticSum sum_of_statistics(const Staging& staging, const std::string& prefix) {
  StatisticSum total;
  for (const auto& [key, bits] : statistics_of(staging)) {
    if (!key.starts_with(prefix)) continue;
    total.sum += bits;
    ++total.count;
  }
  return total;
}

/// The statistic whose first label is `label` (or that has none); nothing if absent.
inline std::optional<std::uint64_t> find_statistic(const Staging& staging, const SystemMetric& metric,
                                                   std::string_view label = {}) {
  for (const StagedStatistics::Entry& entry : staging.statistics().entries()) {
    if (entry.metric == &metric && staging.statistics().label(entry, 0) == label) return entry.bits;
  }
  return std::nullopt;
}

}  // namespace memstat
