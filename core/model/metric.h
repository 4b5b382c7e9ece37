// SPDX-License-Identifier: BSD-2-Clause
// The vocabulary of metrics: kinds, value formats and tiers.
#pragma once

#include <cstdint>
#include <string_view>

namespace memstat {

/// The extent of a page: each tier includes the smaller ones.
enum class Tier : std::uint8_t { kMinimal, kDefault, kFull };
inline constexpr std::size_t kTierCount = 3;

enum class MetricKind : std::uint8_t { kGauge, kCounter, kHistogram };

/// The type of a value in 64 bits.
enum class ValueFormat : std::uint8_t { kUnsigned, kSigned, kDouble };

/// The rule that merges the values of types with the same name into one sample.
enum class DuplicateRule : std::uint8_t {
  kSum,
  kSumOfAll,   ///< absent if one of them has none (a limit: a type without one is unlimited)
  kMax,        ///< the largest of non-negative doubles; absent if one of them has none
  kSameOrNone  ///< absent if they differ (a size)
};

/// The metadata of a metric.
struct MetricFacts {
  std::string_view name;  ///< The exported name, a promise to users: "memstat_type_bytes". Empty: not exported.
  MetricKind kind = MetricKind::kGauge;
  Tier tier = Tier::kFull;     ///< The smallest tier that includes it.
  std::string_view help = {};  ///< One sentence: what it counts, and now or since when. Needs no escaping in any format.
  std::string_view unit = {};  ///< Base unit, the suffix of the name ("bytes"); empty for a plain count.
  ValueFormat format = ValueFormat::kUnsigned;
  DuplicateRule duplicates = DuplicateRule::kSum;  ///< For metrics of memory types only.
};

/// "gauge", "counter", "histogram"; "minimal", "default", "full".
std::string_view to_string(MetricKind kind);
std::string_view to_string(Tier tier);

}  // namespace memstat
