// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/growth_ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/model/type_rules.h"

namespace memstat {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::size_t kPolls = 60;

/// 60 polls, a minute apart.
GrowthSeries series_of(const char* allocator, const char* name, const std::function<double(double)>& amount) {
  GrowthSeries series{.allocator = allocator, .name = name};
  for (std::size_t i = 0; i < kPolls; ++i) {
    const auto at = static_cast<double>(i);
    series.points.push_back({60 * at, amount(at)});
  }
  return series;
}

GrowthSeries rising(const char* allocator, const char* name, double objects, double object_bytes) {
  GrowthSeries series = series_of(allocator, name, [=](double i) { return (1000 + objects * i) * object_bytes; });
  series.object_bytes = object_bytes;
  return series;
}

std::vector<std::string> names(const std::vector<GrowthSeries>& series, const std::vector<Growth>& rows) {
  std::vector<std::string> names;
  for (const Growth& row : rows) names.push_back(series[row.series].allocator + " " + series[row.series].name);
  return names;
}

TEST(RankGrowth, PartsOfTheAccountRankWithTypes) {
  const std::vector<GrowthSeries> series{rising("slab", "kmalloc-64", 30, 64),
                                         series_of("account", "unaccounted", [](double i) { return 1e6 * i - 5e6; }),
                                         rising("memcg", "/web", 9, 4096)};
  const GrowthRanking ranking = rank_growth(series, {});
  EXPECT_THAT(names(series, ranking.growing), ElementsAre("account unaccounted", "memcg /web", "slab kmalloc-64"));
  EXPECT_EQ(ranking.moved, 3U);
}

TEST(RankGrowth, TypesThatGrowByAnObjectEachAreOneRow) {
  std::vector<GrowthSeries> series{rising("slab", "dentry", 50, 192), rising("slab", "filp", 50, 256),
                                   rising("slab", "lsm_file_cache", 50, 24), rising("slab", "kmalloc-8k", 3, 8192),
                                   rising("table", "files", 50, 0)};
  series[0].is_cache = true;
  series[4] = series_of("table", "files", [](double i) { return 1000 + 50 * i; });
  series[4].is_bytes = false;
  const GrowthRanking ranking = rank_growth(series, {});
  ASSERT_THAT(names(series, ranking.growing), ElementsAre("slab kmalloc-8k", "slab filp"));
  EXPECT_THAT(ranking.growing[1].together, UnorderedElementsAre(0U, 2U, 4U));
  EXPECT_DOUBLE_EQ(ranking.growing[1].gain, 50 * 59 * (192 + 256 + 24)) << "the table counts the same files once more";
  EXPECT_DOUBLE_EQ(ranking.growing[1].now, (1000 + 50 * 59) * (192 + 256 + 24)) << "of the same types";
  EXPECT_THAT(ranking.set_aside, IsEmpty());
}

TEST(RankGrowth, KmemIsExplainedByItsZonesAndCaches) {
  std::vector<GrowthSeries> series{rising("account", "kmem", 50, 1000), rising("uma", "socket", 30, 1000)};
  EXPECT_THAT(names(series, rank_growth(series, {}).growing), ElementsAre("uma socket"));
  series[1] = rising("uma", "VNODE", 30, 1000);
  series[1].is_cache = true;
  EXPECT_THAT(rank_growth(series, {}).growing, IsEmpty()) << "files that were written";
  series[1] = rising("uma", "malloc-64", 30, 1000);
  EXPECT_THAT(names(series, rank_growth(series, {}).growing), ElementsAre("account kmem", "uma malloc-64"))
      << "a zone of malloc(9) is the same memory as its types";
  series[1] = rising("malloc", "temp", 10, 1000);
  EXPECT_THAT(names(series, rank_growth(series, {}).growing), ElementsAre("account kmem", "malloc temp")) << "a fifth of it";
}

TEST(RankGrowth, ACacheIsSetAsideUntilReclaimLeavesItAsItIs) {
  std::vector<GrowthSeries> series{rising("slab", "dentry", 500, 192)};
  series[0].is_cache = true;
  EXPECT_THAT(names(series, rank_growth(series, {}).set_aside), ElementsAre("slab dentry"));
  std::vector<double> reclaimed;
  for (std::size_t i = 0; i < kPolls; ++i) reclaimed.push_back(static_cast<double>(1000 * i));
  EXPECT_THAT(names(series, rank_growth(series, {.reclaimed = reclaimed}).growing), ElementsAre("slab dentry"));
}

TEST(RankGrowth, AnExplainedTypeHasNoRowOfItsOwn) {
  const std::vector<GrowthSeries> series{rising("slab", "kmalloc-1k", 90, 1024),
                                         series_of("account", "slab_unreclaimable", [](double i) { return 100000 * i; }),
                                         series_of("account", "anonymous", [](double i) { return 5000 * i; }),
                                         series_of("memcg", "/", [](double i) { return 9000 * i; }),
                                         series_of("memcg", "/system", [](double i) { return 8000 * i; }),
                                         series_of("memcg", "/system/web", [](double i) { return 7000 * i; }),
                                         series_of("memcg", "/systemic", [](double i) { return 2000 * i; })};
  EXPECT_THAT(names(series, rank_growth(series, {}).growing),
              ElementsAre("slab kmalloc-1k", "memcg /system/web", "account anonymous", "memcg /systemic"));
}

TEST(RankGrowth, SmallGrowthHasNoRow) {
  const std::vector<GrowthSeries> series{rising("slab", "a", 1, 64), rising("slab", "b", 100, 64)};
  EXPECT_THAT(names(series, rank_growth(series, {.min_bytes = 65536}).growing), ElementsAre("slab b"));
}

TEST(RankGrowth, TypesNewerThanTheWindowAreNotJudged) {
  std::vector<GrowthSeries> series{rising("slab", "old", 10, 64), rising("slab", "new", 10, 64)};
  series[1].points.erase(series[1].points.begin(), series[1].points.begin() + 20);
  EXPECT_THAT(names(series, rank_growth(series, {}).growing), ElementsAre("slab old"));
}

TEST(RankGrowth, OfAThousandTypesThatMoveByChanceNoneGrows) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> step(0, 4096);
  std::vector<GrowthSeries> series;
  for (int i = 0; i < 1000; ++i) {
    double amount = 1e7;
    series.push_back(series_of("slab", "t", [&](double) { return amount += step(random); }));
    series.back().name += std::to_string(i);
  }
  EXPECT_THAT(rank_growth(series, {}).growing, IsEmpty());
  series.push_back(rising("slab", "leak", 10, 4096));
  EXPECT_THAT(names(series, rank_growth(series, {}).growing), ElementsAre("slab leak"));
}

TEST(Caches, AreWhatTheKernelTakesBack) {
  for (const char* name : {"dentry", "ext4_inode_cache", "radix_tree_node", "kmalloc-rcl-64"}) {
    EXPECT_TRUE(is_cache(Allocator::kSlab, name)) << name;
  }
  for (const char* name : {"sock_inode_cache", "shmem_inode_cache", "filp", "kmalloc-64", "names_cache"}) {
    EXPECT_FALSE(is_cache(Allocator::kSlab, name)) << name;
  }
  EXPECT_TRUE(is_cache(Allocator::kUma, "VNODE"));
  EXPECT_FALSE(is_cache(Allocator::kMalloc, "dentry"));
  EXPECT_TRUE(is_cache_part("page_cache"));
  EXPECT_FALSE(is_cache_part("unaccounted"));
}

}  // namespace
}  // namespace memstat
