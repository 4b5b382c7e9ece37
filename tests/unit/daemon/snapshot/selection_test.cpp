// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/selection.h"

#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// Polled types, and those of them that are listed.
struct PolledSelection {
  explicit PolledSelection(DeltaTracker::Options options) : types(std::move(options)) {}
  void select(const RenderOptions& rendered) {
    if (selection.choose(rendered, types.now_ns, types.builder.listings(), types.snapshot))
      types.snapshot.keep_rows(selection.kept());
  }
  [[nodiscard]] std::set<std::string> labels() const {
    std::set<std::string> labels;
    for (std::size_t row = 0; row < types.snapshot.row_count(); ++row) labels.emplace(types.snapshot.label(row));
    return labels;
  }
  TrackedList types;
  Selection selection;
};

/// Types of uma with their bytes; those with "cpu" in front have per-CPU values.
class SelectionTest : public testing::Test, protected PolledSelection {
 protected:
  SelectionTest()
      : PolledSelection(
            {.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name().starts_with("cpu"); }}) {}
  using Types = std::vector<std::pair<std::string, std::uint64_t>>;

  void poll(const Types& sizes, std::chrono::nanoseconds after = seconds(10)) {
    StagingBuilder staging;
    for (const auto& [name, bytes] : sizes) staging.type(name, {{Field::kBytes, bytes}});
    poll(staging, after);
  }
  void poll(const StagingBuilder& staging, std::chrono::nanoseconds after = seconds(10)) {
    types.poll(staging, after);
    select(rendered_);
    types.page(rendered_);
  }
  [[nodiscard]] std::vector<std::string> listed() const {
    std::vector<std::string> names;
    for (const Snapshot::Row& row : types.snapshot.rows()) {
      names.emplace_back(row.labels(types.snapshot.label_bytes().data()).escaped_type());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] std::uint64_t unlisted() const {
    return types.snapshot.unlisted[static_cast<std::size_t>(Allocator::kUma)].bytes.value();
  }

  /// Only bytes: one series per type, and the sum of unlisted types.
  RenderOptions rendered_{.tier = Tier::kMinimal};
};

TEST_F(SelectionTest, AnAllocatorOfWhichNoBytesAreKnownHasNoSum) {
  poll(StagingBuilder().type("a", {{Field::kCount, 1}}));
  EXPECT_FALSE(types.snapshot.unlisted[static_cast<std::size_t>(Allocator::kUma)].bytes);
  poll(Types());
  EXPECT_FALSE(types.snapshot.unlisted[static_cast<std::size_t>(Allocator::kUma)].bytes) << "no types at all";
}

TEST_F(SelectionTest, ATypeIsListedFromMinBytesOnAndUntilAnHourBelowHalfOfIt) {
  selection.configure({.min_bytes = 1000});
  poll({{"a", 999}, {"b", 1000}});
  EXPECT_THAT(listed(), ElementsAre("b"));
  EXPECT_EQ(unlisted(), 999U);
  EXPECT_EQ(types.snapshot.series_dropped, 0U) << "that belongs to the other limit";
  poll({{"a", 1000}, {"b", 500}}, minutes(600));
  EXPECT_THAT(listed(), ElementsAre("a", "b")) << "half is enough, for ever";
  poll({{"a", 1}, {"b", 499}}, minutes(59));
  EXPECT_THAT(listed(), ElementsAre("a", "b")) << "not yet an hour";
  poll({{"a", 500}, {"b", 499}}, minutes(1));
  EXPECT_THAT(listed(), ElementsAre("a"));
  EXPECT_EQ(unlisted(), 499U);
  poll({{"a", 499}, {"b", 999}}, minutes(59));
  EXPECT_THAT(listed(), ElementsAre("a")) << "a's hour began again, b must reach all of it";
  poll({{"a", 499}, {"b", 1000}}, minutes(1));
  EXPECT_THAT(listed(), ElementsAre("b"));
}

TEST_F(SelectionTest, ANewMinBytesIsInForceWithTheNextPollAndOtherChangesLeaveItAlone) {
  poll({{"a", 10}, {"b", 2000}});
  selection.configure({.min_bytes = 1000});
  poll({{"a", 10}, {"b", 2000}});
  EXPECT_THAT(listed(), ElementsAre("b")) << "without an hour";
  selection.configure({.min_bytes = 1000, .series_limit = 500});
  poll({{"a", 10}, {"b", 20}});
  EXPECT_THAT(listed(), ElementsAre("b")) << "its hour continues";
  selection.configure({});
  poll({{"a", 10}, {"b", 20}});
  EXPECT_THAT(listed(), ElementsAre("a", "b"));
}

