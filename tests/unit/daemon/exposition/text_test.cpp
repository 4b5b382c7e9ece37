// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>

#include "core/base/text.h"
#include "daemon/exposition/exposition.h"

#include "tests/support/page.h"
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

class TextExpositionTest : public testing::Test {
 protected:
  [[nodiscard]] std::optional<std::string> value(std::string_view metric, std::string_view type) {
    return type_value(types_.page(), metric, "uma", type);
  }
  TrackedList types_{{.limit_of = {}, .wants_cpus = [](const MemoryType&) { return true; }}};
};

TEST_F(TextExpositionTest, LabelValuesAreEscaped) {
  types_.poll(StagingBuilder()
                  .type("back\\slash", {{Field::kBytes, 1}})
                  .type("quo\"te", {{Field::kBytes, 2}})
                  .type("line\nfeed", {{Field::kBytes, 3}})
                  .type("tab\tr\xC3\xA9", {{Field::kBytes, 4}})
                  .type("bad\xFF", {{Field::kBytes, 5}}));
  EXPECT_EQ(value("bytes", "back\\\\slash"), "1");
  EXPECT_EQ(value("bytes", "quo\\\"te"), "2");
  EXPECT_EQ(value("bytes", "line\\\\x0afeed"), "3");
  EXPECT_EQ(value("bytes", "tab\\\\x09r\xC3\xA9"), "4");
  EXPECT_EQ(value("bytes", "bad\xEF\xBF\xBD"), "5");
  EXPECT_EQ(problem_of(types_.page()), "");
}

TEST_F(TextExpositionTest, NumbersAreExact) {
  const std::uint64_t max = ~std::uint64_t{0};
  StagingBuilder first;
  first.type("a", {{Field::kBytes, 1000}, {Field::kNumAllocs, max}, {Field::kCount, std::uint64_t{1} << 62U}});
  StagingBuilder second;
  second.type("a", {{Field::kBytes, 1}, {Field::kNumAllocs, max}, {Field::kCount, 0}});
  types_.poll(first);
  types_.poll(second);
  EXPECT_EQ(value("allocations_total", "a"), "18446744073709551615");
  EXPECT_EQ(value("delta_bytes", "a"), "-999");
  EXPECT_EQ(value("delta_objects", "a"), "-4611686018427387904");
  EXPECT_EQ(value("bytes", "a"), "1");
}

/// The text for a growth of `bytes` in `milliseconds`.
std::string growth_text(std::int64_t bytes, int milliseconds) {
  constexpr std::uint64_t kBase = std::uint64_t{1} << 62U;
  TrackedList types;
  StagingBuilder first;
  first.type("a", {{Field::kBytes, kBase}});
  StagingBuilder second;
  second.type("a", {{Field::kBytes, kBase + static_cast<std::uint64_t>(bytes)}});
  types.poll(first);
  types.poll(second, std::chrono::milliseconds(milliseconds));
  return type_value(types.page(), "growth_bytes_per_second", "uma", "a").value_or("not there");
}

TEST_F(TextExpositionTest, GrowthHasAtMostThreeDecimalsRoundedAndZeroHasNoSign) {
  for (const char* text : {"0", "7", "-7", "0.5", "-0.25", "0.125", "0.001", "1.005", "1.05"}) {
    EXPECT_EQ(growth_text(std::lround(std::strtod(text, nullptr) * 1000), 1'000'000), text);
  }
  EXPECT_EQ(growth_text(2, 3000), "0.667");
  EXPECT_EQ(growth_text(-2, 3000), "-0.667");
  EXPECT_EQ(growth_text(9996, 10'000'000), "1");
  EXPECT_EQ(growth_text(-1, 10'000'000), "0");
}

TEST_F(TextExpositionTest, GrowthOfAnySizeIsANumber) {
  for (const std::int64_t bytes : {std::int64_t{1} << 53, std::int64_t{1} << 61, -(std::int64_t{1} << 61)}) {
    const std::string text = growth_text(bytes, 1);
    EXPECT_DOUBLE_EQ(std::strtod(text.c_str(), nullptr), static_cast<double>(bytes) * 1000) << text;
  }
}

