// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace memstat {
namespace {

using Amount = std::function<double(std::size_t)>;

/// Polls ten seconds apart.
std::vector<GrowthPoint> points_of(std::size_t count, const Amount& amount) {
  std::vector<GrowthPoint> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back({static_cast<double>(i) * 10, amount(i)});
  return points;
}

GrowthTest test_of(std::size_t count, const Amount& amount) { return test_growth(points_of(count, amount)); }

TEST(GrowthTest, AStraightRiseIsSteady) {
  const GrowthTest test = test_of(60, [](std::size_t i) { return 1000.0 + 100.0 * static_cast<double>(i); });
  EXPECT_EQ(test.shape, GrowthShape::kSteady);
  EXPECT_DOUBLE_EQ(test.per_second, 10);
  EXPECT_DOUBLE_EQ(test.gain, 5900);
  EXPECT_LT(test.probability, 1e-6);
  EXPECT_DOUBLE_EQ(test.rising, 1);
}

TEST(GrowthTest, FewPointsSayNothing) {
  EXPECT_EQ(test_of(kMinGrowthPoints - 1, [](std::size_t i) { return static_cast<double>(i); }).shape,
            GrowthShape::kTooShort);
  EXPECT_EQ(test_growth({}).shape, GrowthShape::kTooShort);
  EXPECT_EQ(test_of(kMinGrowthPoints, [](std::size_t i) { return static_cast<double>(i); }).shape, GrowthShape::kSteady);
}

TEST(GrowthTest, APaceIsOfTheTimesAndNotOfTheNumberOfPoints) {
  std::vector<GrowthPoint> points;
  for (const double seconds : {0.0, 10.0, 20.0, 30.0, 300.0, 600.0, 610.0, 620.0, 700.0, 800.0, 900.0, 905.0}) {
    points.push_back({seconds, 5 * seconds});
  }
  const GrowthTest test = test_growth(points);
  EXPECT_EQ(test.shape, GrowthShape::kSteady);
  EXPECT_DOUBLE_EQ(test.per_second, 5);
}

TEST(GrowthTest, AStepIsNotGrowth) {
  const GrowthTest test = test_of(60, [](std::size_t i) { return i < 25 ? 1000.0 : 90000.0; });
  EXPECT_EQ(test.shape, GrowthShape::kStep);
}

TEST(GrowthTest, AfterAStepGrowthIsFoundAndItsBeginningNamed) {
  const GrowthTest test = test_of(90, [](std::size_t i) { return i < 25 ? 1000.0 : 9e6 + 1000.0 * static_cast<double>(i); });
  EXPECT_EQ(test.shape, GrowthShape::kSteady);
  EXPECT_GE(test.since, 250);
  EXPECT_NEAR(test.per_second, 100, 1);
}

TEST(GrowthTest, WhatEndedInTheFirstHalfIsOver) {
  const GrowthTest test =
      test_of(60, [](std::size_t i) { return 100.0 * static_cast<double>(std::min<std::size_t>(i, 25)); });
  EXPECT_EQ(test.shape, GrowthShape::kEnded);
}

TEST(GrowthTest, StartUpLevelsOff) {
  const GrowthTest test = test_of(120, [](std::size_t i) { return 1e6 * (1 - std::exp(-static_cast<double>(i) / 20)); });
  EXPECT_TRUE(test.shape == GrowthShape::kLevelsOff || test.shape == GrowthShape::kEnded) << to_string(test.shape);
}

TEST(GrowthTest, GrowthAfterStartUpIsFound) {
  const GrowthTest test = test_of(
      180, [](std::size_t i) { return 1e6 * (1 - std::exp(-static_cast<double>(i) / 8)) + 500 * static_cast<double>(i); });
  EXPECT_EQ(test.shape, GrowthShape::kSteady);
  EXPECT_GT(test.since, 0);
  EXPECT_NEAR(test.per_second, 50, 5);
}

TEST(GrowthTest, ASawtoothIsACycleEvenWhenItEndsAtItsPeak) {
  const GrowthTest test = test_of(100, [](std::size_t i) { return 5000.0 + 300.0 * static_cast<double>(i % 34); });
  EXPECT_EQ(test.shape, GrowthShape::kCycle);
}

TEST(GrowthTest, OfASawtoothThatRisesTheLowsCount) {
  const GrowthTest test = test_of(
      200, [](std::size_t i) { return 5000.0 + 300.0 * static_cast<double>(i % 10) + 100.0 * static_cast<double>(i / 10); });
  EXPECT_EQ(test.shape, GrowthShape::kSteady);
  EXPECT_NEAR(test.per_second, 1, 0.2);
}

TEST(GrowthTest, OfSmallTeethTheLowsCountAlsoAfterALargerFall) {
  const auto heap = [](std::size_t i) {
    return 200.0 * static_cast<double>(i) + (i == 4 ? 500.0 : 0.0) + (i % 2 == 0 ? 600.0 : 0.0);
  };
  const GrowthTest test = test_of(20, heap);
  EXPECT_EQ(test.shape, GrowthShape::kSteady);
  EXPECT_LT(test.probability, 0.02);
  EXPECT_NEAR(test.per_second, 20, 4);
}

TEST(GrowthTest, FreedMemoryIsNotGrowthAndTheFallIsItsProof) {
  const auto cache = [](std::size_t i) {
    return i < 40 ? 1000.0 * static_cast<double>(i) : 4000.0 + 900.0 * static_cast<double>(i - 40);
  };
  const std::vector<GrowthPoint> points = points_of(80, cache);
  std::vector<double> reclaimed(80, 7);
  for (std::size_t i = 40; i < reclaimed.size(); ++i) reclaimed[i] = 9000;
  const GrowthTest test = test_growth(points, reclaimed);
  EXPECT_EQ(test.shape, GrowthShape::kGivenBack);
  EXPECT_DOUBLE_EQ(test.fell_at, 400);
  EXPECT_DOUBLE_EQ(test.largest_fall, 35000);
  EXPECT_TRUE(test.fell_in_reclaim);
  EXPECT_FALSE(test_growth(points).fell_in_reclaim) << "not known";
}

TEST(GrowthTest, ASmallFallDuringReclaimShowsThatItCanBeReclaimed) {
  const auto amount = [](std::size_t i) { return 1000.0 * static_cast<double>(i) - (i < 40 ? 0 : 9000); };
  std::vector<double> reclaimed(80, 7);
  for (std::size_t i = 40; i < reclaimed.size(); ++i) reclaimed[i] = 9000;
  EXPECT_EQ(test_growth(points_of(80, amount), reclaimed).shape, GrowthShape::kGivenBack);
  EXPECT_EQ(test_of(80, amount).shape, GrowthShape::kSteady) << "without reclaim such a fall proves little";
}

/// In random walks without drift, a rank correlation with time finds a trend in nearly half.
TEST(GrowthTest, OfRandomWalksFewLookSteady) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> step(0, 100);
  std::size_t steady = 0;
  constexpr std::size_t kWalks = 2000;
  for (std::size_t walk = 0; walk < kWalks; ++walk) {
    double amount = 1e6;
    const GrowthTest test = test_of(120, [&](std::size_t) { return amount += step(random); });
    if (test.shape == GrowthShape::kSteady && test.probability <= 0.01) ++steady;
  }
  EXPECT_LE(steady, kWalks / 100);
}

TEST(ControlDiscoveries, AllowsForTheNumberOfSeries) {
  std::vector<double> probabilities(1000, 0.7);
  probabilities[3] = 0.002;
  EXPECT_EQ(control_discoveries(probabilities), 0) << "one of 1000 is this small by chance";
  probabilities[7] = 1e-6;
  EXPECT_EQ(control_discoveries(probabilities), 1e-6);
  EXPECT_EQ(control_discoveries(std::vector<double>{0.002, 0.7}), 0.002) << "of two it is rare";
  EXPECT_EQ(control_discoveries({}), 0);
}

}  // namespace
}  // namespace memstat
