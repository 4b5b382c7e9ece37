// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/system_metric.h"

#include "core/base/text.h"
#include "core/model/accounts.h"
#include "core/model/staging.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

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

TEST(Statistics, HaveTheShapeOfTheirMetricsAndLabels) {
  StagedStatistics statistics;
  const auto shape_of = [&statistics](std::initializer_list<std::string_view> parts) {
    statistics.clear();
    for (const std::string_view part : parts) statistics.add(kAccountedBytes, part.size(), {part});
    return statistics.shape();
  };
  const StagedStatistics::Shape two = shape_of({"slab", "free"});
  const StagedStatistics copy = statistics;
  EXPECT_EQ(shape_of({"slab", "free"}), two);
  EXPECT_NE(shape_of({"slab"}), two);
  EXPECT_NE(shape_of({"slab", "free"}), two) << "what the poll between did not have is new";
  const StagedStatistics::Shape again = statistics.shape();
  EXPECT_EQ(shape_of({"slab", "free"}), again);
  EXPECT_NE(shape_of({"slab", "freed"}), again);
  EXPECT_EQ(statistics.label(statistics.entries()[1], 0), "freed");
  EXPECT_EQ(statistics.entries()[1].bits, 5U);
  EXPECT_NE(shape_of({"slab", "fre"}), again);
  statistics.clear();
  statistics.add(kUnaccountedBytes, 1);
  EXPECT_NE(statistics.shape(), two);
  EXPECT_EQ(copy.shape(), two);
  EXPECT_EQ(StagedStatistics().shape(), StagedStatistics().shape());
}

TEST(Statistics, KeepTheirShapeWhileTheSameIsMerged) {
  StagedStatistics statistics;
  const auto merge = [&statistics](std::initializer_list<std::string_view> parts) {
    statistics.clear();
    for (const std::string_view part : parts) statistics.merge(kAccountedBytes, 1, {part});
    return statistics.shape();
  };
  const StagedStatistics::Shape shape = merge({"a", "b", "a", "c"});
  EXPECT_EQ(merge({"a", "b", "a", "c"}), shape);
  EXPECT_EQ(merge({"a", "b", "c", "a"}), shape) << "the same three";
  EXPECT_EQ(statistics.entries()[0].bits, 2U);
  EXPECT_NE(merge({"b", "a", "c"}), shape);
}

TEST(Statistics, TakeHostileLabels) {
  StagedStatistics statistics;
  statistics.add(kAccountedBytes, 1, {std::string_view("a\0b\xff\"\n", 6)});
  statistics.add(kAccountedBytes, 2, {std::string(StagedStatistics::kMaxLabelSize - 1, 'x') + "\xc3\xa4"});
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    EXPECT_TRUE(is_valid_label_text(statistics.label(entry, 0)));
    EXPECT_LE(statistics.label(entry, 0).size(), StagedStatistics::kMaxLabelSize);
  }
  EXPECT_EQ(statistics.label(statistics.entries()[1], 0).size(), StagedStatistics::kMaxLabelSize - 1) << "no half character";
}

TEST(Statistics, AddUpWhatLooksAlikeOnceRepaired) {
  constexpr SystemMetric kOther{.facts = {.name = "memstat_other", .help = "Another one."}, .labels = {"a", "b"}};
  StagedStatistics statistics;
  for (int round = 0; round < 2; ++round) {
    statistics.merge(kAccountedBytes, 1, {std::string_view("\x1b", 1)});
    statistics.merge(kOther, 2, {"x", "yz"});
    statistics.merge(kOther, 4, {"xy", "z"});
    statistics.merge(kAccountedBytes, 8, {std::string_view("\\x1b")});
    statistics.merge(kOther, 16, {"xy", "z"});
    ASSERT_EQ(statistics.entries().size(), 3U) << "labels of other lengths are others";
    EXPECT_EQ(statistics.entries()[0].bits, 9U);
    EXPECT_EQ(statistics.entries()[1].bits, 2U);
    EXPECT_EQ(statistics.entries()[2].bits, 20U);
    EXPECT_EQ(statistics.label(statistics.entries()[2], 0), "xy");
    EXPECT_TRUE(statistics.has(kOther, "xy"));
    EXPECT_FALSE(statistics.has(kOther, "xyz"));
    EXPECT_FALSE(statistics.has(kAccountedBytes, "xy"));
    statistics.clear();
  }
}

TEST(Statistics, TakeANewOneOnce) {
  StagedStatistics statistics;
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(statistics.add_new(kAccountedBytes, 1, {std::string_view("\x1b", 1)}));
    EXPECT_TRUE(statistics.add_new(kAccountedBytes, 2, {"b"}));
    EXPECT_FALSE(statistics.add_new(kAccountedBytes, 4, {"\\x1b"})) << "they look alike";
    statistics.merge(kAccountedBytes, 8, {"c"});
    EXPECT_FALSE(statistics.add_new(kAccountedBytes, 16, {"c"}));
    ASSERT_EQ(statistics.entries().size(), 3U);
    EXPECT_EQ(statistics.entries()[0].bits, 1U) << "it keeps the previous value";
    EXPECT_EQ(statistics.entries()[2].bits, 8U);
    statistics.clear();
  }
}

}  // namespace
}  // namespace memstat
