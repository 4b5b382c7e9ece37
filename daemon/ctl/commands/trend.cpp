// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/trend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace memstat::ctl {
namespace {

std::vector<TrendPoint> thinned(std::span<const TrendPoint> points) {
  if (points.size() <= kMostTrendPoints) return {points.begin(), points.end()};
  std::vector<TrendPoint> few;
  for (std::size_t i = 0; i < kMostTrendPoints; ++i) {
    few.push_back(points[i * (points.size() - 1) / (kMostTrendPoints - 1)]);
  }
  return few;
}

/// n (n - 1) (2 n + 5) / 18: what the variance of Mann-Kendall's S is made of.
double variance_term(std::size_t count) {
  const auto n = static_cast<double>(count);
  return n * (n - 1) * (2 * n + 5) / 18;
}

/// The variance of S; equal amounts make it smaller.
double variance_of(const std::vector<TrendPoint>& points) {
  std::vector<double> amounts;
  for (const TrendPoint& point : points) amounts.push_back(point.amount);
  std::sort(amounts.begin(), amounts.end());
  double variance = variance_term(amounts.size());
  for (std::size_t i = 0; i < amounts.size();) {
    const auto end = static_cast<std::size_t>(
        std::upper_bound(amounts.begin() + static_cast<std::ptrdiff_t>(i), amounts.end(), amounts[i]) - amounts.begin());
    variance -= variance_term(end - i);
    i = end;
  }
  return variance;
}

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

std::optional<Trend> trend_of(std::span<const TrendPoint> all) {
  if (all.size() < kLeastTrendPoints) return std::nullopt;
  const std::vector<TrendPoint> points = thinned(all);
  Trend trend;
  std::int64_t rises = 0;  // Mann-Kendall's S
  std::vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double more = points[j].amount - points[i].amount;
      rises += more > 0 ? 1 : more < 0 ? -1 : 0;
      slopes.push_back(more / (points[j].seconds - points[i].seconds));
    }
  }
  trend.per_second = median_of(slopes);
  const double variance = variance_of(points);
  if (rises > 0 && variance > 0) {
    // The normal distribution is a good likeness from five points on, when S is moved by one towards zero.
    const double deviation = static_cast<double>(rises - 1) / std::sqrt(variance);
    trend.confidence = 1 - std::erfc(deviation / std::sqrt(2.0)) / 2;
  }
  std::size_t risen = 0;
  for (std::size_t i = 1; i < points.size(); ++i) risen += points[i].amount > points[i - 1].amount ? 1U : 0U;
  trend.rising = static_cast<double>(risen) / static_cast<double>(points.size() - 1);
  const double middle = points[points.size() / 2].amount;
  trend.in_both_halves = middle > points.front().amount && points.back().amount > middle;
  trend.gain = points.back().amount - points.front().amount;
  return trend;
}

}  // namespace memstat::ctl
