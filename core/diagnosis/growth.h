// SPDX-License-Identifier: BSD-2-Clause
// Distinguishes growth from other changes of an amount: start-up, steps, cycles, and caches that are reclaimed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace memstat {

/// An amount at a time; times ascend.
struct GrowthPoint {
  double seconds = 0;  ///< from any origin
  double amount = 0;   ///< bytes or objects; negative for unaccounted memory if its parts changed while they were read
};

/// The course of an amount within a window.
enum class GrowthShape : std::uint8_t {
  kTooShort,   ///< fewer than kMinGrowthPoints
  kStill,      ///< no larger at the end than at the start
  kSteady,     ///< its lows rose in each third of the window
  kStep,       ///< one rise makes up most of the growth
  kEnded,      ///< it grew at first, but no longer
  kLevelsOff,  ///< its growth slows down: start-up, or a cache that fills
  kCycle,      ///< it falls repeatedly, and its lows do not rise
  kGivenBack,  ///< most of its gain was freed within the window
  kUncertain,  ///< random movement
};
/// "steady", "step", ...; output for people has its own words.
std::string_view to_string(GrowthShape shape);

/// The result of test_growth.
struct GrowthTest {
  GrowthShape shape = GrowthShape::kTooShort;
  double gain = 0;          ///< last amount minus the first
  double per_second = 0;    ///< Theil-Sen slope of the lows since `since`
  double probability = 1;   ///< of a rise at least this clear without drift; for one series only, see control_discoveries
  double rising = 0;        ///< share of the changes between lows that are increases
  double since = 0;         ///< seconds: the start of the growth, after start-up or a step
  double largest_fall = 0;  ///< from a peak to a later low
  double fell_at = 0;       ///< time of that low in seconds
  bool fell_in_reclaim = false;  ///< memory was reclaimed during that fall
  bool was_reclaimed = false;    ///< memory was reclaimed within the window
};

inline constexpr std::size_t kMinGrowthPoints = 8;
/// The share of false findings among all findings that control_discoveries allows.
inline constexpr double kFalseDiscoveryRate = 0.05;

/// `reclaimed`: a counter of reclaimed pages at the same times; empty if unknown.
///
/// Tests the lows: one per cycle if the amount falls repeatedly, even if a cycle is small compared with the growth,
/// otherwise one for each of up to 24 parts of the window. The signed-rank test of the changes between lows is valid for a
/// random walk, in which a slope or a rank correlation would find a trend. Start-up (a third, or everything before a single
/// step) is skipped once.
GrowthTest test_growth(std::span<const GrowthPoint> points, std::span<const double> reclaimed = {});

/// Benjamini-Hochberg: the largest probability that counts as a discovery, given those of all series that moved. 0:
/// none.
double control_discoveries(std::span<const double> probabilities, double rate = kFalseDiscoveryRate);

}  // namespace memstat
