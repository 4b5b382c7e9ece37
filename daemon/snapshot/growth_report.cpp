// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/growth_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/amount_text.h"
#include "core/diagnosis/limit_state.h"
#include "core/model/accounts.h"
#include "core/model/group_metrics.h"
#include "core/model/type_rules.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxPoints = 240;
/// Minimum growth for a row: 64 KiB or a ten-thousandth of all memory; without bytes, this many objects.
constexpr double kMinBytes = 65536;
constexpr double kMinShareOfMemory = 1e-4;
constexpr double kMinObjects = 32;
/// Programs use more memory while they work, so growth of a control group over a shorter time is not evidence.
constexpr double kMinGroupSeconds = 60;

/// Non-cache bytes of each control group: program memory, and kernel memory that cannot be reclaimed.
std::map<std::string, double> fixed_bytes_of_groups(const Snapshot& snapshot) {
  std::map<std::string, double> groups;
  const std::pair<const SystemMetric*, double> parts[] = {
      {&kMemcgAnonymousBytes, 1}, {&kMemcgKernelBytes, 1}, {&kMemcgReclaimableBytes, -1}};
  for (const auto& part : parts) {
    const SystemMetric* const metric = part.first;
    for (const Snapshot::MachineSample& sample : snapshot.samples(*metric)) {
      snapshot.labels_at(sample.labels, metric->label_names()).for_each([&](std::string_view, std::string_view group) {
        groups[unescaped_label(group)] += part.second * static_cast<double>(sample.bits);
      });
    }
  }
  return groups;
}

TypeAmounts amounts_of(const Snapshot& snapshot, std::size_t row) {
  const auto value_of = [&](Field field) {
    return snapshot.has(field, row) ? std::optional(snapshot.value(field, row)) : std::nullopt;
  };
  return {.bytes = value_of(Field::kBytes),
          .objects = value_of(Field::kCount),
          .bytes_limit = value_of(Field::kBytesLimit),
          .objects_limit = value_of(Field::kCountLimit)};
}

class Collector {
 public:
  Collector(const Snapshot& snapshot, const History::Samples& samples, GrowthReport& report)
      : snapshot_(snapshot), samples_(samples), report_(report) {}

  void add_account() {
    for (std::size_t i = 0; i < samples_.names.size(); ++i) {
      const std::string& name = samples_.names[i];
      if (name == kReclaimedSeries) {
        for (const std::uint64_t pages : samples_.of(i)) reclaimed_.push_back(static_cast<double>(pages));
        continue;
      }
      if (name == kKillsSeries) continue;
      GrowthSeries series{.allocator = std::string(kAccountAllocator), .name = name, .is_cache = is_cache_part(name)};
      take(i, series);
    }
  }

  void add_types() {
    const std::map<std::string, double> groups = fixed_bytes_of_groups(snapshot_);
    for (std::size_t row = 0; row < snapshot_.row_count(); ++row) {
      const Snapshot::Row& entry = snapshot_.rows()[row];
      const std::string name = unescaped_label(entry.labels(snapshot_.label_bytes().data()).escaped_type());
      if (!is_ranked_by_growth(entry.allocator, name)) continue;
      GrowthSeries series{
          .allocator = std::string(to_string(entry.allocator)), .name = name, .is_cache = is_cache(entry.allocator, name)};
      set_amounts(amounts_of(snapshot_, row), series);
      if (!take(entry.number, series)) continue;
      GrowthSeries& taken = report_.series.back();
      const auto group = entry.allocator == Allocator::kMemcg ? groups.find(name) : groups.end();
      if (group == groups.end()) continue;
      taken.is_cache = is_group_cache(taken, group->second);
    }
  }

  [[nodiscard]] std::span<const double> reclaimed() const { return reclaimed_; }

 private:
  /// Reads the points of series `number`. False if the newest poll has none.
  bool take(std::size_t number, GrowthSeries& series) {
    const std::span<const std::uint64_t> amounts = samples_.of(number);
    if (amounts.empty() || amounts.back() == 0) return false;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (amounts[i] == 0) continue;
      series.points.push_back({.seconds = static_cast<double>(samples_.times_ns[i] - samples_.times_ns[0]) / 1e9,
                               .amount = static_cast<double>(static_cast<std::int64_t>(amounts[i] - 1))});
    }
    report_.series.push_back(std::move(series));
    return true;
  }

  const Snapshot& snapshot_;
  const History::Samples& samples_;
  GrowthReport& report_;
  std::vector<double> reclaimed_;
};

bool is_at_work(const GrowthReport& report, const Growth& row) {
  return report.seconds < kMinGroupSeconds && report.series[row.series].allocator == to_string(Allocator::kMemcg);
}

/// Sets aside the control groups whose growth may only be work.
void set_aside_work(GrowthReport& report) {
  std::vector<Growth>& growing = report.ranking.growing;
  const auto work =
      std::stable_partition(growing.begin(), growing.end(), [&](const Growth& row) { return !is_at_work(report, row); });
  report.ranking.set_aside.insert(report.ranking.set_aside.begin(), work, growing.end());  // clearest reason first
  growing.erase(work, growing.end());
}

}  // namespace

bool is_ranked_by_growth(Allocator allocator, std::string_view name) {
  return allocator == Allocator::kMemcg || !is_container(allocator, name);
}

bool is_group_cache(const GrowthSeries& group, double fixed) {
  const double now = group.points.back().amount;
  return fixed < now / 2 || fixed < now - group.points.front().amount;
}

