// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace memstat {
namespace {

using Points = std::vector<GrowthPoint>;

constexpr std::size_t kMaxLows = 25;
/// A fall belongs to a cycle if it is at least this share of the whole range.
constexpr double kCycleShare = 0.25;
/// A rise is a step if it makes up at least this share of all rises.
constexpr double kStepShare = 0.5;
/// Growth levels off if the last third's is below this share of the fastest third's.
constexpr double kLevelShare = 1.0 / 3;
/// A cache has given memory back if it shrank by at least this share while memory was reclaimed.
constexpr double kReclaimShare = 0.1;
/// Maximum number of times that start-up is skipped. The probability is multiplied by the number of attempts.
constexpr int kMaxSkips = 2;

bool is_later(const GrowthPoint& a, const GrowthPoint& b) { return a.seconds < b.seconds; }
bool is_lower(const GrowthPoint& a, const GrowthPoint& b) { return a.amount < b.amount; }

/// The minimum of each of at most kMaxLows parts with equal numbers of points.
Points lows_of_parts(std::span<const GrowthPoint> points) {
  const std::size_t parts = std::min(points.size(), kMaxLows);
  Points lows;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = i * points.size() / parts;
    const std::size_t end = (i + 1) * points.size() / parts;
    lows.push_back(*std::min_element(points.begin() + static_cast<std::ptrdiff_t>(begin),
                                     points.begin() + static_cast<std::ptrdiff_t>(end), is_lower));
  }
  return lows;
}

/// Falls by at least a share of the range: their peaks and the following lows.
struct Falls {
  Points lows;  // the first point too, if the amount rises from it
  Points peaks;
};

double range_of(std::span<const GrowthPoint> points) {
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), is_lower);
  return most->amount - least->amount;
}

Falls falls_of(std::span<const GrowthPoint> points, double range) {
  Falls falls;
  const double threshold = kCycleShare * range;
  GrowthPoint low = points.front();
  GrowthPoint peak = points.front();
  bool is_falling = false;
  for (const GrowthPoint& point : points) {
    if (is_falling) {
      if (point.amount <= low.amount) low = point;
      if (point.amount - low.amount < threshold) continue;
      falls.lows.push_back(low);
      is_falling = false;
      peak = point;
    } else {
      if (point.amount >= peak.amount) peak = point;
      if (peak.amount - point.amount < threshold) continue;
      if (falls.lows.empty() && peak.seconds > points.front().seconds) falls.lows.push_back(points.front());
      falls.peaks.push_back(peak);
      is_falling = true;
      low = point;
    }
  }
  if (is_falling) falls.lows.push_back(low);
  return falls;
}

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Theil-Sen: the median of the slopes between all pairs.
double slope_of(const Points& points) {
  std::vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      slopes.push_back((points[j].amount - points[i].amount) / (points[j].seconds - points[i].seconds));
    }
  }
  return slopes.empty() ? 0 : median_of(slopes);
}

/// Twice the rank of each change by its size, from 2; equal sizes have their mean rank.
std::vector<std::size_t> double_ranks(const std::vector<double>& changes) {
  std::vector<std::size_t> order(changes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto size = [&](std::size_t i) { return std::abs(changes[i]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) < size(b); });
  std::vector<std::size_t> ranks(changes.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && size(order[end]) == size(order[begin])) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = begin + end + 1;
    begin = end;
  }
  return ranks;
}

/// Wilcoxon's signed-rank test, one-sided and exact: the probability that changes with equal chances of rising and
/// falling rise by at least as much.
double probability_of(const std::vector<double>& changes) {
  const std::vector<std::size_t> ranks = double_ranks(changes);
  std::size_t most = 0;
  std::size_t risen = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    most += ranks[i];
    if (changes[i] > 0) risen += ranks[i];
  }
  std::vector<double> chances(most + 1);  // by the sum of the rising ranks
  chances[0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t sum = most + 1; sum-- > 0;) {
      chances[sum] = 0.5 * (chances[sum] + (sum >= rank ? chances[sum - rank] : 0));
    }
  }
  double probability = 0;
  for (std::size_t sum = risen; sum <= most; ++sum) probability += chances[sum];
  return std::min(1.0, probability);
}

