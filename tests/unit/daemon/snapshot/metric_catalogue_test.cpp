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

TEST(MetricCatalogue, EachFigureIsUsedExactlyOnce) {
  std::map<MetricScope, std::multiset<std::size_t>> figures;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    figures[metric.scope == MetricScope::kSizeClass ? MetricScope::kType : metric.scope].insert(metric.figure);
  }
  // The page shows all 64 bits of a limit.
  figures[MetricScope::kType].insert(static_cast<std::size_t>(Field::kCountLimit64));
  const std::pair<MetricScope, std::size_t> counts[] = {{MetricScope::kType, kFigureCount},
                                                        {MetricScope::kCpu, kCpuMetricCount},
                                                        {MetricScope::kAllocator, 1},
                                                        {MetricScope::kNode, kNodeFieldCount},
                                                        {MetricScope::kSystem, system_metrics().size()},
                                                        {MetricScope::kDetail, 1}};
  for (const auto& [scope, count] : counts) {
    EXPECT_EQ(figures[scope].size(), count) << to_string(scope);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(figures[scope].count(i), 1U) << to_string(scope) << ' ' << i;
  }
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

TEST(MetricCatalogue, MetricsOfTheSystemAreFoundByTheirAddress) {
  ASSERT_GT(system_metrics().size(), 50U);
  for (std::size_t i = 0; i < system_metrics().size(); ++i) EXPECT_EQ(number_of(*system_metrics()[i]), i);
  constexpr SystemMetric kUndeclared{
      .facts = {.name = "memstat_undeclared", .tier = Tier::kDefault, .help = "A metric that no source declares."},
  };
  EXPECT_EQ(number_of(kUndeclared), system_metrics().size());
}

}  // namespace
}  // namespace memstat
