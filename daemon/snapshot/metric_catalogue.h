// SPDX-License-Identifier: BSD-2-Clause
// Every metric of memory types and of the system, in one table: the writers, the manual's table and --list-metrics come from
// it. It declares only what the daemon itself adds; figures of types are declared with the model's fields
// (core/model/field.cpp), metrics of the system beside the parser that yields them (core/sources).
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

/// What the daemon itself knows of a type, beside the model's fields.
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

/// One figure of a type on the page: a field of the model, or a tracked figure. Thread safety: a plain value.
class Figure {
 public:
  constexpr Figure(Field field) : number_(static_cast<std::uint8_t>(field)) {}  // NOLINT(google-explicit-constructor)
  constexpr Figure(TrackedFigure figure)                                        // NOLINT(google-explicit-constructor)
      : number_(static_cast<std::uint8_t>(kFieldCount + static_cast<std::size_t>(figure))) {}
  static constexpr Figure from_number(std::size_t number) { return Figure(static_cast<Field>(number)); }

  /// Below kFigureCount; its place in columns and its bit in a FigureSet.
  [[nodiscard]] constexpr std::size_t number() const { return number_; }
  friend constexpr bool operator==(Figure a, Figure b) = default;

 private:
  std::uint8_t number_;
};
inline constexpr std::size_t kFigureCount = kFieldCount + kTrackedFigureCount;

/// A set of figures, a bit each.
using FigureSet = std::uint64_t;
static_assert(kFigureCount <= 64);
constexpr FigureSet bit(Figure figure) { return FigureSet{1} << figure.number(); }

/// The fields by CPU that have a metric come first.
inline constexpr std::size_t kCpuMetricCount = 5;

/// A figure of an allocator as a whole. daemon/snapshot/selection.h says which types are behind it.
enum class AllocatorFigure : std::uint8_t { kUnlistedBytes };
inline constexpr std::size_t kAllocatorFigureCount = 1;

/// What one sample is about: a type, a type on one CPU, one size class of a type, an allocator, a type on one NUMA node,
/// the system (or a part of it that the metric's labels name), or the detail of a type.
enum class MetricScope : std::uint8_t { kType, kCpu, kSizeClass, kAllocator, kNode, kSystem, kDetail };
inline constexpr std::size_t kMetricScopeCount = 7;

/// What a counter counts from: the kernel's own were 0 at boot, memstatd's when it first saw the type.
enum class CountedSince : std::uint8_t { kBoot, kFirstSight };

/// One metric. Texts are one line, without characters that a format would have to escape.
struct MetricDescriptor {
  std::string_view name;
  std::string_view help;  ///< What it is, now or since when.
  std::string_view unit;  ///< Base unit as OpenMetrics wants it ("bytes"), "" for counts of things.
  MetricKind kind;
  MetricScope scope;
  Tier tier;  ///< The smallest tier that shows it.
  ValueFormat format;
  DuplicateRule duplicates;
  /// Figure::number(); for kCpu a CpuField, for kAllocator an AllocatorFigure, for kNode a NodeField, for kSystem the number
  /// of its metric in system_metrics(), for kDetail 0.
  std::uint16_t figure;
  CountedSince counted_since = CountedSince::kBoot;  ///< Of counters and histograms only.
  /// Of kind kHistogram, which has scope kSystem (a histogram of types has the labels `allocator` and `type` of its own);
  /// nullptr for all others.
  const HistogramBuckets* buckets = nullptr;
};

/// Names are no longer than this, here and among the daemon's own metrics; the text writers have room for that many bytes.
inline constexpr std::size_t kLongestMetricName = 96;

/// All of them, in the order of the page. Thread safety: all safe; lives as long as the program.
std::span<const MetricDescriptor> metric_catalogue();

/// The metrics of the system of every source, in the order of the page.
std::span<const SystemMetric* const> system_metrics();

/// The place of a metric in system_metrics(); as many as there are when no source of this build has it. No allocation.
std::size_t number_of(const SystemMetric& metric);

/// The names of the labels of its samples, in the order of the page. Empty: it has one sample, without labels.
std::span<const std::string_view> label_names(const MetricDescriptor& metric);

/// How many series each sample of the metric is: 1, or those of a histogram: every bound, +Inf, sum and count.
inline std::size_t series_per_sample(const MetricDescriptor& metric) {
  return metric.buckets == nullptr ? 1 : metric.buckets->bounds.size() + 3;
}

/// "type", "cpu", "size_class", "allocator", "node", "system", "detail".
std::string_view to_string(MetricScope scope);

}  // namespace memstat