void rank_report(GrowthReport& report, double memory, std::span<const double> reclaimed) {
  report.ranking = rank_growth(
      report.series,
      {.min_bytes = std::max(kMinBytes, kMinShareOfMemory * memory), .min_objects = kMinObjects, .reclaimed = reclaimed});
  set_aside_work(report);
}

GrowthReport growth_report(const Snapshot& snapshot, const History& history, std::int64_t seconds) {
  GrowthReport report;
  const History::Samples samples = history.samples(seconds, kMaxPoints);
  report.polls = samples.times_ns.size();
  if (report.polls == 0) return report;
  report.seconds = static_cast<double>(samples.times_ns.back() - samples.times_ns.front()) / 1e9;
  Collector collector(snapshot, samples, report);
  collector.add_account();
  collector.add_types();
  const auto available = snapshot.samples(kAvailableBytes);
  if (!available.empty()) report.available = static_cast<double>(available[0].bits);
  const auto total = snapshot.samples(kTotalBytes);
  rank_report(report, total.empty() ? 0 : static_cast<double>(total[0].bits), collector.reclaimed());
  return report;
}

namespace {

/// Nothing for a time that is much longer than the growth was watched.
std::optional<double> outlook_of(const GrowthReport& report, double seconds) {
  return seconds <= kMaxOutlook * report.seconds ? std::optional(seconds) : std::nullopt;
}

}  // namespace

void set_amounts(const TypeAmounts& now, GrowthSeries& series) {
  const auto left_of = [](std::uint64_t limit, std::uint64_t used) {
    return static_cast<double>(limit - std::min(limit, used));
  };
  series.is_bytes = now.bytes.has_value();
  if (now.bytes && now.objects.value_or(0) != 0) {
    series.object_bytes = static_cast<double>(*now.bytes) / static_cast<double>(*now.objects);
  }
  if (now.bytes && now.bytes_limit) {
    series.limit_left = left_of(*now.bytes_limit, *now.bytes);
  } else if (now.objects_limit && now.objects && (!now.bytes || series.object_bytes > 0)) {
    series.limit_left = left_of(*now.objects_limit, *now.objects) * (now.bytes ? series.object_bytes : 1);
  }
}

std::optional<double> seconds_to_limit(const GrowthReport& report, const Growth& row) {
  const GrowthSeries& series = report.series[row.series];
  if (!series.limit_left || row.test.per_second <= 0) return std::nullopt;
  return outlook_of(report, *series.limit_left / row.test.per_second);
}

std::optional<double> seconds_to_exhaustion(const GrowthReport& report, const Growth& row) {
  if (!report.available || !report.series[row.series].is_bytes || row.per_second <= 0) return std::nullopt;
  return outlook_of(report, *report.available / row.per_second);
}

namespace {

/// Why a row is set aside, as words after "it": "grew in one step".
std::string why_set_aside(const GrowthReport& report, const Growth& row) {
  const GrowthSeries& series = report.series[row.series];
  const double peak_gain = row.test.gain + row.test.largest_fall;
  switch (row.test.shape) {
    case GrowthShape::kGivenBack:
      return "gave back " + percent_text(std::min(1.0, row.test.largest_fall / std::max(1.0, peak_gain))) +
             " of its growth" + (row.test.fell_in_reclaim ? " when memory was reclaimed" : "");
    case GrowthShape::kCycle:
      return "rises and falls, by up to " + percent_text(std::min(1.0, row.test.largest_fall / std::max(1.0, peak_gain))) +
             " of its growth";
    case GrowthShape::kStep: return "grew in one step";
    case GrowthShape::kEnded: return "stopped growing";
    case GrowthShape::kLevelsOff: return "grows ever more slowly";
    default: break;
  }
  if (row.test.shape == GrowthShape::kSteady && is_at_work(report, row)) {
    return "belongs to programs at work: a minute of polls shows whether they keep it";
  }
  if (series.is_cache) return "is a cache, which the kernel takes back when memory is short";
  return "fluctuates as if by chance";
}

GrowthRow row_of(const GrowthReport& report, const Growth& row) {
  const GrowthSeries& series = report.series[row.series];
  GrowthRow made{.allocator = series.allocator,
                 .name = series.name,
                 .is_bytes = series.is_bytes,
                 .is_cache = series.is_cache,
                 .now = std::llround(row.now),
                 .grew = std::llround(row.gain),
                 .shape = std::string(to_string(row.test.shape))};
  for (const std::size_t other : row.together) {
    const GrowthSeries& one = report.series[other];
    made.with.push_back({.allocator = one.allocator,
                         .name = one.name,
                         .is_bytes = one.is_bytes,
                         .grew = std::llround(one.points.back().amount - one.points.front().amount)});
  }
  return made;
}

}  // namespace

GrowthAnswer growth_answer(const GrowthReport& report) {
  GrowthAnswer answer{.polls = report.polls,
                      .seconds = report.seconds,
                      .is_enough = report.is_enough(),
                      .moved = report.ranking.moved,
                      .growing = {},
                      .set_aside = {},
                      .problem = {}};
  for (const Growth& row : report.ranking.growing) {
    GrowthRow& made = answer.growing.emplace_back(row_of(report, row));
    made.per_second = row.per_second;
    made.confidence = 1 - row.test.probability;
    made.rising = row.test.rising;
    made.since_seconds = row.test.since;
    made.limit_seconds = seconds_to_limit(report, row);
    made.memory_seconds = seconds_to_exhaustion(report, row);
  }
  for (const Growth& row : report.ranking.set_aside) {
    answer.set_aside.emplace_back(row_of(report, row)).why = why_set_aside(report, row);
  }
  return answer;
}

}  // namespace memstat