/// Growth per second in each third of the time between the first and the last low.
std::array<double, 3> thirds_of(const Points& lows) {
  std::array<double, 3> slopes{};
  const double begin = lows.front().seconds;
  const double third = (lows.back().seconds - begin) / 3;
  auto from = lows.begin();
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const double until = begin + third * static_cast<double>(i + 1);
    auto to = i == 2 ? lows.end() - 1 : std::upper_bound(from, lows.end() - 1, GrowthPoint{until, 0}, is_later);
    if (to == from && to != lows.end() - 1) ++to;
    if (to->seconds > from->seconds) slopes[i] = (to->amount - from->amount) / (to->seconds - from->seconds);
    from = to;
  }
  return slopes;
}

/// The verdict on a sequence of lows.
struct Verdict {
  GrowthShape shape = GrowthShape::kUncertain;
  double probability = 1;
  double rising = 0;
  double step_at = 0;  // for kStep: end of the step, in seconds
};

Verdict judge(const Points& lows) {
  Verdict verdict;
  std::vector<double> changes;
  double risen = 0;
  double largest = 0;
  std::size_t rises = 0;
  for (std::size_t i = 1; i < lows.size(); ++i) {
    const double change = lows[i].amount - lows[i - 1].amount;
    if (change == 0) continue;  // no direction
    changes.push_back(change);
    if (change < 0) continue;
    ++rises;
    risen += change;
    if (change <= largest) continue;
    largest = change;
    verdict.step_at = lows[i].seconds;
  }
  if (changes.empty() || lows.back().amount <= lows.front().amount) {
    verdict.shape = GrowthShape::kStill;
    return verdict;
  }
  verdict.rising = static_cast<double>(rises) / static_cast<double>(changes.size());
  verdict.probability = probability_of(changes);
  if (largest >= kStepShare * risen) {
    verdict.shape = GrowthShape::kStep;
    return verdict;
  }
  const std::array<double, 3> thirds = thirds_of(lows);
  const double fastest = std::max(thirds[0], thirds[1]);
  if (thirds[0] > 0 && thirds[2] <= 0) {
    verdict.shape = thirds[1] >= 0 ? GrowthShape::kEnded : GrowthShape::kUncertain;
  } else if (thirds[0] > 0 && thirds[1] > 0 && thirds[2] < kLevelShare * fastest) {
    verdict.shape = GrowthShape::kLevelsOff;
  } else if (thirds[0] > 0 && thirds[1] > 0) {
    verdict.shape = GrowthShape::kSteady;
  }
  return verdict;
}

/// The slope of least squares, which is quick; only its rough size matters.
double rough_slope_of(std::span<const GrowthPoint> points) {
  GrowthPoint mean;
  for (const GrowthPoint& point : points) {
    mean.seconds += point.seconds / static_cast<double>(points.size());
    mean.amount += point.amount / static_cast<double>(points.size());
  }
  double product = 0;
  double square = 0;
  for (const GrowthPoint& point : points) {
    product += (point.seconds - mean.seconds) * (point.amount - mean.amount);
    square += (point.seconds - mean.seconds) * (point.seconds - mean.seconds);
  }
  return square > 0 ? product / square : 0;
}

/// The lows of cycles that are small compared with the growth, as of a heap that is collected every few seconds. Empty: too
/// few.
Points lows_of_small_cycles(std::span<const GrowthPoint> points) {
  Points rest(points.begin(), points.end());
  const double slope = rough_slope_of(points);
  for (GrowthPoint& point : rest) point.amount -= slope * point.seconds;
  Points lows = falls_of(points, range_of(rest)).lows;
  if (lows.size() < kMinGrowthPoints) lows.clear();
  return lows;
}

void find_largest_fall(std::span<const GrowthPoint> points, std::span<const double> reclaimed, GrowthTest& test) {
  std::size_t peak = 0;
  std::size_t fell_from = 0;
  std::size_t fell_to = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].amount >= points[peak].amount) peak = i;
    if (points[peak].amount - points[i].amount <= test.largest_fall) continue;
    test.largest_fall = points[peak].amount - points[i].amount;
    fell_from = peak;
    fell_to = i;
  }
  test.fell_at = points[fell_to].seconds;
  if (reclaimed.size() != points.size()) return;
  test.fell_in_reclaim = test.largest_fall > 0 && reclaimed[fell_to] > reclaimed[fell_from];
  test.was_reclaimed = reclaimed.back() > reclaimed.front();
}

