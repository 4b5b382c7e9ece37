// SPDX-License-Identifier: BSD-2-Clause
// The memory account of a machine: disjoint parts, and the remainder.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/arithmetic.h"
#include "core/model/staging.h"
#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kAccountedBytes =
    gauge_metric("memstat_accounted_bytes", Tier::kMinimal,
                 "Bytes of memory now, by holder; the parts do not overlap and may be stacked.", {"part"});

inline constexpr SystemMetric kUnaccountedBytes =
    gauge_metric("memstat_unaccounted_bytes", Tier::kMinimal,
                 "Bytes of memory now that are neither free nor in any accounted part.", {}, ValueFormat::kSigned);

inline constexpr SystemMetric kTotalBytes =
    gauge_metric("memstat_memory_total_bytes", Tier::kMinimal, "Bytes of memory that the kernel manages now.");

inline constexpr SystemMetric kAvailableBytes =
    gauge_metric("memstat_memory_available_bytes", Tier::kMinimal,
                 "Bytes of memory that programs can still get without paging, by the kernel's own estimate.");

inline constexpr SystemMetric kHeadroomBytes = gauge_metric(
    "memstat_memory_headroom_bytes", Tier::kDefault,
    "Bytes that programs can still allocate now until the kernel kills one for lack of memory, with free swap.");

inline constexpr SystemMetric kHeadroomUncertain =
    gauge_metric("memstat_memory_headroom_uncertain", Tier::kDefault,
                 "1 if the headroom of the machine is not known within 8 MiB or 5 %, by reason.", {"reason"});

inline constexpr SystemMetric kPartMissing =
    gauge_metric("memstat_accounted_part_missing", Tier::kMinimal,
                 "1 for each accounted part that this kernel does not report; its bytes are unaccounted.", {"part"});

/// Stages the parts as statistics and sums them. All amounts are bytes.
class Accounts {
 public:
  explicit Accounts(StagedStatistics& statistics) : statistics_(statistics) {}

  /// Adds a part that every kernel has. Without an amount it is reported as missing.
  void add(std::string_view part, std::optional<std::uint64_t> amount) {
    if (!amount) add_missing(part);
    add_if_reported(part, amount);
  }
  /// Adds a part that some kernels do not have.
  void add_if_reported(std::string_view part, std::optional<std::uint64_t> amount) {
    if (!amount) return;
    statistics_.add(kAccountedBytes, *amount, {part});
    sum_ = saturating_sum(sum_, *amount);
  }
  void add_missing(std::string_view part) { statistics_.add(kPartMissing, 1, {part}); }

  [[nodiscard]] std::uint64_t sum() const { return sum_; }

  /// Stages `total` and the unaccounted remainder. The remainder may be negative, because the figures are not read at the
  /// same instant.
  void finish(std::uint64_t total, std::uint64_t free) {
    const std::int64_t used = saturating_signed(total) - saturating_signed(free);
    std::int64_t unaccounted = 0;
    if (__builtin_sub_overflow(used, saturating_signed(sum_), &unaccounted)) {
      unaccounted = std::numeric_limits<std::int64_t>::min();
    }
    statistics_.add_signed(kUnaccountedBytes, unaccounted);
    statistics_.add(kTotalBytes, total);
  }

 private:
  StagedStatistics& statistics_;
  std::uint64_t sum_ = 0;
};

}  // namespace memstat
