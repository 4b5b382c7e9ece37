// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/metric_catalogue.h"

#include "config/values.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(MetricCatalogue, NamesAreUniqueAndFollowPrometheussRules) {
  std::set<std::string> names;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    const std::string name(metric.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    const std::string prefix = metric.scope == MetricScope::kCpu         ? "memstat_cpu_"
                               : metric.scope == MetricScope::kAllocator ? "memstat_"
                               : metric.scope == MetricScope::kSystem    ? "memstat_"
                               : metric.scope == MetricScope::kNode      ? "memstat_node_"
                                                                         : "memstat_type_";
    EXPECT_TRUE(name.starts_with(prefix)) << name;
    EXPECT_LE(name.size(), 64U) << name << " is too long for the name of a metric";
    EXPECT_EQ(metric.kind == MetricKind::kCounter, name.ends_with("_total")) << name;
    for (const char* reserved : {"_count", "_sum", "_bucket", "_created", "_info"})
      EXPECT_FALSE(name.ends_with(reserved)) << name;
    if (metric.unit.empty()) continue;
    const std::string stem = name.ends_with("_total") ? name.substr(0, name.size() - 6) : name;
    EXPECT_TRUE(stem.ends_with("_" + std::string(metric.unit))) << name << " must end in its unit";
  }
}

TEST(MetricCatalogue, HelpIsOneSentenceThatNeedsNoEscape) {
  std::set<std::string> texts;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    EXPECT_TRUE(texts.emplace(metric.help).second) << "the same help twice: " << metric.help;
    EXPECT_GT(metric.help.size(), 20U) << metric.name;
    EXPECT_LE(metric.name.size(), kMaxMetricNameSize);
    EXPECT_EQ(metric.help.find_first_of("\\\n\"\t"), std::string_view::npos) << metric.name;
    EXPECT_TRUE(metric.help.ends_with('.')) << metric.name;
  }
}

TEST(MetricCatalogue, EachFigureIsUsedExactlyOnce) {
  std::multiset<std::size_t> figures;
  std::multiset<std::size_t> cpu_figures;
  std::multiset<std::size_t> allocator_figures;
  std::multiset<std::size_t> node_figures;
  std::multiset<std::size_t> statistics;
  std::multiset<std::size_t> details;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    (metric.scope == MetricScope::kCpu         ? cpu_figures
     : metric.scope == MetricScope::kAllocator ? allocator_figures
     : metric.scope == MetricScope::kNode      ? node_figures
     : metric.scope == MetricScope::kSystem    ? statistics
     : metric.scope == MetricScope::kDetail    ? details
                                               : figures)
        .insert(metric.figure);
  }
  // The page shows all 64 bits of a limit.
  constexpr auto kWithoutMetric = static_cast<std::size_t>(Field::kCountLimit64);
  for (std::size_t i = 0; i < kFigureCount; ++i) EXPECT_EQ(figures.count(i), i == kWithoutMetric ? 0U : 1U) << i;
  for (std::size_t i = 0; i < kCpuMetricCount; ++i) EXPECT_EQ(cpu_figures.count(i), 1U) << i;
  for (std::size_t i = 0; i < kAllocatorFigureCount; ++i) EXPECT_EQ(allocator_figures.count(i), 1U) << i;
  for (std::size_t i = 0; i < kNodeFieldCount; ++i) EXPECT_EQ(node_figures.count(i), 1U) << i;
  for (std::size_t i = 0; i < system_metrics().size(); ++i) EXPECT_EQ(statistics.count(i), 1U) << i;
  EXPECT_EQ(details.size(), 1U);
  EXPECT_EQ(node_figures.size(), kNodeFieldCount);
  EXPECT_EQ(statistics.size(), system_metrics().size());
  EXPECT_EQ(allocator_figures.size(), kAllocatorFigureCount);
  EXPECT_EQ(figures.size(), kFigureCount - 1);
  EXPECT_EQ(cpu_figures.size(), kCpuMetricCount);
}

