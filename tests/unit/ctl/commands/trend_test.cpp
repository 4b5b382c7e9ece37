// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/trend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace memstat::ctl {
namespace {

template <typename Amount>
std::vector<TrendPoint> points_of(std::size_t count, Amount amount, double seconds_apart = 10) {
  std::vector<TrendPoint> points;
  for (std::size_t i = 0; i < count; ++i) {
    points.push_back({.seconds = static_cast<double>(i) * seconds_apart, .amount = amount(static_cast<double>(i))});
  }
  return points;
}

TEST(Trend, OfASteadyGrowthIsItsSlope) {
  const auto trend = trend_of(points_of(20, [](double i) { return 1000 + 50 * i; }));
  ASSERT_TRUE(trend);
  EXPECT_DOUBLE_EQ(trend->per_second, 5);
  EXPECT_GT(trend->confidence, 0.999);
  EXPECT_DOUBLE_EQ(trend->rising, 1);
  EXPECT_DOUBLE_EQ(trend->gain, 950);
  EXPECT_TRUE(trend->is_growth());
}

TEST(Trend, OfFivePointsIsAsSureAsChanceAllows) {
  const auto trend = trend_of(points_of(5, [](double i) { return i; }));
  ASSERT_TRUE(trend);
  EXPECT_NEAR(trend->confidence, 1 - 1.0 / 120, 0.01) << "one order of five in 120 rises all along";
  EXPECT_FALSE(trend_of(points_of(4, [](double i) { return i; }))) << "too few to tell";
}

TEST(Trend, ASpikeDoesNotMoveTheSlope) {
  const auto trend = trend_of(points_of(21, [](double i) { return i == 7 ? 1e9 : 10 * i; }));
  ASSERT_TRUE(trend);
  EXPECT_NEAR(trend->per_second, 1, 0.05);
  EXPECT_TRUE(trend->is_growth());
}

TEST(Trend, WhatGoesUpAndDownIsNoGrowth) {
  for (const double period : {4.0, 7.0, 20.0}) {
    const auto trend = trend_of(points_of(41, [&](double i) { return 1000 + 100 * std::sin(6.2832 * i / period); }));
    ASSERT_TRUE(trend);
    EXPECT_FALSE(trend->is_growth()) << period;
  }
  const auto saw = trend_of(points_of(40, [](double i) { return std::fmod(i, 8) * 100; }));
  EXPECT_FALSE(saw->is_growth());
}

TEST(Trend, OneJumpIsNoGrowth) {
  for (const double at : {3.0, 15.0, 16.0, 27.0}) {
    const auto trend = trend_of(points_of(31, [&](double i) { return i < at ? 100.0 : 5000.0; }));
    EXPECT_FALSE(trend->is_growth()) << at;
  }
}

TEST(Trend, WhatStaysOrShrinksIsNoGrowth) {
  const auto flat = trend_of(points_of(10, [](double) { return 7.0; }));
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->per_second, 0);
  EXPECT_EQ(flat->confidence, 0);
  const auto down = trend_of(points_of(10, [](double i) { return 100 - i; }));
  EXPECT_LT(down->per_second, 0);
  EXPECT_FALSE(down->is_growth());
}

TEST(Trend, GrowthInSteepStepsIsGrowth) {
  EXPECT_TRUE(trend_of(points_of(30, [](double i) { return std::floor(i / 4) * 4096; }))->is_growth());
}

TEST(Trend, OfManyPointsLooksAtSomeWithTheFirstAndTheLast) {
  const auto trend = trend_of(points_of(
      5000, [](double i) { return 3 * i; }, 1));
  EXPECT_DOUBLE_EQ(trend->per_second, 3);
  EXPECT_DOUBLE_EQ(trend->gain, 3 * 4999);
}

}  // namespace
}  // namespace memstat::ctl
