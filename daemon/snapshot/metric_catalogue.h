// SPDX-License-Identifier: BSD-2-Clause
// Every metric of memory types, in one table: the writers, the table in README and --list-metrics come from it.
// Names are a promise to users; a change is announced one release ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "config/tier.h"
#include "core/model/field.h"
#include "core/model/histogram.h"
#include "core/model/statistic.h"

namespace memstat {

/// What a sample of a type is made of: its row in a snapshot.
enum class Figure : std::uint8_t {
  kBytes,
  kObjects,
  kFailures,
  kLimitObjects,
  kLimitBytes,
  kLimitHits,
  kHeldBytes,
  kFreeObjects,
  kAllocations,
  kFrees,
  kSleeps,
  kDeltaBytes,  ///< signed
  kGrowth,      ///< double, as its bits
  kFootprint,
  kDeltaObjects,  ///< signed
  kZoneFreeObjects,
  kKegFreeObjects,
  kAllocatedBytes,
  kFreedBytes,
  kSleepers,
  kCrossDomainFrees,
  kObjectSize,
  kPeakBytes,
  kResets,
  kSizeClasses,  ///< a set of bits
  kSlabs,
  kPartialSlabs,
  kCpuSlabs,
  kAddressSpace,
  kWideLimitObjects,
  kSlabEfficiency,
  kLimitUsed,        ///< double, as its bits
  kLimitConfigured,  ///< 1
};
inline constexpr std::size_t kFigureCount = 33;

/// The same for a type on one CPU.
enum class CpuFigure : std::uint8_t { kAllocatedBytes, kFreedBytes, kAllocations, kFrees, kFreeObjects };
inline constexpr std::size_t kCpuFigureCount = 5;

/// The same for an allocator as a whole. Which types are behind it is told by daemon/snapshot/selection.h.
enum class AllocatorFigure : std::uint8_t { kUnlistedBytes };
inline constexpr std::size_t kAllocatorFigureCount = 1;

enum class MetricKind : std::uint8_t { kGauge, kCounter, kHistogram };
/// What one sample is about: a type, a type on one CPU, one size class of a type, an allocator, a type on one NUMA node,
/// none of them (the machine, or a part of it that the labels of the statistic name), or the detail of a type.
enum class MetricScope : std::uint8_t { kType, kCpu, kSizeClass, kAllocator, kNode, kMachine, kDetail };
inline constexpr std::size_t kMetricScopeCount = 7;
/// How a figure's 64 bits are to be read.
enum class FigureFormat : std::uint8_t { kUnsigned, kSigned, kDouble };
/// How the figures of types with the same name become one sample.
enum class DuplicateRule : std::uint8_t {
  kSum,
  kMost,       ///< the largest of doubles that are not negative; absent when any has none
  kSumOfAll,   ///< absent when any of them has none (a limit: one without is unlimited)
  kSameOrNone  ///< absent when they differ (a size)
};

/// What a counter counts from: the kernel's own were 0 at boot, memstatd's when it first saw the type.
enum class CountedSince : std::uint8_t { kBoot, kFirstSight };

/// One metric. Texts are one line, without characters that a format would have to escape.
struct MetricDescriptor {
  std::string_view name;
  std::string_view help;  ///< What it is, now or since boot, and the kernel figure it comes from.
  std::string_view unit;  ///< Base unit as OpenMetrics wants it ("bytes"), "" for counts of things.
  MetricKind kind;
  MetricScope scope;
  Tier tier;  ///< The smallest tier that shows it.
  FigureFormat format;
  DuplicateRule duplicates;
  std::uint8_t figure;  ///< A Figure; for kCpu a CpuFigure, for kAllocator an AllocatorFigure, for kNode a NodeField, for
                        ///< kMachine a Statistic, for kDetail 0.
  CountedSince counted_since = CountedSince::kBoot;  ///< Of counters and histograms only.
  /// Of kind kHistogram, which has scope kMachine (a histogram of types has the labels `allocator` and `type` of its own);
  /// nullptr for all others.
  const HistogramBuckets* buckets = nullptr;
};

/// Names are no longer than this, here and among the daemon's own metrics; the text writers have so much room for them.
inline constexpr std::size_t kLongestMetricName = 96;

/// All of them, in the order of the page.
std::span<const MetricDescriptor> metric_catalogue();

/// The names of the labels of its samples, in the order of the page. Empty: it has one sample, without labels.
std::span<const std::string_view> label_names(const MetricDescriptor& metric);

/// How many series each sample of the metric is: 1, or those of a histogram: every bound, +Inf, sum and count.
inline std::size_t series_per_sample(const MetricDescriptor& metric) {
  return metric.buckets == nullptr ? 1 : metric.buckets->bounds.size() + 3;
}

/// "gauge", "counter", "histogram"; "type", "cpu", "size_class", "allocator", "node", "machine", "detail"; "minimal",
/// "default", "full".
std::string_view to_string(MetricKind kind);
std::string_view to_string(MetricScope scope);
std::string_view to_string(Tier tier);

}  // namespace memstat
