// SPDX-License-Identifier: BSD-2-Clause
// The vocabulary of metrics: what kind one is, how its values are read, which tier shows it.
#pragma once

#include <cstdint>
#include <string_view>

namespace memstat {

/// How much is on the page: a metric of a tier is on the pages of that tier and of the larger ones.
enum class Tier : std::uint8_t { kMinimal, kDefault, kFull };

enum class MetricKind : std::uint8_t { kGauge, kCounter, kHistogram };

/// How the 64 bits of a value are read.
enum class ValueFormat : std::uint8_t { kUnsigned, kSigned, kDouble };

/// How the values of types with the same name become one sample.
enum class DuplicateRule : std::uint8_t {
  kSum,
  kSumOfAll,   ///< absent when one of them has none (a limit: a type without one is unlimited)
  kMax,        ///< the largest of doubles that are not negative; absent when one of them has none
  kSameOrNone  ///< absent when they differ (a size)
};

/// What a page says about a metric. Thread safety: a plain value.
struct MetricFacts {
  std::string_view name;  ///< On the page, a promise to users: "memstat_type_bytes"; empty: this figure has no metric.
  MetricKind kind = MetricKind::kGauge;
  Tier tier = Tier::kFull;     ///< The smallest tier that shows it.
  std::string_view help = {};  ///< One sentence: what it is, now or since when. Needs no escape in any format.
  std::string_view unit = {};  ///< Base unit, at the end of the name ("bytes"); empty: a count of things.
  ValueFormat format = ValueFormat::kUnsigned;
  DuplicateRule duplicates = DuplicateRule::kSum;  ///< Of metrics of memory types.
};

/// "gauge", "counter", "histogram"; "minimal", "default", "full".
std::string_view to_string(MetricKind kind);
std::string_view to_string(Tier tier);

}  // namespace memstat
