// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/filter.h"

#include "daemon/exposition/exposition.h"
#include "daemon/snapshot/own_metrics.h"
#include "tests/support/page.h"
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

using testing::AllOf;
using Words = std::vector<std::string>;

/// Two allocators: uma with a, b, CPUs of b; slab with a and "odd\"\n".
class PageFilterTest : public testing::Test {
 protected:
  PageFilterTest() {
    for (const Allocator of : {Allocator::kUma, Allocator::kSlab}) {
      types_.live[static_cast<std::size_t>(of)] = kEveryField;
      types_.live_cpu[static_cast<std::size_t>(of)] = kEveryCpuField;
    }
    uma_.type("a", {{Field::kBytes, 1}, {Field::kCount, 2}}, {{CpuField::kFree, {1, 2}}})
        .type("b", {{Field::kBytes, 3}}, {{CpuField::kFree, {3, 4}}});
    slab_.type("a", {{Field::kBytes, 5}}).type("odd\"\n", {{Field::kBytes, 6}});
    types_.allocator = Allocator::kSlab;
    types_.commit(slab_);
    types_.allocator = Allocator::kUma;
    types_.poll(uma_);
    types_.snapshot.unlisted[static_cast<std::size_t>(Allocator::kUma)].bytes = 7;
    types_.snapshot.unlisted[static_cast<std::size_t>(Allocator::kSlab)].bytes = 8;
  }
  [[nodiscard]] Result<PageFilter> make(const Words& allocators, const Words& types, const Words& names) const {
    return PageFilter::make(types_.snapshot, {.allocators = allocators, .types = types, .names = names});
  }
  [[nodiscard]] std::string page(const Words& allocators, const Words& types, const Words& names,
                                 const RenderOptions& options = {}) const {
    const Result<PageFilter> filter = make(allocators, types, names);
    if (!filter) return filter.error().detail;
    Buffer out;
    const std::size_t series = render(ExpositionFormat::kText, options, *filter, types_.snapshot, out);
    std::string samples;
    std::size_t count = 0;
    for (const std::string& line : lines_of(out.view())) {
      if (line.starts_with("#")) continue;
      samples += line + "\n";
      ++count;
    }
    EXPECT_EQ(count, series);
    EXPECT_EQ(problem_of(out.view()), "");
    return samples;
  }
  [[nodiscard]] std::string refusal(const Words& allocators, const Words& types, const Words& names) const {
    const Result<PageFilter> filter = make(allocators, types, names);
    if (filter) return "(nothing)";
    EXPECT_EQ(filter.error().code, ErrorCode::kData);
    return filter.error().detail;
  }

  StagingBuilder uma_{CpuFieldMask(CpuField::kFree), 2};
  StagingBuilder slab_;
  TrackedList types_{{.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name() == "b"; }}};
};

TEST_F(PageFilterTest, AllocatorsOfAnotherSystemAreUnknown) {
  types_.snapshot.allocators_of_system = 1U << static_cast<unsigned>(Allocator::kSlab) |
                                         1U << static_cast<unsigned>(Allocator::kPage) |
                                         1U << static_cast<unsigned>(Allocator::kUnknown);
  EXPECT_EQ(refusal({"uma"}, {}, {}), "no allocator is called \"uma\"; there are: slab, page");
  EXPECT_EQ(refusal({"slap"}, {}, {}), "no allocator is called \"slap\"; did you mean \"slab\"? There are: slab, page");
  EXPECT_EQ(refusal({"slab"}, {}, {}), "(nothing)");
  EXPECT_EQ(refusal({"unknown"}, {}, {}), "no allocator is called \"unknown\"; there are: slab, page");
}

TEST_F(PageFilterTest, NothingChosenShowsAllInEveryFormat) {
  const Result<PageFilter> filter = make({}, {}, {});
  ASSERT_TRUE(filter);
  for (const ExpositionFormat format :
       {ExpositionFormat::kText, ExpositionFormat::kOpenMetrics, ExpositionFormat::kProtobuf}) {
    Buffer whole;
    Buffer filtered;
    const std::size_t series = render(format, {.tier = Tier::kFull}, types_.snapshot, whole);
    EXPECT_EQ(render(format, {.tier = Tier::kFull}, *filter, types_.snapshot, filtered), series);
    EXPECT_EQ(whole.view(), filtered.view());
    EXPECT_GT(series, 10U);
  }
  EXPECT_TRUE(filter->shows_own("memstat_series"));
}

