// SPDX-License-Identifier: BSD-2-Clause
// All metrics of memory types and of the system in one table, used by the writers, the manual and --list-metrics. Only
// metrics that the daemon itself adds are declared here. Metrics of types are declared with the model's fields
// (core/model/field.cpp), system metrics next to their parsers (core/sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/model/field.h"
#include "core/model/histogram.h"
#include "core/model/metric.h"
#include "core/model/system_metric.h"

namespace memstat {

/// Figures of a type that the daemon computes, in addition to the model's fields.
enum class TrackedFigure : std::uint8_t {
  kDeltaBytes,  ///< signed
  kGrowth,      ///< double, as its bits
  kLimitHits,
  kDeltaObjects,  ///< signed
  kPeakBytes,
  kResets,
  kLimitUsed,        ///< double, as its bits
  kLimitConfigured,  ///< 1
};
inline constexpr std::size_t kTrackedFigureCount = 8;

/// One exported figure of a type: a field of the model, or a tracked figure.
class Figure {
 public:
  constexpr Figure(Field field) : number_(static_cast<std::uint8_t>(field)) {}  // NOLINT(google-explicit-constructor)
  constexpr Figure(TrackedFigure figure)                                        // NOLINT(google-explicit-constructor)
      : number_(static_cast<std::uint8_t>(kFieldCount + static_cast<std::size_t>(figure))) {}
  static constexpr Figure from_number(std::size_t number) { return Figure(static_cast<Field>(number)); }

  /// Below kFigureCount; the index in columns and the bit in a FigureSet.
  [[nodiscard]] constexpr std::size_t number() const { return number_; }
  friend constexpr bool operator==(Figure a, Figure b) = default;

 private:
  std::uint8_t number_;
};
inline constexpr std::size_t kFigureCount = kFieldCount + kTrackedFigureCount;

using FigureSet = std::uint64_t;
static_assert(kFigureCount <= 64);
constexpr FigureSet bit(Figure figure) { return FigureSet{1} << figure.number(); }

/// CPU fields that have a metric come first.
inline constexpr std::size_t kCpuMetricCount = 5;

/// The subject of one sample: a type, a type on one CPU, one size class of a type, an allocator, a type on one NUMA node,
/// the system (or a part named by the labels), or the detail of a type.
enum class MetricScope : std::uint8_t { kType, kCpu, kSizeClass, kAllocator, kNode, kSystem, kDetail };
inline constexpr std::size_t kMetricScopeCount = 7;

/// Start of a counter: the kernel's start at 0 at boot, memstatd's when it first sees the type.
enum class CountedSince : std::uint8_t { kBoot, kFirstSight };

/// One metric. Texts are one line and need no escaping in any format.
struct MetricDescriptor : MetricFacts {
  MetricScope scope;
  /// Figure::number(); for kCpu a CpuField, for kNode a NodeField, for kSystem the
  /// metric's number in system_metrics(), for kDetail 0.
  std::uint16_t figure;
  CountedSince counted_since = CountedSince::kBoot;  ///< For counters and histograms only.
  /// For kHistogram, whose scope is kSystem (a histogram of types has its own labels `allocator` and `type`); otherwise
  /// nullptr.
  const HistogramBuckets* buckets = nullptr;
};

/// Maximum length of all metric names, including the daemon's own; the text writers reserve this much.
inline constexpr std::size_t kMaxMetricNameSize = 96;

/// In page order.
std::span<const MetricDescriptor> metric_catalogue();

/// The system metrics of all sources, in page order.
std::span<const SystemMetric* const> system_metrics();

/// The index of a metric in system_metrics(), or the number of metrics if no source of this build has it. Does not allocate.
std::size_t number_of(const SystemMetric& metric);

/// Label names of its samples, in page order. Empty: a single sample without labels.
std::span<const std::string_view> label_names(const MetricDescriptor& metric);

/// Number of series per sample: 1, or for a histogram one per bound plus +Inf, sum and count.
inline std::size_t series_per_sample(const MetricDescriptor& metric) {
  return metric.buckets == nullptr ? 1 : metric.buckets->bounds.size() + 3;
}

std::string_view to_string(MetricScope scope);

}  // namespace memstat