TEST_F(SelectionTest, ATypeThatFailedWaitedOrHitItsLimitStaysListed) {
  selection.configure({.min_bytes = 1000});
  const auto staging = [](std::uint64_t failures, std::uint64_t sleeps) {
    auto made = std::make_unique<StagingBuilder>();
    made->type("fails", {{Field::kBytes, 1}, {Field::kFailures, 5 + failures}})
        .type("sleeps", {{Field::kBytes, 1}, {Field::kSleeps, 5 + sleeps}})
        .type("calm", {{Field::kBytes, 1}, {Field::kFailures, 5}, {Field::kSleeps, 5}});
    return made;
  };
  poll(*staging(0, 0));
  EXPECT_THAT(listed(), IsEmpty()) << "failures before memstatd's start do not count";
  poll(*staging(1, 0));
  EXPECT_THAT(listed(), ElementsAre("fails"));
  poll(*staging(1, 1));
  EXPECT_THAT(listed(), ElementsAre("fails", "sleeps"));
  poll(*staging(1, 1), minutes(600));
  EXPECT_THAT(listed(), ElementsAre("fails", "sleeps")) << "an operator has more than an hour to look";
  EXPECT_EQ(unlisted(), 1U);
}

TEST_F(SelectionTest, ACrossedLimitOfTheConfigurationCountsToo) {
  types.tracker.reconfigure({.limit_of = [](const MemoryType&) { return ConfiguredLimit{.bytes = 100}; }, .wants_cpus = {}});
  selection.configure({.min_bytes = 1000});
  for (const std::uint64_t bytes : {50U, 150U, 50U}) poll({{"a", bytes}});
  EXPECT_THAT(listed(), ElementsAre("a"));
}

TEST_F(SelectionTest, ATypeOfWhichNoBytesAreKnownIsNotTooSmall) {
  selection.configure({.min_bytes = 1000});
  poll(StagingBuilder().type("a", {{Field::kCount, 1}}));
  EXPECT_THAT(listed(), ElementsAre("a"));
}

