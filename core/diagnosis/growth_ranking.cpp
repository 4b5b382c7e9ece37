// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/growth_ranking.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace memstat {
namespace {

/// Other rows explain a row if they have at least this share of its growth.
constexpr double kExplainedShare = 0.6;
/// Smaller numbers of objects may agree by chance.
constexpr double kMinSharedObjects = 16;
/// Series grow together if they differ by at most this share of the first one's growth.
constexpr double kTogetherShare = 0.08;
/// Number of times in the window at which they are compared.
constexpr std::size_t kComparisons = 4;

bool is_part(const GrowthSeries& series) { return series.allocator == kAccountAllocator; }

/// Whether types of another allocator include this memory: such a series never leads a group.
bool is_other_view(const GrowthSeries& series) {
  static constexpr std::string_view kViews[] = {"table", "call_site", "kmalloc_site", "socket"};
  return std::find(std::begin(kViews), std::end(kViews), series.allocator) != std::end(kViews);
}

/// The allocator whose types explain a part of the summary.
std::string_view allocator_of_part(std::string_view part) {
  static constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"slab_unreclaimable", "slab"}, {"slab_reclaimable", "slab"}, {"vmalloc", "vmalloc"},
      {"percpu", "percpu"},           {"hugetlb", "hugetlb"},       {"cma", "cma"},
      {"sockets", "socket"}};
  for (const auto& [name, allocator] : kParts) {
    if (name == part) return allocator;
  }
  return {};
}

double bytes_gained(const GrowthSeries& series, const GrowthTest& test) { return series.is_bytes ? test.gain : 0; }

/// Objects gained until each comparison; empty if the number of objects is unknown.
std::vector<double> objects_gained(const GrowthSeries& series) {
  const double size = series.is_bytes ? series.object_bytes : 1;
  if (size <= 0) return {};
  std::vector<double> gained;
  for (std::size_t i = 1; i <= kComparisons; ++i) {
    const std::size_t at = i * (series.points.size() - 1) / kComparisons;
    gained.push_back((series.points[at].amount - series.points.front().amount) / size);
  }
  return gained;
}

bool is_together(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty() || a.back() < kMinSharedObjects) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > kTogetherShare * a.back() + 1) return false;
  }
  return true;
}

class Ranker {
 public:
  Ranker(std::span<const GrowthSeries> series, const GrowthOptions& options)
      : series_(series), options_(options), tests_(series.size()), judged_(series.size()) {}

  GrowthRanking rank() {
    test_all();
    for (std::size_t i = 0; i < series_.size(); ++i) {
      if (!judged_[i] || tests_[i].shape == GrowthShape::kTooShort || !is_worth_a_row(i)) continue;
      const bool is_steady = tests_[i].shape == GrowthShape::kSteady && !is_quiet_cache(i);
      (is_steady ? ranking_.growing : ranking_.set_aside).push_back({.series = i, .test = tests_[i]});
    }
    sort(ranking_.growing);
    join_rows();
    drop_explained();
    for (std::vector<Growth>* rows : {&ranking_.growing, &ranking_.set_aside}) {
      for (Growth& row : *rows) add_up(row);
    }
    sort(ranking_.growing);
    std::stable_sort(ranking_.set_aside.begin(), ranking_.set_aside.end(), [this](const Growth& a, const Growth& b) {
      return std::pair(!series_[a.series].is_bytes, -a.gain) < std::pair(!series_[b.series].is_bytes, -b.gain);
    });
    return std::move(ranking_);
  }

 private:
  void test_all() {
    std::size_t longest = 0;
    for (const GrowthSeries& series : series_) longest = std::max(longest, series.points.size());
    std::vector<double> probabilities;
    for (std::size_t i = 0; i < series_.size(); ++i) {
      const std::vector<GrowthPoint>& points = series_[i].points;
      if (points.size() != longest || longest < 2) continue;
      const bool moved = std::any_of(points.begin(), points.end(),
                                     [&](const GrowthPoint& point) { return point.amount != points.front().amount; });
      if (!moved) continue;
      judged_[i] = true;
      tests_[i] = test_growth(points, options_.reclaimed);
      probabilities.push_back(tests_[i].probability);
    }
    ranking_.moved = probabilities.size();
    const double most = control_discoveries(probabilities);
    for (GrowthTest& test : tests_) {
      if (test.shape == GrowthShape::kSteady && test.probability > most) test.shape = GrowthShape::kUncertain;
    }
  }

  [[nodiscard]] bool is_worth_a_row(std::size_t i) const {
    return tests_[i].gain > 0 && tests_[i].gain >= (series_[i].is_bytes ? options_.min_bytes : options_.min_objects);
  }

  /// A cache that grows while there is room. It is growth only if memory was reclaimed and the cache did not shrink.
  [[nodiscard]] bool is_quiet_cache(std::size_t i) const { return series_[i].is_cache && !tests_[i].was_reclaimed; }

