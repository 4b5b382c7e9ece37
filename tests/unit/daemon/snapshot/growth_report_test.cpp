// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/growth_report.h"

#include <gtest/gtest.h>

namespace memstat {
namespace {

TEST(GrowthReport, PredictsNoMoreThanTwelveTimesWhatWasWatched) {
  GrowthReport report;
  report.seconds = 2;
  report.available = 1000;
  report.series.resize(1);
  report.series[0].limit_left = 240;
  Growth row;
  row.per_second = row.test.per_second = 10;
  EXPECT_EQ(seconds_to_limit(report, row), 24);
  EXPECT_FALSE(seconds_to_exhaustion(report, row)) << "100 s";
  report.seconds = 9;
  EXPECT_EQ(seconds_to_exhaustion(report, row), 100);
}

}  // namespace
}  // namespace memstat