/// The part of the window for the next test: without its first third, or from the end of the step on.
std::span<const GrowthPoint> without_start(std::span<const GrowthPoint> points, const Verdict& verdict) {
  std::size_t skipped = points.size() / 3;
  if (verdict.shape == GrowthShape::kStep) {
    while (skipped < points.size() && points[skipped].seconds < verdict.step_at) ++skipped;
  }
  return points.subspan(skipped);
}

}  // namespace

std::string_view to_string(GrowthShape shape) {
  switch (shape) {
    case GrowthShape::kTooShort: return "too_short";
    case GrowthShape::kStill: return "still";
    case GrowthShape::kSteady: return "steady";
    case GrowthShape::kStep: return "step";
    case GrowthShape::kEnded: return "ended";
    case GrowthShape::kLevelsOff: return "levels_off";
    case GrowthShape::kCycle: return "cycle";
    case GrowthShape::kGivenBack: return "given_back";
    case GrowthShape::kUncertain: return "uncertain";
  }
  return "uncertain";
}

GrowthTest test_growth(std::span<const GrowthPoint> points, std::span<const double> reclaimed) {
  GrowthTest test;
  if (points.empty()) return test;
  test.gain = points.back().amount - points.front().amount;
  test.since = points.front().seconds;
  if (points.size() < kMinGrowthPoints || points.back().seconds <= points.front().seconds) return test;
  find_largest_fall(points, reclaimed, test);
  const Falls falls = falls_of(points, range_of(points));
  const bool is_cycle = falls.peaks.size() >= 2;
  const double start = points.front().amount;
  const bool is_below_peak = falls.peaks.size() == 1 && points.back().amount <= falls.peaks[0].amount;
  if (is_below_peak && falls.peaks[0].amount > start &&
      falls.lows.back().amount - start <= 0.5 * (falls.peaks[0].amount - start)) {
    test.shape = GrowthShape::kGivenBack;
    return test;
  }
  if (test.gain <= 0 && !is_cycle) {
    test.shape = GrowthShape::kStill;
    return test;
  }
  if (test.fell_in_reclaim && test.largest_fall >= kReclaimShare * (points.back().amount - start + test.largest_fall)) {
    test.shape = GrowthShape::kGivenBack;
    return test;
  }
  std::span<const GrowthPoint> rest = points;
  Points lows = is_cycle ? falls.lows : lows_of_parts(rest);
  Verdict verdict = judge(lows);
  test.shape = verdict.shape;
  for (int skips = 1; !is_cycle && skips <= kMaxSkips; ++skips) {
    const bool is_start_up = verdict.shape == GrowthShape::kLevelsOff || verdict.shape == GrowthShape::kStep;
    if (!is_start_up) break;
    rest = without_start(rest, verdict);
    if (rest.size() < kMinGrowthPoints) break;
    Points later = lows_of_parts(rest);
    verdict = judge(later);
    verdict.probability = std::min(1.0, verdict.probability * (skips + 1));
    if (verdict.shape != GrowthShape::kSteady) continue;
    test.shape = GrowthShape::kSteady;
    test.since = rest.front().seconds;
    lows = std::move(later);
    break;
  }
  const bool is_open = verdict.shape == GrowthShape::kUncertain || verdict.shape == GrowthShape::kSteady;
  if (!is_cycle && is_open && verdict.probability > kFalseDiscoveryRate / 2) {
    Points small = lows_of_small_cycles(points);
    Verdict of_small = small.empty() ? Verdict() : judge(small);
    of_small.probability = std::min(1.0, 2 * of_small.probability);  // the second attempt
    if (of_small.shape == GrowthShape::kSteady && of_small.probability < verdict.probability) {
      test.shape = GrowthShape::kSteady;
      test.since = points.front().seconds;
      verdict = of_small;
      lows = std::move(small);
    }
  }
  test.probability = verdict.probability;
  test.rising = verdict.rising;
  test.per_second = slope_of(lows);
  if (is_cycle && test.shape != GrowthShape::kSteady) test.shape = GrowthShape::kCycle;
  return test;
}

double control_discoveries(std::span<const double> probabilities, double rate) {
  std::vector<double> sorted(probabilities.begin(), probabilities.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = sorted.size(); i-- > 0;) {
    if (sorted[i] <= rate * static_cast<double>(i + 1) / static_cast<double>(sorted.size())) return sorted[i];
  }
  return 0;
}

}  // namespace memstat
