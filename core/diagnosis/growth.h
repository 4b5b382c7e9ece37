// SPDX-License-Identifier: BSD-2-Clause
// Whether an amount grows, or only moves: start-up, steps, cycles and caches that are given back are told apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace memstat {

/// An amount at a time; times rise. Thread safety: a plain value, as all here.
struct GrowthPoint {
  double seconds = 0;  ///< from any origin
  double amount = 0;   ///< bytes or objects; below 0 for unaccounted memory whose parts moved while they were read
};

/// How an amount moved within a window.
enum class GrowthShape : std::uint8_t {
  kTooShort,   ///< fewer than kMinGrowthPoints
  kStill,      ///< no larger at the end than at the start
  kSteady,     ///< its lows rose in each third of the window
  kStep,       ///< one rise makes up most of the growth
  kEnded,      ///< it grew first, and no more
  kLevelsOff,  ///< it grows ever more slowly: start-up, or a cache that fills
  kCycle,      ///< it falls again and again, and what stays does not rise
  kGivenBack,  ///< most of what it had gained was given back within the window
  kUncertain,  ///< it moves as by chance
};
/// "steady", "step", ...; words for people are those of whoever prints them.
std::string_view to_string(GrowthShape shape);

/// The result of test_growth. Thread safety: a plain value.
struct GrowthTest {
  GrowthShape shape = GrowthShape::kTooShort;
  double gain = 0;          ///< last amount less the first
  double per_second = 0;    ///< Theil-Sen slope of the lows since `since`
  double probability = 1;   ///< that an amount without drift rises as clearly; one series alone, see control_discoveries
  double rising = 0;        ///< share of the changes of the lows that are rises
  double since = 0;         ///< seconds: where the growth begins, after start-up or a step
  double largest_fall = 0;  ///< from a peak to a later low
  double fell_at = 0;       ///< seconds, when that low was reached
  bool fell_in_reclaim = false;  ///< memory was reclaimed during that fall
  bool was_reclaimed = false;    ///< memory was reclaimed within the window
};

inline constexpr std::size_t kMinGrowthPoints = 8;
/// The share of false findings among all findings that control_discoveries allows.
inline constexpr double kFalseDiscoveryRate = 0.05;

/// `reclaimed`: a counter of reclaimed pages at the same times, or empty where it is not known.
///
/// The test is on lows: of each cycle, where the amount falls again and again, else of each of up to 24 parts of the window.
/// Changes from low to low are tested by the signed-rank test, which holds for a random walk, where a slope or a rank
/// correlation would find a trend. Start-up (a third, or all before a single step) is skipped once.
GrowthTest test_growth(std::span<const GrowthPoint> points, std::span<const double> reclaimed = {});

/// Benjamini-Hochberg: the largest probability that counts as found, of these of all series that moved. 0: none does.
double control_discoveries(std::span<const double> probabilities, double rate = kFalseDiscoveryRate);

}  // namespace memstat