TEST_F(PageFilterTest, AllocatorsAndTypesMustBothMatch) {
  EXPECT_EQ(page({"slab"}, {}, {"memstat_type_bytes"}),
            "memstat_type_bytes{allocator=\"slab\",type=\"odd\\\"\\\\x0a\"} "
            "6\nmemstat_type_bytes{allocator=\"slab\",type=\"a\"} 5\n");
  EXPECT_EQ(page({}, {"a"}, {"memstat_type_bytes"}),
            "memstat_type_bytes{allocator=\"uma\",type=\"a\"} 1\nmemstat_type_bytes{allocator=\"slab\",type=\"a\"} 5\n");
  EXPECT_EQ(page({"uma"}, {"a"}, {"memstat_type_bytes", "memstat_type_objects"}),
            "memstat_type_bytes{allocator=\"uma\",type=\"a\"} 1\nmemstat_type_objects{allocator=\"uma\",type=\"a\"} 2\n");
  EXPECT_EQ(page({"uma", "slab"}, {"odd\"\\x0a", "odd\"\\x0a"}, {"memstat_type_bytes"}),
            "memstat_type_bytes{allocator=\"slab\",type=\"odd\\\"\\\\x0a\"} 6\n")
      << "the listed name, not the page's escaped one; twice is permitted";
}

TEST_F(PageFilterTest, SumsOfAllocatorsAreShownUnlessTypesAreChosen) {
  EXPECT_EQ(page({}, {}, {"memstat_unlisted_bytes"}),
            "memstat_unlisted_bytes{allocator=\"uma\"} 7\nmemstat_unlisted_bytes{allocator=\"slab\"} 8\n");
  EXPECT_EQ(page({"slab"}, {}, {"memstat_unlisted_bytes"}), "memstat_unlisted_bytes{allocator=\"slab\"} 8\n");
  EXPECT_EQ(page({}, {"a"}, {"memstat_unlisted_bytes"}), "");
}

TEST_F(PageFilterTest, FiguresOfTheMachineAreShownUnlessAllocatorsOrTypesAreChosen) {
  StagingBuilder machine;
  machine.statistic(kAccountedBytes, 5, {"slab"}).statistic(kTotalBytes, 9);
  const StagedStatistics* statistics[] = {&machine.staging().statistics()};
  types_.builder.build(types_.list, types_.live, types_.live_cpu, types_.generation, {}, types_.snapshot, {},
                       {.statistics = statistics});
  const std::string part = "memstat_accounted_bytes{part=\"slab\"} 5\n";
  EXPECT_EQ(page({}, {}, {"memstat_accounted_bytes"}), part);
  EXPECT_THAT(page({}, {}, {}), AllOf(HasSubstr(part), HasSubstr("memstat_memory_total_bytes 9\n")));
  EXPECT_EQ(page({}, {}, {"memstat_memory_total_bytes", "memstat_type_objects"}),
            "memstat_type_objects{allocator=\"uma\",type=\"a\"} 2\nmemstat_memory_total_bytes 9\n");
  EXPECT_EQ(page({"uma"}, {}, {"memstat_accounted_bytes"}), "");
  EXPECT_EQ(page({}, {"a"}, {"memstat_accounted_bytes"}), "");
  EXPECT_THAT(page({"uma"}, {}, {}), Not(HasSubstr("memory_total")));
  EXPECT_EQ(page({}, {}, {"memstat_accounted_bytes"}, {.types = false}), "");
}

TEST_F(PageFilterTest, NodesAndDetailsAreTheirRows) {
  StagingBuilder staging;
  staging.nodes(NodeFieldMask(NodeField::kFree), 1);
  staging.type("a", {{Field::kBytes, 1}}).node(NodeField::kFree, {7}).detail("of a");
  staging.type("b", {{Field::kBytes, 3}}).node(NodeField::kFree, {8}).detail("of b");
  types_.poll(staging);
  const RenderOptions full{.tier = Tier::kFull, .per_cpu = false};
  EXPECT_EQ(page({"uma"}, {"b"}, {"memstat_node_free_objects", "memstat_type_detail"}, full),
            "memstat_node_free_objects{allocator=\"uma\",type=\"b\",node=\"0\"} 8\n"
            "memstat_type_detail{allocator=\"uma\",type=\"b\",detail=\"of b\"} 1\n");
  EXPECT_EQ(page({"slab"}, {}, {"memstat_node_free_objects", "memstat_type_detail"}, full), "");
}

