// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/metric_catalogue.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/source.h"

namespace memstat {
namespace {

using enum MetricKind;
using enum ValueFormat;
using enum DuplicateRule;

static_assert(static_cast<std::size_t>(CpuField::kSizeMask) == kCpuMetricCount && kCpuFieldCount == kCpuMetricCount + 1);

constexpr MetricDescriptor described(const MetricFacts& facts, MetricScope scope, std::size_t figure,
                                     CountedSince since = CountedSince::kBoot) {
  return {facts, scope, static_cast<std::uint16_t>(figure), since};
}

constexpr MetricDescriptor tracked_metric(TrackedFigure figure, const MetricFacts& facts,
                                          CountedSince since = CountedSince::kBoot) {
  return described(facts, MetricScope::kType, Figure(figure).number(), since);
}

/// Metrics that the daemon adds to the model's fields.
constexpr MetricDescriptor kOwn[] = {
    {{.name = "memstat_unlisted_bytes",
      .tier = Tier::kMinimal,
      .help = "Bytes in use now by types of the allocator that are not listed because of min_bytes, top or series_limit.",
      .unit = "bytes"},
     MetricScope::kAllocator,
     0},
    tracked_metric(TrackedFigure::kLimitUsed, {.name = "memstat_type_limit_used_ratio",
                                               .tier = Tier::kMinimal,
                                               .help = "Share of its limit that the type uses now, 0 to 1; of the nearer "
                                                       "limit if it has limits of both bytes and objects.",
                                               .unit = "ratio",
                                               .format = kDouble,
                                               .duplicates = kMax}),
    tracked_metric(TrackedFigure::kLimitConfigured,
                   {.name = "memstat_type_limit_configured",
                    .tier = Tier::kMinimal,
                    .help = "1 for each type whose nearest limit is configured in memstatd and not enforced by the kernel.",
                    .duplicates = kSameOrNone}),
    tracked_metric(TrackedFigure::kLimitHits,
                   {.name = "memstat_type_limit_hits_total",
                    .kind = kCounter,
                    .tier = Tier::kMinimal,
                    .help = "Times that the limit was hit since memstatd started: waits and failures, or upward crossings "
                            "if the kernel counts neither."},
                   CountedSince::kFirstSight),
    tracked_metric(TrackedFigure::kDeltaBytes,
                   {.name = "memstat_type_delta_bytes",
                    .tier = Tier::kDefault,
                    .help = "Change of the bytes in use between the last two polls; absent for a new type.",
                    .unit = "bytes",
                    .format = kSigned}),
    tracked_metric(TrackedFigure::kGrowth, {.name = "memstat_type_growth_bytes_per_second",
                                            .tier = Tier::kDefault,
                                            .help = "Growth in bytes per second over the configured growth window, or since "
                                                    "memstatd first saw the type if shorter.",
                                            .format = kDouble}),
    tracked_metric(TrackedFigure::kDeltaObjects,
                   {.name = "memstat_type_delta_objects",
                    .help = "Change of the objects in use between the last two polls; absent for a new type.",
                    .format = kSigned}),
    tracked_metric(TrackedFigure::kPeakBytes, {.name = "memstat_type_peak_bytes",
                                               .help = "Maximum bytes in use at any poll since memstatd first saw the type.",
                                               .unit = "bytes"}),
    tracked_metric(
        TrackedFigure::kResets,
        {.name = "memstat_type_resets_total",
         .kind = kCounter,
         .help = "Counter resets of the type since memstatd started: drops too large to come from unlocked reading."},
        CountedSince::kFirstSight),
    {{.name = "memstat_type_detail",
      .help = "1 for each type with details besides its name, such as the file and line of a call site.",
      .duplicates = kSameOrNone},
     MetricScope::kDetail,
     0},
};

/// Sort key: within a scope, metrics of smaller tiers come first.
int rank(const MetricDescriptor& metric) {
  using enum MetricScope;
  const bool is_of_types = metric.scope == kType || metric.scope == kAllocator;
  if (is_of_types) return static_cast<int>(metric.tier);
  if (metric.scope == kSystem) return 10 + static_cast<int>(metric.tier);
  return 5;
}

std::vector<MetricDescriptor> make_catalogue() {
  std::vector<MetricDescriptor> catalogue;
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto field = static_cast<Field>(i);
    if (description(field).metric.name.empty()) continue;
    const MetricScope scope = field == Field::kSizeMask ? MetricScope::kSizeClass : MetricScope::kType;
    catalogue.push_back(described(description(field).metric, scope, i));
  }
  for (std::size_t i = 0; i < kCpuMetricCount; ++i)
    catalogue.push_back(described(description(static_cast<CpuField>(i)).metric, MetricScope::kCpu, i));
  for (std::size_t i = 0; i < kNodeFieldCount; ++i)
    catalogue.push_back(described(description(static_cast<NodeField>(i)).metric, MetricScope::kNode, i));
  catalogue.insert(catalogue.end(), std::begin(kOwn), std::end(kOwn));
  std::size_t number = 0;
  for (const SystemMetric* metric : system_metrics()) {
    MetricDescriptor entry = described(metric->facts, MetricScope::kSystem, number++);
    entry.buckets = metric->buckets;
    catalogue.push_back(entry);
  }
  std::stable_sort(catalogue.begin(), catalogue.end(),
                   [](const MetricDescriptor& a, const MetricDescriptor& b) { return rank(a) < rank(b); });
  return catalogue;
}

}  // namespace

std::span<const MetricDescriptor> metric_catalogue() {
  static const std::vector<MetricDescriptor> kCatalogue = make_catalogue();
  return kCatalogue;
}

std::span<const SystemMetric* const> system_metrics() {
  static const std::vector<const SystemMetric*> kMetrics = system_metrics_of(all_sources());
  return kMetrics;
}

std::size_t number_of(const SystemMetric& metric) {
  static const auto kNumbers = [] {
    std::unordered_map<const SystemMetric*, std::size_t> numbers;
    for (const SystemMetric* one : system_metrics()) numbers.emplace(one, numbers.size());
    return numbers;
  }();
  const auto found = kNumbers.find(&metric);
  return found != kNumbers.end() ? found->second : kNumbers.size();
}

std::span<const std::string_view> label_names(const MetricDescriptor& metric) {
  static constexpr std::string_view kCpu[] = {"allocator", "type", "cpu"};
  static constexpr std::string_view kSize[] = {"allocator", "type", "size"};
  static constexpr std::string_view kNode[] = {"allocator", "type", "node"};
  static constexpr std::string_view kDetail[] = {"allocator", "type", "detail"};
  switch (metric.scope) {
    case MetricScope::kType: return std::span(kCpu).first(2);
    case MetricScope::kCpu: return kCpu;
    case MetricScope::kSizeClass: return kSize;
    case MetricScope::kAllocator: return std::span(kCpu).first(1);
    case MetricScope::kNode: return kNode;
    case MetricScope::kSystem: return system_metrics()[metric.figure]->label_names();
    case MetricScope::kDetail: return kDetail;
  }
  return {};
}

std::string_view to_string(MetricScope scope) {
  switch (scope) {
    case MetricScope::kType: return "type";
    case MetricScope::kCpu: return "cpu";
    case MetricScope::kSizeClass: return "size_class";
    case MetricScope::kAllocator: return "allocator";
    case MetricScope::kNode: return "node";
    case MetricScope::kSystem: return "system";
    case MetricScope::kDetail: return "detail";
  }
  return "unknown";
}

}  // namespace memstat