TEST_F(SelectionTest, TheLimitDropsTheSmallestAndSumsThem) {
  selection.configure({.series_limit = 4});
  poll({{"a", 30}, {"b", 10}, {"c", 50}, {"d", 20}, {"e", 40}});
  EXPECT_THAT(listed(), ElementsAre("a", "c", "e"));
  EXPECT_EQ(unlisted(), 30U);
  EXPECT_EQ(types.snapshot.series_dropped, 2U);
  EXPECT_EQ(types.snapshot.series, 4U);
  selection.configure({.series_limit = 6});
  poll({{"a", 30}, {"b", 10}, {"c", 50}, {"d", 20}, {"e", 40}});
  EXPECT_THAT(listed(), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_EQ(types.snapshot.series_dropped, 0U);
}

TEST_F(SelectionTest, AListedTypeStaysUntilAnotherIsClearlyLarger) {
  selection.configure({.series_limit = 2});
  constexpr std::uint64_t kMega = 1'000'000;
  poll({{"a", kMega}, {"b", kMega - 1}});
  EXPECT_THAT(listed(), ElementsAre("a"));
  poll({{"a", kMega}, {"b", kMega * 5 / 4}});
  EXPECT_THAT(listed(), ElementsAre("a"));
  poll({{"a", kMega}, {"b", kMega * 5 / 4 + 4096}});
  EXPECT_THAT(listed(), ElementsAre("a")) << "the listed one wins a tie";
  poll({{"a", kMega}, {"b", kMega * 5 / 4 + 4097}});
  EXPECT_THAT(listed(), ElementsAre("b"));
  poll({{"a", kMega * 5 / 4}, {"b", kMega}});
  EXPECT_THAT(listed(), ElementsAre("b")) << "and the same the other way";
  poll({{"a", 1}});
  EXPECT_THAT(listed(), ElementsAre("a")) << "there is room again";
}

TEST_F(SelectionTest, FiguresAndCpusStayWithTheirTypesWhenRowsGo) {
  StagingBuilder staging(CpuFieldMask(CpuField::kNumAllocs), 2);
  staging.type("cpu-c", {{Field::kBytes, 300}, {Field::kNumFrees, 3}}, {{CpuField::kNumAllocs, {31, 32}}})
      .type("b", {{Field::kBytes, 1}, {Field::kNumFrees, 2}})
      .type("cpu-a", {{Field::kBytes, 1}, {Field::kNumFrees, 2}}, {{CpuField::kNumAllocs, {1, 2}}})
      .type("d", {{Field::kBytes, 400}});
  rendered_.tier = Tier::kDefault;
  selection.configure({.series_limit = 7});
  poll(staging);
  const std::string page(page_of(types.snapshot, kFallbackFormat));
  EXPECT_EQ(page.find("\"b\""), std::string::npos);
  for (const char* line :
       {"memstat_type_bytes{allocator=\"uma\",type=\"cpu-c\"} 300\n",
        "memstat_type_bytes{allocator=\"uma\",type=\"d\"} 400\n", "memstat_unlisted_bytes{allocator=\"uma\"} 2\n",
        "memstat_type_frees_total{allocator=\"uma\",type=\"cpu-c\"} 3\n",
        "memstat_cpu_allocations_total{allocator=\"uma\",type=\"cpu-c\",cpu=\"0\"} 31\n",
        "memstat_cpu_allocations_total{allocator=\"uma\",type=\"cpu-c\",cpu=\"1\"} 32\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
  EXPECT_EQ(types.snapshot.series, 6U);
}

/// Bounds of uma, the allocator of these tests.
Selection::Options bounds_of_uma(const AllocatorBounds& bounds, std::uint64_t min_bytes = 0) {
  Selection::Options options{.min_bytes = min_bytes};
  options.allocators[static_cast<std::size_t>(Allocator::kUma)] = bounds;
  return options;
}

TEST_F(SelectionTest, TheTopOfAnAllocatorIsListedAndTheRestSummed) {
  selection.configure(bounds_of_uma({.top = 2}));
  poll({{"a", 10}, {"b", 40}, {"c", 20}, {"d", 30}});
  EXPECT_THAT(listed(), ElementsAre("b", "d"));
  EXPECT_EQ(unlisted(), 30U);
  EXPECT_EQ(types.snapshot.series, 3U);
  EXPECT_EQ(types.snapshot.series_dropped, 0U) << "that belongs to the limit";
  poll({{"a", 10}, {"b", 40}});
  EXPECT_THAT(listed(), ElementsAre("a", "b")) << "no more than allowed";
  selection.configure(bounds_of_uma({.top = 1}));
  poll({{"a", 5}, {"b", 5}});
  EXPECT_THAT(listed(), ElementsAre("a")) << "of equal ones the first of the alphabet";
}

TEST_F(SelectionTest, ABoundIsItsAllocatorsOnly) {
  types.live[static_cast<std::size_t>(Allocator::kSlab)] = kEveryField;
  StagingBuilder slabs;
  slabs.type("s1", {{Field::kBytes, 1}}).type("s2", {{Field::kBytes, 2}}).type("s3", {{Field::kBytes, 3}});
  Selection::Options options = bounds_of_uma({.top = 1, .min_bytes = 10});
  options.allocators[static_cast<std::size_t>(Allocator::kSlab)] = {.top = 2};
  selection.configure(options);
  types.allocator = Allocator::kSlab;
  types.commit(slabs);
  types.allocator = Allocator::kUma;
  poll({{"a", 9}, {"b", 20}, {"c", 30}});
  EXPECT_THAT(listed(), ElementsAre("c", "s2", "s3"));
  EXPECT_EQ(unlisted(), 29U);
  EXPECT_EQ(types.snapshot.unlisted[static_cast<std::size_t>(Allocator::kSlab)].bytes.value(), 1U);
}

TEST_F(SelectionTest, ATypeInTroubleIsListedInAdditionToTheTop) {
  selection.configure(bounds_of_uma({.top = 1, .min_bytes = 5}));
  for (const std::uint64_t failures : {0U, 1U}) {
    poll(StagingBuilder()
             .type("large", {{Field::kBytes, 100}})
             .type("middle", {{Field::kBytes, 50}})
             .type("fails", {{Field::kBytes, 1}, {Field::kFailures, failures}}));
  }
  EXPECT_THAT(listed(), ElementsAre("fails", "large")) << "and took no other type's place";
  EXPECT_EQ(unlisted(), 50U);
}

TEST_F(SelectionTest, TheLargerOfBothMinBytesHoldsAndAChangeOfOneIsItsAllocatorsOnly) {
  selection.configure(bounds_of_uma({.min_bytes = 1000}, 10));
  poll({{"a", 999}, {"b", 1000}});
  EXPECT_THAT(listed(), ElementsAre("b"));
  poll({{"a", 999}, {"b", 500}});
  EXPECT_THAT(listed(), ElementsAre("b")) << "half is enough";
  Selection::Options other = bounds_of_uma({.min_bytes = 1000}, 20);
  other.allocators[static_cast<std::size_t>(Allocator::kSlab)].min_bytes = 7;
  selection.configure(other);
  poll({{"a", 999}, {"b", 500}});
  EXPECT_THAT(listed(), ElementsAre("b")) << "nothing has changed for uma";
  selection.configure(bounds_of_uma({.min_bytes = 10}, 600));
  poll({{"a", 999}, {"b", 500}});
  EXPECT_THAT(listed(), ElementsAre("a"));
}

TEST_F(SelectionTest, TheTopIsTakenBeforeTheLimitOnSeries) {
  Selection::Options options = bounds_of_uma({.top = 3});
  options.series_limit = 3;
  selection.configure(options);
  poll({{"a", 5}, {"b", 4}, {"c", 3}, {"d", 2}, {"e", 1}});
  EXPECT_THAT(listed(), ElementsAre("a", "b"));
  EXPECT_EQ(types.snapshot.series_dropped, 1U) << "c; the others are not due to the limit";
  EXPECT_EQ(unlisted(), 6U);
}

TEST_F(SelectionTest, FiguresOfTheMachineCountAgainstTheLimitAndAreNotDropped) {
  StagingBuilder staging;
  for (const char* part : {"x", "y", "z"}) staging.statistic(kAccountedBytes, 1, {part});
  staging.type("a", {{Field::kBytes, 1}}).type("b", {{Field::kBytes, 2}});
  selection.configure({.series_limit = 5});
  poll(staging);
  EXPECT_THAT(listed(), ElementsAre("b"));
  EXPECT_EQ(types.snapshot.series, 5U);
  EXPECT_EQ(types.snapshot.series_dropped, 1U);
  selection.configure({.series_limit = 2});
  poll(staging);
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_EQ(types.snapshot.series, 3U) << "more than the limit, but they belong to no type";
  EXPECT_EQ(types.snapshot.series_dropped, 2U);
  EXPECT_EQ(machine_series_of({.types = false}, types.snapshot), 0U);
}

/// Random kernels: the page always stays within the limit, and every byte is accounted for.
TEST(SelectionProperty, TheLimitHoldsAndDroppedSeriesAreCounted) {
  std::mt19937_64 random(4);
  const auto upto = [&](std::uint64_t most) { return random() % (most + 1); };
  for (int kernel = 0; kernel < 60; ++kernel) {
    const std::uint32_t cpus = 1 + static_cast<std::uint32_t>(upto(8));
    PolledSelection polled(
        {.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name().size() % 3 == 0; }});
    TrackedList& types = polled.types;
    types.size_classes = {16, 32, 64};
    RenderOptions rendered{.tier = static_cast<Tier>(upto(2)), .per_cpu = upto(3) != 0, .size_classes = upto(1) != 0};
    for (int poll = 0; poll < 15; ++poll) {
      const std::uint64_t limit = upto(4) == 0 ? 1 + upto(3) : 1 + upto(600);
      const std::uint64_t min_bytes = upto(1) * upto(3000);
      polled.selection.configure({.min_bytes = min_bytes, .series_limit = limit});
      StagingBuilder staging(CpuFieldMask(CpuField::kNumAllocs, CpuField::kFree), cpus);
      staging.nodes(NodeFieldMask(NodeField::kFree, NodeField::kTotalObjects), static_cast<std::uint32_t>(upto(3)));
      std::uint64_t sum = 0;
      const std::uint64_t count = upto(80);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string name(1 + upto(40), static_cast<char>('a' + upto(2)));
        const std::uint64_t bytes = upto(1) == 0 ? upto(5000) : upto(2) * 1000;
        sum += bytes;
        if (upto(1) == 0) {
          staging.type(name, {{Field::kBytes, bytes}, {Field::kFailures, upto(3)}, {Field::kSizeMask, upto(7)}},
                       {{CpuField::kFree, {1}}});
        } else {
          staging.type(name, {{Field::kBytes, bytes}, {Field::kCount, 1}, {Field::kFree, 2}, {Field::kRSize, upto(1)}});
        }
        if (upto(2) == 0) staging.detail(std::to_string(upto(1)));
      }
      types.poll(staging, minutes(static_cast<long>(upto(50))));
      std::uint64_t wanted = 0;
      for (std::size_t row = 0; row < types.snapshot.row_count(); ++row) {
        wanted += series_of(rendered, types.snapshot, row);
      }
      const std::size_t rows_before = types.snapshot.row_count();
      types.page(rendered);
      ASSERT_EQ(types.snapshot.series, wanted) << "a type costs as many series as it writes";
      polled.select(rendered);
      types.page(rendered);
      ASSERT_LE(types.snapshot.series, limit);
      std::uint64_t listed = 0;
      for (std::size_t row = 0; row < types.snapshot.row_count(); ++row) {
        listed += types.snapshot.value(Field::kBytes, row);
      }
      if (count == 0) {
        ASSERT_EQ(types.snapshot.series, 0U);
        continue;
      }
      ASSERT_EQ(listed + types.snapshot.unlisted[static_cast<std::size_t>(Allocator::kUma)].bytes.value(), sum);
      if (min_bytes == 0) {
        ASSERT_EQ(types.snapshot.series - 1 + types.snapshot.series_dropped, wanted);
      }
      if (types.snapshot.series_dropped == 0 && min_bytes == 0) {
        ASSERT_EQ(types.snapshot.row_count(), rows_before);
      }
    }
  }
}

TEST(SelectionProperty, FiguresThatJitterByAFewPerCentMoveNoSeries) {
  std::mt19937_64 random(5);
  for (const Selection::Options& options : {Selection::Options{.min_bytes = 1'000'000, .series_limit = 150},
                                            bounds_of_uma({.top = 50, .min_bytes = 1'000'000})}) {
    std::map<std::string, std::uint64_t> bytes;
    for (int i = 0; i < 200; ++i) bytes["type" + std::to_string(i)] = random() % 20'000'000;
    PolledSelection polled(
        {.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name().ends_with('7'); }});
    polled.selection.configure(options);
    std::set<std::string> before;
    for (int poll = 0; poll < 40; ++poll) {
      StagingBuilder staging(CpuFieldMask(CpuField::kFree), 20);
      for (const auto& [name, usual] : bytes) {
        staging.type(name, {{Field::kBytes, usual - usual / 20 + random() % (usual / 10 + 1)}, {Field::kFree, 0}});
      }
      polled.types.poll(staging);
      polled.select({.tier = Tier::kDefault});
      const std::set<std::string> now = polled.labels();
      ASSERT_LT(now.size(), 200U);
      // The second poll has deltas and growth, which the first lacks, so a type has two or three more series.
      if (poll > 1) {
        ASSERT_EQ(now, before) << "poll " << poll;
      }
      before = now;
    }
  }
}