TEST_F(PageFilterTest, TheDaemonsOwnMetricsMayBeNamed) {
  const Result<PageFilter> filter = make({}, {}, {"memstat_series"});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->shows_own("memstat_series"));
  EXPECT_FALSE(filter->shows_own("process_open_fds"));
  EXPECT_EQ(page({}, {}, {"memstat_series"}), "");
  EXPECT_TRUE(make({"uma"}, {"a"}, {})->shows_own("process_open_fds")) << "no name selected: they show the age of the page";
  EXPECT_FALSE(make({}, {}, {"memstat_type_bytes"})->shows_own("memstat_series"));
}

TEST_F(PageFilterTest, UnknownWordsAreRefusedWithWhatThereIs) {
  EXPECT_EQ(
      refusal({"slap"}, {}, {}),
      "no allocator is called \"slap\"; did you mean \"slab\"? There are: malloc, uma, slab, vmalloc, call_site, page, "
      "percpu, hugetlb, cma, zswap, memcg, socket, table, process, kmalloc_site, jail");
  EXPECT_EQ(
      refusal({"uma"}, {"nope-nope"}, {}),
      "no listed type is called \"nope-nope\"; there are: b, a. The keys filters, min_bytes and series_limit decide which "
      "types are listed");
  EXPECT_THAT(refusal({"uma"}, {"a", "odd\"\n"}, {}), HasSubstr("\"odd")) << "a type of another allocator";
  EXPECT_THAT(refusal({}, {}, {"memstat_type_byte"}),
              AllOf(StartsWith("no metric is called \"memstat_type_byte\"; did you mean \"memstat_type_bytes\", \""),
                    HasSubstr("memstatd --list-metrics"), Not(HasSubstr("sleepers"))));
  EXPECT_THAT(refusal({}, {}, {"proces_open_fds"}), HasSubstr("did you mean \"process_open_fds\""));
  EXPECT_EQ(refusal({}, {}, {"kmem"}),
            "no metric is called \"kmem\"; there are " + std::to_string(metric_catalogue().size() + own_metrics().size()) +
                ": memstatd --list-metrics prints all except those of memstatd itself, which are at the end of "
                "/metrics");
  const std::string long_word(100'000, 'm');
  EXPECT_LT(refusal({}, {}, {long_word}).size(), 1000U) << "comparing long words is expensive";
  EXPECT_THAT(refusal({}, {""}, {}), HasSubstr("\"\""));
  EXPECT_THAT(refusal({}, {"back\\slash\x01"}, {}), Not(HasSubstr("\x01")));
}

TEST_F(PageFilterTest, RefusalsAreAlwaysShort) {
  TrackedList many;
  StagingBuilder staging;
  for (int i = 0; i < 3000; ++i) staging.type(std::to_string(i) + std::string(300, 'x'), {{Field::kBytes, 1}});
  many.poll(staging);
  const std::string word(100'000, 'y');
  const Words types = {word};
  const auto refused = PageFilter::make(many.snapshot, {.allocators = {}, .types = types, .names = {}});
  ASSERT_FALSE(refused);
  EXPECT_LT(refused.error().detail.size(), 5000U);
  EXPECT_THAT(refused.error().detail, HasSubstr("and 2960 more"));
}

TEST_F(PageFilterTest, WhileNothingIsListedOfTheAllocatorNoTypeIsJudged) {
  EXPECT_EQ(refusal({"malloc"}, {"temp"}, {}), "(nothing)") << "its source may be down";
  EXPECT_EQ(page({"malloc"}, {"temp"}, {}), "");
  EXPECT_TRUE(PageFilter::make(Snapshot(), {.allocators = {}, .types = Words{"x"}, .names = {}}));
}

}  // namespace
}  // namespace memstat
