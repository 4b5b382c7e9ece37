// SPDX-License-Identifier: BSD-2-Clause
// The state of a type with respect to its limit: full, refusing, filling. Shared by causes about limits.
#pragma once

#include <optional>
#include <string>

#include "core/diagnosis/cause.h"

namespace memstat {

/// This much available memory is enough, even if it is a small share of a large machine.
inline constexpr double kPlentyBytes = 4.0 * (1U << 30U);
/// Whether less than this share of memory is available, and not plenty.
inline bool is_memory_short(const Evidence& evidence, double share) {
  return evidence.available_bytes && *evidence.available_bytes < kPlentyBytes &&
         evidence.share(*evidence.available_bytes) < share;
}

/// Shares from which a limit counts as reached, or near.
inline constexpr double kFullShare = 0.98;
inline constexpr double kNearShare = 0.9;
inline constexpr double kDaySeconds = 86400;
/// The share from which the count of a partial inspection is reported: other processes may use the rest.
inline constexpr double kPartialShare = 0.5;
/// Growth predicts the time to a limit only up to this multiple of the time observed.
inline constexpr double kMaxOutlook = 12;
/// Growth this soon after boot is start-up.
inline constexpr double kBootSeconds = 900;

struct LimitState {
  double used = 0;  ///< the amount that counts against the limit
  double limit = 0;
  bool is_bytes = false;
  double share = 0;
  double failed = 0;                     ///< Recent failures.
  double refused = 0;                    ///< Recent failures and waits.
  double refused_before = 0;             ///< Failures and waits since boot.
  std::optional<double> ended_ago = {};  ///< Seconds since the last of them, if they have stopped.
  double sleepers = 0;
  std::optional<double> seconds_left = {};  ///< at the current rate, if growth is steady and the end is near
};

/// Empty if the type has no limit.
std::optional<LimitState> limit_state(const Evidence& evidence, const TypeEvidence& type);

struct Judgement {
  Severity severity;
  Certainty certainty;
};
/// kNow: it refuses requests or is full. kSoon: growth fills it within a day. kNotable: nearly full. Empty: none of these.
std::optional<Judgement> judge(const Evidence& evidence, const LimitState& state);

/// Huge pages of a pool that a program has reserved and not yet used. Its name is their size.
inline constexpr std::string_view kReservedHugePages = "memstat_hugetlb_reserved_pages";
/// Free pages of a pool of huge pages, including those that are reserved.
inline double free_pages_of(const TypeEvidence& pool) {
  return pool.free_objects ? *pool.free_objects
                           : (pool.held_bytes.value_or(0) - pool.bytes.value_or(0)) / pool.object_bytes.value_or(1);
}

/// "1003 of 1024 (98 %)".
std::string used_words(const LimitState& state);
/// "WHAT is full: 1003 of 1024 (98 %), 12 requests failed", "WHAT is full in 3 h: ...", "WHAT is nearly full: ...".
std::string limit_headline(std::string what, Severity severity, const LimitState& state);
/// Adds the use of the limit, and refused requests.
void add_limit_facts(const Evidence& evidence, const TypeEvidence& type, const LimitState& state, Finding& finding);

/// The time left at the rate of growth, up to a day, if the time observed is long enough to predict it.
std::optional<double> outlook(const GrowthEvidence& growth, std::optional<double> seconds);

/// The minimum share for quick_outlook().
inline constexpr double kFillingShare = 0.75;
/// The time left, up to five minutes, of an amount that reaches its limit before growth can be established.
std::optional<double> quick_outlook(const Evidence& evidence, const Count& change, double used, double limit);

}  // namespace memstat