  void sort(std::vector<Growth>& rows) const {
    const auto key = [this](const Growth& row) {
      const GrowthSeries& series = series_[row.series];
      const double pace = row.per_second != 0 ? row.per_second : row.test.per_second;
      return std::tuple(!series.is_bytes, -pace, std::string_view(series.allocator), std::string_view(series.name));
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const Growth& a, const Growth& b) { return key(a) < key(b); });
  }

  /// Joins types that grew by the same number of objects into one row: each has one for the same file, socket or
  /// process.
  void join_rows() {
    std::vector<Growth> rows;
    std::stable_partition(ranking_.growing.begin(), ranking_.growing.end(), [this](const Growth& row) {
      return !series_[row.series].is_cache && !is_other_view(series_[row.series]);
    });
    for (Growth& row : ranking_.growing) {
      const std::vector<double> own = objects_gained(series_[row.series]);
      const auto first = std::find_if(rows.begin(), rows.end(), [&](const Growth& other) {
        return is_together(objects_gained(series_[other.series]), own);
      });
      if (first == rows.end()) {
        rows.push_back(std::move(row));
      } else {
        first->together.push_back(row.series);
      }
    }
    // A cache whose entries are held by something that grows is not just a cache.
    std::erase_if(ranking_.set_aside, [&](const Growth& row) {
      const std::vector<double> own = objects_gained(series_[row.series]);
      const auto holder = std::find_if(rows.begin(), rows.end(), [&](const Growth& other) {
        return is_together(objects_gained(series_[other.series]), own);
      });
      if (holder == rows.end()) return false;
      holder->together.push_back(row.series);
      return true;
    });
    ranking_.growing = std::move(rows);
  }

  /// Growth in bytes of an allocator's types that have rows, including joined ones.
  [[nodiscard]] double gain_of_types(std::string_view allocator) const {
    double sum = 0;
    const auto add = [&](std::size_t i) {
      if (series_[i].allocator == allocator) sum += bytes_gained(series_[i], tests_[i]);
    };
    for (const Growth& row : ranking_.growing) {
      add(row.series);
      for (const std::size_t other : row.together) add(other);
    }
    return sum;
  }

  /// Growth in bytes of what FreeBSD's kmem consists of: malloc types and zones, whether or not they have rows, since a
  /// cache or a step fills kmem as well. Zones of malloc(9) hold malloc types.
  [[nodiscard]] double gain_within_kmem() const {
    double sum = 0;
    for (std::size_t i = 0; i < series_.size(); ++i) {
      const GrowthSeries& series = series_[i];
      const bool is_zone = series.allocator == "uma" && !series.name.starts_with("malloc-");
      if (judged_[i] && (is_zone || series.allocator == "malloc")) sum += std::max(bytes_gained(series, tests_[i]), 0.0);
    }
    return sum;
  }

  [[nodiscard]] double gain_within_part(std::string_view part) const {
    if (part == "kmem") return gain_within_kmem();
    const std::string_view allocator = allocator_of_part(part);
    return allocator.empty() ? 0 : gain_of_types(allocator);
  }

  void drop_explained() {
    std::vector<bool> is_explained(series_.size());
    for (const Growth& row : ranking_.growing) {
      const GrowthSeries& series = series_[row.series];
      const double enough = kExplainedShare * row.test.gain;
      if (is_part(series)) is_explained[row.series] = gain_within_part(series.name) >= enough;
      if (series.allocator != "memcg") continue;
      const std::string below = series.name == "/" ? series.name : series.name + "/";
      is_explained[row.series] = std::any_of(ranking_.growing.begin(), ranking_.growing.end(), [&](const Growth& other) {
        const GrowthSeries& child = series_[other.series];
        return child.allocator == series.allocator && child.name.size() > below.size() && child.name.starts_with(below) &&
               other.test.gain >= enough;
      });
    }
    std::erase_if(ranking_.growing, [&](const Growth& row) { return is_explained[row.series]; });
  }

  void add_up(Growth& row) const {
    row.gain = row.test.gain;
    row.now = series_[row.series].points.back().amount;
    row.per_second = row.test.per_second;
    if (!series_[row.series].is_bytes) return;
    for (const std::size_t other : row.together) {
      // Do not add the same memory seen another way.
      if (is_other_view(series_[other]) || !series_[other].is_bytes) continue;
      row.gain += tests_[other].gain;
      row.now += series_[other].points.back().amount;
      row.per_second += std::max(0.0, tests_[other].per_second);
    }
  }

  std::span<const GrowthSeries> series_;
  const GrowthOptions& options_;
  std::vector<GrowthTest> tests_;
  std::vector<bool> judged_;
  GrowthRanking ranking_;
};

}  // namespace

GrowthRanking rank_growth(std::span<const GrowthSeries> series, const GrowthOptions& options) {
  return Ranker(series, options).rank();
}

}  // namespace memstat