TEST(SelectionProperty, TheSelectionEqualsThatOfASort) {
  std::mt19937_64 random(6);
  for (int kernel = 0; kernel < 200; ++kernel) {
    PolledSelection polled(
        {.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name().size() % 4 == 0; }});
    TrackedList& types = polled.types;
    const std::uint64_t limit = 2 + random() % 120;
    StagingBuilder staging(CpuFieldMask(CpuField::kFree), 1 + static_cast<std::uint32_t>(random() % 30));
    for (std::uint64_t i = random() % 100; i > 0; --i) {
      const std::string name = std::to_string(i) + std::string(random() % 5, 'x');
      if (random() % 3 == 0) {
        staging.type(name, {{Field::kBytes, random() % 50}});
      } else {
        staging.type(name, {{Field::kBytes, random() % 50}, {Field::kCount, 1}, {Field::kFailures, 1}});
      }
    }
    types.poll(staging);
    const RenderOptions rendered{.tier = Tier::kMinimal};
    struct Type {
      std::uint64_t bytes;
      std::string label;
      std::uint64_t series;
    };
    std::vector<Type> sorted;
    for (std::size_t row = 0; row < types.snapshot.row_count(); ++row) {
      sorted.push_back({types.snapshot.value(Field::kBytes, row), std::string(types.snapshot.label(row)),
                        series_of(rendered, types.snapshot, row)});
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const Type& a, const Type& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.label < b.label; });
    std::uint64_t room = limit - (sorted.empty() ? 0 : 1);
    std::set<std::string> expected;
    for (const Type& type : sorted) {
      if (type.series > room) continue;
      room -= type.series;
      expected.insert(type.label);
    }
    polled.selection.configure({.series_limit = limit});
    polled.select(rendered);
    ASSERT_EQ(polled.labels(), expected) << kernel;
  }
}

}  // namespace
}  // namespace memstat
