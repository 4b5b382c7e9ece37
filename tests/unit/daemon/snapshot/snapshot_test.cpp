// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/snapshot.h"

#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

class SnapshotTest : public testing::Test {
 protected:
  /// The figure's bits of the row that begins with `label`; nothing if there is no such row or figure.
  [[nodiscard]] std::optional<std::uint64_t> value(Figure figure, std::string_view type,
                                                   std::string_view allocator = "uma") const {
    const std::string label = "{allocator=\"" + std::string(allocator) + "\",type=\"" + std::string(type) + "\"";
    for (std::size_t row = 0; row < types_.snapshot.row_count(); ++row) {
      if (types_.snapshot.label(row) != label) continue;
      if (!types_.snapshot.has(figure, row)) return std::nullopt;
      return types_.snapshot.value(figure, row);
    }
    return std::nullopt;
  }
  [[nodiscard]] double growth(std::string_view type) const {
    return std::bit_cast<double>(*value(TrackedFigure::kGrowth, type));
  }

  /// `labels=bits` of each sample of the metric.
  [[nodiscard]] std::vector<std::string> samples(const SystemMetric& metric) const {
    std::vector<std::string> found;
    for (const Snapshot::MachineSample& sample : types_.snapshot.samples(metric)) {
      const NamedLabels labels = types_.snapshot.labels_at(sample.labels, metric.label_names());
      std::string text(labels.text);
      labels.for_each([&](std::string_view name, std::string_view label) {
        text += "|" + std::string(name) + "|" + std::string(label);
      });
      found.push_back(text + "=" + std::to_string(sample.bits));
    }
    return found;
  }
  /// `row label: node values` of each block that has the figure.
  [[nodiscard]] std::vector<std::string> nodes(NodeField field) const {
    std::vector<std::string> found;
    for (const Snapshot::NodeBlock& block : types_.snapshot.node_blocks()) {
      if (!block.figures.has(field)) continue;
      std::string text(types_.snapshot.label(block.row));
      for (std::uint32_t node = 0; node < block.count; ++node) {
        const std::uint64_t value = types_.snapshot.values(block, field)[node];
        text += value == kNoFigure ? " none" : " " + std::to_string(value);
      }
      found.push_back(text);
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> details() const {
    std::vector<std::string> found;
    for (const Snapshot::Detail& detail : types_.snapshot.details()) {
      EXPECT_TRUE(types_.snapshot.rows()[detail.row].has_detail);
      found.emplace_back(types_.snapshot.labels_at(detail.labels, {}).text);
    }
    return found;
  }
  using Texts = std::vector<std::string>;

  TrackedList types_;
};

TEST_F(SnapshotTest, HoldsEveryFigureOfAType) {
  using enum Field;
  constexpr Field kFields[] = {kBytes,      kCount,      kHeldBytes, kFree,     kZoneFree, kKegFree,  kNumAllocs,
                               kNumFrees,   kMemAlloced, kMemFreed,  kFailures, kSleeps,   kSleepers, kXDomain,
                               kCountLimit, kBytesLimit, kSize,      kRSize,    kSizeMask};
  const auto increase = [](Field field) -> std::uint64_t {
    return field == kCount ? 2 : field == kBytes || field == kNumAllocs || field == kFailures ? 1 : 0;
  };
  for (const std::uint64_t more : {0U, 1U}) {
    StagingBuilder staging;
    staging.type("a");
    std::uint64_t number = 100;
    for (const Field field : kFields) staging.figure(field, number++ + more * increase(field));
    types_.poll(staging);
  }
  std::uint64_t number = 100;
  for (const Field field : kFields) EXPECT_EQ(value(field, "a"), number++ + increase(field)) << to_string(field);
  EXPECT_EQ(value(TrackedFigure::kDeltaBytes, "a"), 1U);
  EXPECT_EQ(value(TrackedFigure::kDeltaObjects, "a"), 2U);
  EXPECT_EQ(value(TrackedFigure::kPeakBytes, "a"), 101U);
  EXPECT_EQ(value(TrackedFigure::kLimitHits, "a"), 1U);
  EXPECT_EQ(value(TrackedFigure::kResets, "a"), 0U);
  EXPECT_DOUBLE_EQ(growth("a"), 0.1);
}

TEST_F(SnapshotTest, DuplicatesAreOneRowOfSums) {
  for (const std::uint64_t more : {0U, 10U}) {
    types_.poll(StagingBuilder()
                    .type("a", {{Field::kBytes, 1 + more}, {Field::kNumAllocs, 10}, {Field::kSizeMask, 0b001}})
                    .type("b", {{Field::kBytes, 1000}})
                    .type("a", {{Field::kBytes, 2 + 2 * more}, {Field::kNumAllocs, 20}, {Field::kSizeMask, 0b101}}));
  }
  EXPECT_EQ(types_.snapshot.row_count(), 2U);
  EXPECT_EQ(value(Field::kBytes, "a"), 33U);
  EXPECT_EQ(value(TrackedFigure::kDeltaBytes, "a"), 30U);
  EXPECT_EQ(value(Field::kNumAllocs, "a"), 30U);
  EXPECT_EQ(value(Field::kSizeMask, "a"), 0b101U) << "the union";
  EXPECT_DOUBLE_EQ(growth("a"), 3.0);
  EXPECT_EQ(value(Field::kBytes, "b"), 1000U);
}

TEST_F(SnapshotTest, SizesThatDifferAmongDuplicatesAreWithheld) {
  types_.poll(StagingBuilder()
                  .type("same", {{Field::kRSize, 64}, {Field::kSize, 60}})
                  .type("same", {{Field::kRSize, 64}, {Field::kSize, 60}})
                  .type("differ", {{Field::kRSize, 64}, {Field::kSize, 60}})
                  .type("differ", {{Field::kRSize, 64}, {Field::kSize, 61}})
                  .type("differ", {{Field::kRSize, 64}, {Field::kSize, 60}}));
  EXPECT_EQ(value(Field::kRSize, "same"), 64U);
  EXPECT_EQ(value(Field::kSize, "same"), 60U);
  EXPECT_EQ(value(Field::kRSize, "differ"), 64U);
  EXPECT_FALSE(value(Field::kSize, "differ"));
}

TEST_F(SnapshotTest, NoLimitWhenAnyDuplicateIsUnlimited) {
  const auto limits = [this](std::initializer_list<std::uint64_t> of_each) {
    StagingBuilder staging;
    for (const std::uint64_t limit : of_each) {
      if (limit != 0) {
        staging.type("a", {{Field::kCount, 1}, {Field::kCountLimit, limit}});
      } else {
        staging.type("a", {{Field::kCount, 1}});
      }
    }
    types_.poll(staging);
    return value(Field::kCountLimit, "a");
  };
  EXPECT_EQ(limits({10, 20}), 30U);
  EXPECT_FALSE(limits({10, 0}));
  EXPECT_FALSE(limits({0, 10}));
  EXPECT_FALSE(limits({10, 0, 20}));
  EXPECT_EQ(limits({1, 2, 3}), 6U) << "nothing is left of the polls before";
}

TEST_F(SnapshotTest, OfTwoLimitsTheNearerOneDeterminesTheUsedShare) {
  const auto used = [this](std::initializer_list<std::pair<Field, std::uint64_t>> figures) {
    types_.poll(StagingBuilder().type("a", figures));
    const auto bits = value(TrackedFigure::kLimitUsed, "a");
    return bits ? std::optional(std::bit_cast<double>(*bits)) : std::nullopt;
  };
  using enum Field;
  // System V shared memory: two segments of 4096, and nearly all bytes.
  EXPECT_EQ(used({{kBytes, 998}, {kCount, 2}, {kBytesLimit, 1000}, {kCountLimit, 4096}}), 0.998);
  EXPECT_EQ(used({{kBytes, 1}, {kCount, 4000}, {kBytesLimit, 1000}, {kCountLimit, 4000}}), 1);
  EXPECT_EQ(used({{kBytes, 250}, {kBytesLimit, 1000}}), 0.25);
  EXPECT_EQ(used({{kCount, 3}, {kCountLimit, 10}}), 0.3);
  EXPECT_EQ(used({{kCount, 3}, {kFree, 6}, {kKegFree, 4}, {kCountLimit, 10}}), 0.5) << "caches count, free slabs do not";
  EXPECT_EQ(used({{kCount, 3}, {kFree, 1}, {kKegFree, 4}, {kCountLimit, 10}}), 0.3) << "read a moment apart";
  EXPECT_EQ(used({{kCount, 1}, {kCountLimit, 3}}), 0.3333);
  EXPECT_EQ(used({{kBytes, 250}, {kCountLimit, 10}}), std::nullopt) << "objects are not known";
  EXPECT_EQ(used({{kBytes, 250}, {kCount, 3}}), std::nullopt) << "no limit";
}

TEST_F(SnapshotTest, ALimitHasAllBitsWhereASourceHasThem) {
  const auto poll = [this](std::initializer_list<std::pair<Field, std::uint64_t>> figures) {
    types_.poll(StagingBuilder().type("a", figures));
  };
  using enum Field;
  constexpr std::uint64_t kWide = (std::uint64_t{1} << 32U) + 10;
  poll({{kBytes, 8}, {kCount, 1}, {kSize, 8}, {kCountLimit, 10}, {kBytesLimit, 80}, {kCountLimit64, kWide}});
  EXPECT_EQ(value(kCountLimit, "a"), kWide);
  EXPECT_EQ(value(kBytesLimit, "a"), kWide * 8);
  EXPECT_EQ(std::bit_cast<double>(*value(TrackedFigure::kLimitUsed, "a")), 0) << "10 would be a tenth";
  poll({{kBytes, 8}, {kCount, 1}, {kSize, 8}, {kCountLimit64, std::uint64_t{1} << 32U}});
  EXPECT_EQ(value(kCountLimit, "a"), std::uint64_t{1} << 32U) << "whose lower half is 0, so the other source has none";
  EXPECT_FALSE(value(TrackedFigure::kLimitConfigured, "a"));
}

TEST_F(SnapshotTest, OfTypesOfOneNameTheNearestToItsLimitCounts) {
  types_.poll(StagingBuilder()
                  .type("a", {{Field::kCount, 9}, {Field::kCountLimit, 10}})
                  .type("a", {{Field::kCount, 1}, {Field::kCountLimit, 10}}));
  EXPECT_EQ(std::bit_cast<double>(*value(TrackedFigure::kLimitUsed, "a")), 0.9);
  types_.poll(StagingBuilder().type("a", {{Field::kCount, 9}, {Field::kCountLimit, 10}}).type("a", {{Field::kCount, 1}}));
  EXPECT_FALSE(value(TrackedFigure::kLimitUsed, "a"));
}

TEST_F(SnapshotTest, AConfiguredLimitIsMarked) {
  types_.tracker.reconfigure(
      {.limit_of = [](const MemoryType&) { return ConfiguredLimit{.objects = 0, .bytes = 100}; }, .wants_cpus = {}});
  types_.poll(
      StagingBuilder().type("a", {{Field::kBytes, 150}}).type("b", {{Field::kBytes, 50}, {Field::kBytesLimit, 200}}));
  EXPECT_EQ(value(TrackedFigure::kLimitConfigured, "a"), 1U);
  EXPECT_EQ(std::bit_cast<double>(*value(TrackedFigure::kLimitUsed, "a")), 1.5);
  EXPECT_FALSE(value(TrackedFigure::kLimitConfigured, "b")) << "the kernel's own";
  // The kernel limits objects, the configuration bytes: it depends on which is nearer, since only the kernel's makes
  // anything fail.
  types_.poll(StagingBuilder()
                  .type("a", {{Field::kBytes, 99}, {Field::kCount, 1}, {Field::kCountLimit, 10}})
                  .type("b", {{Field::kBytes, 50}, {Field::kCount, 9}, {Field::kCountLimit, 10}}));
  EXPECT_EQ(value(TrackedFigure::kLimitConfigured, "a"), 1U);
  EXPECT_FALSE(value(TrackedFigure::kLimitConfigured, "b"));
}

TEST_F(SnapshotTest, RowsFollowTheTypesThatComeGoAndAreOmitted) {
  const auto poll = [this](std::initializer_list<std::string_view> names) {
    StagingBuilder staging;
    for (const std::string_view name : names) staging.type(std::string(name), {{Field::kBytes, name.size()}});
    types_.poll(staging);
  };
  const auto rows = [this] {
    std::vector<std::string> found;
    for (std::size_t row = 0; row < types_.snapshot.row_count(); ++row) {
      const RowLabels labels = types_.snapshot.rows()[row].labels(types_.snapshot.label_bytes().data());
      found.push_back(std::string(labels.escaped_type()) + "=" + std::to_string(types_.snapshot.value(Field::kBytes, row)));
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  poll({"a", "bb\"", "ccc"});
  const Texts all{"a=1", "bb\\\"=3", "ccc=3"};
  EXPECT_EQ(rows(), all);
  const std::array<std::uint8_t, 3> kept{1, 0, 0};
  types_.snapshot.keep_rows(kept);
  EXPECT_EQ(rows().size(), 1U);
  poll({"a", "bb\"", "ccc"});
  EXPECT_EQ(rows(), all) << "what was omitted is back";
  poll({"bb\"", "ccc", "dddd"});
  EXPECT_EQ(rows(), Texts({"bb\\\"=3", "ccc=3", "dddd=4"}));
  poll({"ccc"});
  EXPECT_EQ(rows(), Texts({"ccc=3"}));
}

TEST_F(SnapshotTest, TypesAndFiguresThatComeLaterFindRoom) {
  types_.poll(StagingBuilder().type("type 7", {{Field::kBytes, 7}}));
  EXPECT_EQ(value(Field::kBytes, "type 7"), 7U);
  for (const bool again : {false, true}) {
    StagingBuilder many;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 300; ++i) names.push_back("type " + std::to_string(i));
    for (std::uint64_t i = 0; i < 300; ++i) {
      if (i % 3 == 0) {
        many.type(names[i], {{Field::kFailures, 1000 + i}, {Field::kBytes, i}});
      } else {
        many.type(names[i], {{Field::kBytes, i}, {Field::kSizeMask, 2000 + i}});
      }
    }
    if (again) types_.snapshot.release();
    types_.poll(many);
    for (std::uint64_t i = 0; i < 300; ++i) {
      EXPECT_EQ(value(Field::kBytes, names[i]), i);
      EXPECT_EQ(value(Field::kFailures, names[i]), i % 3 == 0 ? std::optional(1000 + i) : std::nullopt);
      EXPECT_EQ(value(Field::kSizeMask, names[i]), i % 3 != 0 ? std::optional(2000 + i) : std::nullopt);
    }
  }
}

TEST_F(SnapshotTest, LabelsOfEvictedTypesAreMadeAnewForTheTypesThatTakeTheirPlace) {
  StagingBuilder first;
  first.type("first", {{Field::kBytes, 1}});
  StagingBuilder second;
  second.type("second", {{Field::kBytes, 2}});
  types_.poll(first);
  types_.poll(second);
  types_.evict_before(types_.generation);
  StagingBuilder third;
  third.type("third", {{Field::kBytes, 3}}).type("second", {{Field::kBytes, 2}});
  types_.poll(third);
  EXPECT_EQ(types_.snapshot.row_count(), 2U);
  EXPECT_EQ(value(Field::kBytes, "third"), 3U);
  EXPECT_EQ(value(Field::kBytes, "second"), 2U);
}

TEST_F(SnapshotTest, CpuFiguresOfDuplicatesAreAddedCpuByCpu) {
  types_.tracker.reconfigure({.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name() == "a"; }});
  StagingBuilder staging(CpuFieldMask(CpuField::kNumAllocs, CpuField::kFree), 3);
  staging.type("a", {{Field::kCount, 1}}, {{CpuField::kNumAllocs, {1, 2, 3}}, {CpuField::kFree, {10, 0, 30}}})
      .type("b", {{Field::kCount, 1}}, {{CpuField::kNumAllocs, {9, 9, 9}}})
      .type("a", {{Field::kCount, 1}}, {{CpuField::kNumAllocs, {100, 200, 300}}, {CpuField::kFree, {1, 2, 3}}});
  types_.poll(staging);
  types_.poll(staging);
  ASSERT_EQ(types_.snapshot.cpu_blocks().size(), 1U) << "b was not requested";
  const Snapshot::CpuBlock& block = types_.snapshot.cpu_blocks()[0];
  EXPECT_EQ(block.count, 3U);
  EXPECT_EQ(types_.snapshot.label(block.row), "{allocator=\"uma\",type=\"a\"");
  EXPECT_EQ(types_.snapshot.values(block, CpuField::kNumAllocs)[2], 303U);
  EXPECT_EQ(types_.snapshot.values(block, CpuField::kFree)[1], 2U);
  EXPECT_FALSE(block.figures.has(CpuField::kMemAlloced));
}

TEST_F(SnapshotTest, StatisticsOfAllSourcesAreTogetherByKindInTheOrderOfTheSources) {
  StagingBuilder first;
  first.statistic(kAccountedBytes, 1, {"slab"}).statistic(kTotalBytes, 100).statistic(kAccountedBytes, 2, {"page tables"});
  StagingBuilder second;
  second.statistic(kPartMissing, 1, {"slab"})
      .statistic(kAccountedBytes, 3, {"a\"\\\nb"})
      .statistic(kAccountedBytes, 4, {""});
  const StagedStatistics* both[] = {&first.staging().statistics(), &second.staging().statistics()};
  for (int i = 0; i < 2; ++i) {
    types_.builder.build(types_.list, types_.live, types_.live_cpu, 1, {}, types_.snapshot, {}, {.statistics = both});
    EXPECT_EQ(samples(kAccountedBytes),
              Texts({"{part=\"slab\"|part|slab=1", "{part=\"page tables\"|part|page tables=2",
                     "{part=\"a\\\"\\\\\\\\x0ab\"|part|a\\\"\\\\\\\\x0ab=3", "{part=\"\"|part|=4"}));
    EXPECT_EQ(samples(kTotalBytes), Texts({"=100"}));
    EXPECT_EQ(samples(kPartMissing), Texts({"{part=\"slab\"|part|slab=1"})) << "another kind may have the same labels";
    EXPECT_EQ(samples(kUnaccountedBytes), Texts());
  }
  types_.builder.build(types_.list, types_.live, types_.live_cpu, 1, {}, types_.snapshot, {}, {});
  EXPECT_EQ(samples(kAccountedBytes), Texts()) << "nothing is left of the snapshot before";
}

TEST_F(SnapshotTest, OfStatisticsWithTheSameLabelsTheFirstCounts) {
  StagingBuilder first;
  first.statistic(kAccountedBytes, 1, {"slab"}).statistic(kAccountedBytes, 2, {"slab"}).statistic(kTotalBytes, 3);
  StagingBuilder second;
  second.statistic(kAccountedBytes, 4, {"other"}).statistic(kAccountedBytes, 5, {"slab"}).statistic(kTotalBytes, 6);
  const StagedStatistics* both[] = {&first.staging().statistics(), &second.staging().statistics()};
  types_.builder.build(types_.list, types_.live, types_.live_cpu, 1, {}, types_.snapshot, {}, {.statistics = both});
  EXPECT_EQ(samples(kAccountedBytes), Texts({"{part=\"slab\"|part|slab=1", "{part=\"other\"|part|other=4"}));
  EXPECT_EQ(samples(kTotalBytes), Texts({"=3"}));
}

TEST_F(SnapshotTest, StatisticsMayChangeTheirValuesAndTheirLabels) {
  StagedStatistics statistics;
  const StagedStatistics* all[] = {&statistics};
  const auto poll = [&](std::initializer_list<std::string_view> parts, std::uint64_t value) {
    statistics.clear();
    for (const std::string_view part : parts) statistics.add(kAccountedBytes, value++, {part});
    types_.builder.build(types_.list, types_.live, types_.live_cpu, 1, {}, types_.snapshot, {}, {.statistics = all});
    return samples(kAccountedBytes);
  };
  EXPECT_EQ(poll({"a", "b", "a"}, 1), Texts({"{part=\"a\"|part|a=1", "{part=\"b\"|part|b=2"}));
  EXPECT_EQ(poll({"a", "b", "a"}, 5), Texts({"{part=\"a\"|part|a=5", "{part=\"b\"|part|b=6"}));
  EXPECT_EQ(poll({"a", "c"}, 7), Texts({"{part=\"a\"|part|a=7", "{part=\"c\"|part|c=8"}));
  EXPECT_EQ(poll({"c"}, 9), Texts({"{part=\"c\"|part|c=9"}));
}

TEST_F(SnapshotTest, ManyStatisticsAreAllThereOnce) {
  StagingBuilder staging;
  for (std::uint64_t i = 0; i < 3000; ++i) staging.statistic(kAccountedBytes, i, {i % 1000});
  types_.poll(staging);
  const auto all = types_.snapshot.samples(kAccountedBytes);
  ASSERT_EQ(all.size(), 1000U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].bits, i);
}

TEST_F(SnapshotTest, NodeFiguresOfDuplicatesAreSums) {
  StagingBuilder staging;
  staging.nodes(NodeFieldMask(NodeField::kHeldBytes, NodeField::kTotalObjects), 2);
  staging.type("a", {{Field::kBytes, 1}}).node(NodeField::kHeldBytes, {1, 2}).node(NodeField::kTotalObjects, {3, 4});
  staging.type("b", {{Field::kBytes, 1}}).node(NodeField::kHeldBytes, {10, 0});
  staging.type("a", {{Field::kBytes, 1}}).node(NodeField::kHeldBytes, {100, 200});
  for (int i = 0; i < 2; ++i) {
    types_.poll(staging);
    EXPECT_EQ(nodes(NodeField::kHeldBytes),
              Texts({"{allocator=\"uma\",type=\"a\" 101 202", "{allocator=\"uma\",type=\"b\" 10 0"}));
    EXPECT_EQ(nodes(NodeField::kTotalObjects),
              Texts({"{allocator=\"uma\",type=\"a\" 3 4", "{allocator=\"uma\",type=\"b\" 0 0"}));
    EXPECT_EQ(nodes(NodeField::kFree), Texts()) << "which no source gave";
  }
  types_.live_node[static_cast<std::size_t>(Allocator::kUma)].remove(NodeField::kTotalObjects);
  types_.poll(staging);
  EXPECT_EQ(nodes(NodeField::kTotalObjects), Texts()) << "its source is down";
  EXPECT_EQ(nodes(NodeField::kHeldBytes).size(), 2U);
}

TEST_F(SnapshotTest, DuplicatesThatKnowOfDifferentlyManyNodesAreSummedToo) {
  StagingBuilder many;
  many.nodes(NodeFieldMask(NodeField::kFree), 3);
  many.type("a", {{Field::kBytes, 1}}).node(NodeField::kFree, {1, 2, 3});
  types_.poll(many);
  StagingBuilder one;  // the newer one, which is later on the page, never had more than one node
  one.nodes(NodeFieldMask(NodeField::kFree), 1);
  one.type("a", {{Field::kBytes, 1}})
      .node(NodeField::kFree, {10})
      .type("a", {{Field::kBytes, 1}})
      .node(NodeField::kFree, {20});
  types_.poll(one);
  EXPECT_EQ(nodes(NodeField::kFree), Texts({"{allocator=\"uma\",type=\"a\" 30 none none"}));
}

TEST_F(SnapshotTest, ADetailIsShownWhenAllTypesOfTheNameHaveIt) {
  StagingBuilder staging;
  staging.type("none", {{Field::kBytes, 1}});
  staging.type("one", {{Field::kBytes, 1}}).detail("a\"b");
  staging.type("same", {{Field::kBytes, 1}}).detail("s").type("same", {{Field::kBytes, 1}}).detail("s");
  staging.type("differ", {{Field::kBytes, 1}}).detail("d").type("differ", {{Field::kBytes, 1}}).detail("e");
  staging.type("half", {{Field::kBytes, 1}}).detail("h").type("half", {{Field::kBytes, 1}});
  for (int i = 0; i < 2; ++i) {
    types_.poll(staging);
    EXPECT_EQ(details(),
              Texts({"{allocator=\"uma\",type=\"same\",detail=\"s\"", "{allocator=\"uma\",type=\"one\",detail=\"a\\\"b\""}));
  }
  types_.has_details = {};
  types_.poll(staging);
  EXPECT_EQ(details(), Texts());
}

TEST_F(SnapshotTest, NodesAndDetailsStayWithTheirRowsWhenOthersGo) {
  StagingBuilder staging;
  staging.nodes(NodeFieldMask(NodeField::kFree), 1);
  for (const char* name : {"e", "d", "c", "b", "a"}) {
    staging.type(name, {{Field::kBytes, 1}}).node(NodeField::kFree, {static_cast<std::uint64_t>(name[0])});
    if (*name != 'c') staging.detail(std::string("of ") + name);
  }
  types_.poll(staging);
  const std::uint8_t keep[] = {0, 1, 1, 0, 1};
  types_.snapshot.keep_rows(keep);
  EXPECT_EQ(nodes(NodeField::kFree), Texts({"{allocator=\"uma\",type=\"b\" 98", "{allocator=\"uma\",type=\"c\" 99",
                                            "{allocator=\"uma\",type=\"e\" 101"}));
  EXPECT_EQ(details(),
            Texts({"{allocator=\"uma\",type=\"b\",detail=\"of b\"", "{allocator=\"uma\",type=\"e\",detail=\"of e\""}));
  EXPECT_EQ(types_.snapshot.details()[1].row, 2U);
  const std::uint8_t last[] = {0, 0, 1};
  types_.snapshot.keep_rows(last);
  EXPECT_EQ(details().size(), 1U);
  EXPECT_EQ(types_.snapshot.details()[0].row, 0U);
  EXPECT_EQ(nodes(NodeField::kFree).size(), 1U);
}

}  // namespace
}  // namespace memstat
