// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/system_metric.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "core/base/text.h"
#include "core/model/accounts.h"
#include "core/model/staging.h"

namespace memstat {
namespace {

TEST(SystemMetric, HasAsManyLabelsAsItNames) {
  EXPECT_EQ(kUnaccountedBytes.label_names().size(), 0U);
  ASSERT_EQ(kAccountedBytes.label_names().size(), 1U);
  EXPECT_EQ(kAccountedBytes.label_names()[0], "part");
  constexpr SystemMetric kFull{
      .facts = {.name = "memstat_x", .tier = Tier::kDefault, .help = "All labels that fit."},
      .labels = {"a", "b", "c", "d"},
  };
  EXPECT_EQ(kFull.label_names().size(), kMaxSystemMetricLabels);
}

TEST(Statistics, KeepValueAndLabelsInOrder) {
  StagedStatistics statistics;
  statistics.add(kAccountedBytes, 1, {"slab"});
  statistics.add(kAccountedBytes, 2, {std::uint64_t{18446744073709551615U}});
  statistics.add_signed(kUnaccountedBytes, -5);
  statistics.add_double(kUnaccountedBytes, 0.5, {"one label too many"});
  ASSERT_EQ(statistics.entries().size(), 4U);
  EXPECT_EQ(statistics.label(statistics.entries()[0], 0), "slab");
  EXPECT_EQ(statistics.label(statistics.entries()[1], 0), "18446744073709551615");
  EXPECT_EQ(static_cast<std::int64_t>(statistics.entries()[2].bits), -5);
  EXPECT_EQ(std::bit_cast<double>(statistics.entries()[3].bits), 0.5);
  EXPECT_EQ(statistics.label(statistics.entries()[3], 0), "");
  statistics.clear();
  statistics.add(kAccountedBytes, 3);
  EXPECT_EQ(statistics.label(statistics.entries()[0], 0), "") << "a label that was not given";
}

TEST(Statistics, TakeHostileLabels) {
  StagedStatistics statistics;
  statistics.add(kAccountedBytes, 1, {std::string_view("a\0b\xff\"\n", 6)});
  statistics.add(kAccountedBytes, 2, {std::string(StagedStatistics::kLongestLabel - 1, 'x') + "\xc3\xa4"});
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    EXPECT_TRUE(is_valid_label_text(statistics.label(entry, 0)));
    EXPECT_LE(statistics.label(entry, 0).size(), StagedStatistics::kLongestLabel);
  }
  EXPECT_EQ(statistics.label(statistics.entries()[1], 0).size(), StagedStatistics::kLongestLabel - 1) << "no half character";
}

TEST(Staging, KeepsFiguresOfNodes) {
  Staging staging;
  staging.reset({}, 0);
  staging.set_nodes(NodeFieldMask{NodeField::kHeldBytes, NodeField::kTotalObjects}, 3);
  staging.merge("b");
  staging.merge("a");
  staging.node_figure(staging.merge("b"), NodeField::kTotalObjects, 2) += 7;
  staging.node_figure(staging.merge("a"), NodeField::kHeldBytes, 0) = 5;
  staging.sort_by_name();
  EXPECT_EQ(staging.node_figure(staging.types()[0], NodeField::kHeldBytes, 0), 5U);
  EXPECT_EQ(staging.node_figure(staging.types()[0], NodeField::kTotalObjects, 2), 0U);
  EXPECT_EQ(staging.node_figure(staging.types()[1], NodeField::kTotalObjects, 2), 7U);
  staging.reset({}, 0);
  EXPECT_EQ(staging.node_count(), 0U);
  staging.set_nodes(NodeFieldMask{NodeField::kTotalObjects}, 5000);
  EXPECT_EQ(staging.node_count(), kMaxNodes);
}

}  // namespace
}  // namespace memstat