TEST_F(TextExpositionTest, TiersShowWhatTheCatalogueSays) {
  // A configured limit, because one of the kernel has one series fewer.
  types_.tracker.reconfigure({.limit_of =
                                  [](const MemoryType&) {
                                    return ConfiguredLimit{9, 9};
                                  },
                              .wants_cpus = [](const MemoryType&) { return true; }});
  for (int i = 0; i < 2; ++i) {
    StagingBuilder staging(kEveryCpuField, 1);
    staging.nodes(kEveryNodeField, 1);
    for (const SystemMetric* metric : system_metrics()) {
      const std::vector<std::uint64_t> counts(metric->buckets == nullptr ? 0 : metric->buckets->bounds.size() + 1);
      if (counts.empty()) {
        staging.statistic(*metric, 0, {"1", "2", "3", "4"});
      } else {
        staging.histogram(*metric, {.counts = counts}, {"1", "2", "3", "4"});
      }
    }
    staging.type("a");
    const FieldMask limits(Field::kCountLimit, Field::kBytesLimit, Field::kCountLimit64);
    for_each_of(kEveryField - limits, [&](Field field) { staging.figure(field, 1); });
    for_each_of(kEveryNodeField, [&](NodeField field) { staging.node(field, {1}); });
    staging.detail("d");
    types_.size_classes = {16};
    types_.poll(staging);
  }
  types_.snapshot.unlisted[static_cast<std::size_t>(Allocator::kUma)].bytes = 1;
  for (const Tier tier : {Tier::kMinimal, Tier::kDefault, Tier::kFull}) {
    const std::string page(types_.page({.tier = tier, .per_cpu = false, .size_classes = false}));
    std::size_t expected = 0;
    for (const MetricDescriptor& metric : metric_catalogue()) {
      const bool is_of_tier = metric.scope != MetricScope::kCpu && metric.scope != MetricScope::kSizeClass;
      const bool shown = is_of_tier && metric.tier <= tier;
      expected += shown ? series_per_sample(metric) : 0;
      EXPECT_EQ(page.find("# TYPE " + std::string(metric.name) + " ") != std::string::npos, shown)
          << metric.name << " at " << to_string(tier);
    }
    EXPECT_EQ(types_.snapshot.series, expected);
  }
  const std::string all(types_.page());
  for (const MetricDescriptor& metric : metric_catalogue()) {
    const std::string name = std::string(metric.name) + (metric.buckets == nullptr ? "" : "_bucket");
    EXPECT_THAT(all, HasSubstr("\n" + name + (label_names(metric).empty() ? " " : "{")));
  }
}

TEST_F(TextExpositionTest, CpuSeriesAreOneACpuAndOnlyWhereAskedFor) {
  types_.tracker.reconfigure({.limit_of = {}, .wants_cpus = [](const MemoryType& type) { return type.name() == "a"; }});
  StagingBuilder staging(CpuFieldMask(CpuField::kMemFreed, CpuField::kFree), 11);
  for (const char* name : {"a", "b"}) {
    staging.type(name, {{Field::kBytes, 1}},
                 {{CpuField::kMemFreed, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, {CpuField::kFree, {5}}});
  }
  types_.poll(staging);
  const std::string page(types_.page({.tier = Tier::kMinimal}));
  EXPECT_EQ(value_of(page, "memstat_cpu_freed_bytes_total{allocator=\"uma\",type=\"a\",cpu=\"10\"}"), "10");
  EXPECT_EQ(value_of(page, "memstat_cpu_freed_bytes_total{allocator=\"uma\",type=\"a\",cpu=\"0\"}"), "0");
  EXPECT_EQ(value_of(page, "memstat_cpu_free_objects{allocator=\"uma\",type=\"a\",cpu=\"0\"}"), "5");
  EXPECT_THAT(page, Not(HasSubstr("type=\"b\",cpu=")));
  EXPECT_THAT(page, Not(HasSubstr("memstat_cpu_allocations_total")));
  EXPECT_EQ(types_.snapshot.series, 2U + 2 * 11U);
  EXPECT_EQ(problem_of(page), "");
  EXPECT_THAT(std::string(types_.page({.tier = Tier::kFull, .per_cpu = false})), Not(HasSubstr("cpu=")));
}

TEST_F(TextExpositionTest, SizeClassesAreOneSeriesABitWithTheKernelsSizes) {
  types_.size_classes = {16, 32, 48, 65536};
  types_.poll(StagingBuilder().type("a", {{Field::kSizeMask, 0b11001}}).type("none", {{Field::kSizeMask, 0}}));
  const std::string page(types_.page());
  EXPECT_EQ(value_of(page, "memstat_type_size_class_used{allocator=\"uma\",type=\"a\",size=\"16\"}"), "1");
  EXPECT_EQ(value_of(page, "memstat_type_size_class_used{allocator=\"uma\",type=\"a\",size=\"65536\"}"), "1");
  EXPECT_EQ(types_.snapshot.series, 2U) << "the kernel did not report a size for bit 4";
  EXPECT_EQ(types_.page({.tier = Tier::kFull, .per_cpu = true, .size_classes = false}), "");
}

TEST_F(TextExpositionTest, LabelsOfTheMachineAreEscapedWhereverItIsNeeded) {
  StagingBuilder staging;
  std::vector<std::string> expected;
  for (const char special : {'\\', '"', '\n', '\t', '\x7f', '!', '#', '\x0b', '\xdc'}) {
    for (std::size_t length = 1; length < 20; ++length) {
      for (std::size_t place = 0; place < length; ++place) {
        std::string text(length, 'n');
        if (special == '\xdc') {
          text.replace(place, 1, "\xC3\x9C");  // whose bytes, except for the highest bit, are those of a backslash and more
        } else {
          text[place] = special;
        }
        std::string escaped;
        append_escaped_label_value(escaped, make_label_text(text));
        expected.push_back("memstat_accounted_bytes{part=\"" + escaped + "\"}");
        staging.statistic(kAccountedBytes, expected.size(), {text});
      }
    }
  }
  types_.poll(staging);
  const std::vector<std::string> lines = lines_of(types_.page());
  ASSERT_EQ(lines.size(), expected.size() + 2);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(lines[i + 2], expected[i] + " " + std::to_string(i + 1));
  }
}

}  // namespace
}  // namespace memstat
