// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/evidence.h"

#include <gtest/gtest.h>

#include "core/diagnosis/diagnose.h"

namespace memstat {
namespace {

TEST(Evidence, FindsTheSamplesOfEachMetricThroughItsIndex) {
  Evidence evidence;
  const auto all = metrics_of_causes();
  for (std::size_t i = 0; i < all.size(); i += 2) {  // the others are absent
    for (std::size_t sample = 0; sample <= i % 3; ++sample) evidence.metrics.push_back({.metric = all[i]});
  }
  evidence.index.make(evidence.metrics);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string copy(all[i]);  // elsewhere in memory
    const auto found = evidence.samples(copy);
    ASSERT_EQ(found.size(), i % 2 == 0 ? i % 3 + 1 : 0) << copy;
    for (const MetricEvidence& one : found) EXPECT_EQ(one.metric, copy);
  }
  EXPECT_TRUE(evidence.samples("").empty());
  EXPECT_TRUE(evidence.samples("memstat_").empty());
  EXPECT_TRUE(evidence.samples("memstat_unknown_to_this_version_total").empty());
}

TEST(Evidence, OfNoSamplesHasAnIndexThatFindsNothing) {
  Evidence evidence;
  evidence.index.make(evidence.metrics);
  EXPECT_TRUE(evidence.samples(metrics_of_causes().front()).empty());
}

}  // namespace
}  // namespace memstat