/// Promised from 1.0.0 on: names, and the tier of each.
TEST(MetricCatalogue, HoldsEveryPromisedMetricInItsTier) {
  const std::pair<Tier, std::string> promised[] = {
      {Tier::kMinimal,
       "type_bytes type_objects type_failures_total type_limit_objects type_limit_bytes type_limit_hits_total "
       "unlisted_bytes accounted_bytes unaccounted_bytes"},
      {Tier::kDefault,
       "type_held_bytes type_free_objects type_keg_free_objects type_allocations_total type_frees_total type_sleeps_total "
       "type_object_footprint_bytes type_delta_bytes type_growth_bytes_per_second"},
      {Tier::kFull,
       "type_zone_free_objects type_allocated_bytes_total type_freed_bytes_total type_sleepers "
       "type_cross_domain_frees_total type_object_size_bytes type_size_class_used cpu_allocated_bytes_total "
       "cpu_freed_bytes_total cpu_allocations_total cpu_frees_total cpu_free_objects type_delta_objects type_peak_bytes "
       "type_resets_total node_held_bytes type_detail"}};
  std::map<std::string, Tier> have;
  for (const MetricDescriptor& metric : metric_catalogue()) have.emplace(metric.name, metric.tier);
  for (const auto& [tier, names] : promised) {
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      const auto found = have.find("memstat_" + name);
      ASSERT_NE(found, have.end()) << name;
      EXPECT_EQ(found->second, tier) << name;
    }
  }
}

TEST(MetricCatalogue, SizesAndLimitsHaveTheirRulesForDuplicates) {
  for (const MetricDescriptor& metric : metric_catalogue()) {
    const std::string name(metric.name);
    DuplicateRule expected = DuplicateRule::kSum;
    if (name.starts_with("memstat_type_") && name.find("limit_") != std::string::npos && metric.kind == MetricKind::kGauge)
      expected = DuplicateRule::kSumOfAll;
    if (name == "memstat_type_limit_used_ratio") expected = DuplicateRule::kMax;
    if (name == "memstat_type_limit_configured") expected = DuplicateRule::kSameOrNone;
    if (name.starts_with("memstat_type_object_")) expected = DuplicateRule::kSameOrNone;
    if (name == "memstat_type_slab_utilization_ratio") expected = DuplicateRule::kSameOrNone;
    if (metric.scope == MetricScope::kDetail) expected = DuplicateRule::kSameOrNone;
    EXPECT_EQ(metric.duplicates, expected) << name;
  }
}

TEST(MetricCatalogue, EveryMetricNamesItsLabels) {
  const std::map<MetricScope, std::vector<std::string_view>> usual{{MetricScope::kType, {"allocator", "type"}},
                                                                   {MetricScope::kCpu, {"allocator", "type", "cpu"}},
                                                                   {MetricScope::kAllocator, {"allocator"}},
                                                                   {MetricScope::kSizeClass, {"allocator", "type", "size"}},
                                                                   {MetricScope::kNode, {"allocator", "type", "node"}},
                                                                   {MetricScope::kDetail, {"allocator", "type", "detail"}}};
  std::set<std::string_view> scopes;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    scopes.insert(to_string(metric.scope));
    const std::span<const std::string_view> names = label_names(metric);
    const std::vector<std::string_view> labels(names.begin(), names.end());
    if (metric.scope != MetricScope::kSystem) {
      EXPECT_EQ(labels, usual.at(metric.scope)) << metric.name;
    }
    EXPECT_EQ(std::set<std::string_view>(labels.begin(), labels.end()).size(), labels.size()) << metric.name;
    for (const std::string_view label : labels) {
      EXPECT_EQ(label.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << metric.name;
      EXPECT_NE(label, "le") << "which is a histogram's";
    }
  }
  EXPECT_EQ(scopes.size(), kMetricScopeCount);
}

TEST(MetricCatalogue, MetricsOfTheSystemAreFoundByTheirAddress) {
  ASSERT_GT(system_metrics().size(), 50U);
  for (std::size_t i = 0; i < system_metrics().size(); ++i) EXPECT_EQ(number_of(*system_metrics()[i]), i);
  constexpr SystemMetric kUndeclared{
      .facts = {.name = "memstat_undeclared", .tier = Tier::kDefault, .help = "A metric that no source declares."},
  };
  EXPECT_EQ(number_of(kUndeclared), system_metrics().size());
}

TEST(MetricCatalogue, WordsAreThoseOfTheFormatsAndOfTheConfiguration) {
  EXPECT_EQ(to_string(MetricKind::kCounter), "counter");
  EXPECT_EQ(to_string(MetricKind::kGauge), "gauge");
  EXPECT_EQ(to_string(MetricScope::kSizeClass), "size_class");
  EXPECT_EQ(to_string(MetricScope::kAllocator), "allocator");
  for (const Tier tier : {Tier::kMinimal, Tier::kDefault, Tier::kFull}) EXPECT_EQ(*parse_tier(to_string(tier)), tier);
}

}  // namespace
}  // namespace memstat
