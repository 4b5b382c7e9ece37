// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/leaks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

/// Whether the memory of the type is that of others, told once more.
bool holds_others(const TypeRow& type) {
  return type.is_container || type.allocator_number == ALLOCATOR_MEMCG || type.allocator_number == ALLOCATOR_PAGE ||
         type.allocator_number == ALLOCATOR_PROCESS;
}

constexpr std::array<ReportColumn, 11> kLeaksColumns{
    {{.key = "allocator", .title = "ALLOCATOR"},
     {.key = "type", .title = "TYPE", .least = 12},
     {.key = "of", .title = "OF", .rank = 5},
     {.key = "now", .title = "NOW", .unit = Unit::kNumber, .rank = 2},
     {.key = "grew", .title = "GREW", .unit = Unit::kNumber, .rank = 3, .has_sign = true},
     {.key = "per_second", .title = "PER SECOND", .unit = Unit::kNumber, .has_sign = true},
     {.key = "", .title = "CONFIDENCE", .unit = Unit::kNumber},
     {.key = "confidence_ratio", .title = ""},
     {.key = "rose_ratio", .title = "ROSE", .unit = Unit::kRatio, .rank = 4},
     {.key = "limit_in_seconds", .title = "LIMIT IN", .unit = Unit::kSeconds, .rank = 1},
     {.key = "memory_gone_in_seconds", .title = "MEMORY GONE IN", .unit = Unit::kSeconds, .rank = 1}}};

std::string whole_percent(double share) {
  // What is nearly certain is not said to be.
  return share >= 0.995 && share < 1 ? ">99%" : percent(share);
}

}  // namespace

void LeakFinder::add(const Sample& sample, double seconds) {
  ++samples_;
  seconds_ = seconds;
  if (sample.memory) available_ = sample.memory->available.value_or(sample.memory->free);
  for (const TypeRow& type : sample.types) {
    if (holds_others(type)) continue;
    Series& series = series_[identity_of(type)];
    const bool is_later = series.objects.empty() || series.objects.back().seconds < seconds;
    if (!is_later) continue;
    if (has(type, kBytesInUse)) series.bytes.push_back({.seconds = seconds, .amount = static_cast<double>(type.bytes)});
    series.objects.push_back({.seconds = seconds, .amount = static_cast<double>(type.objects)});
    series.last = type;
  }
}

std::vector<Suspect> LeakFinder::suspects() const {
  std::vector<Suspect> found;
  for (const auto& [identity, series] : series_) {
    const TypeRow& type = series.last;
    const bool is_bytes = !series.bytes.empty();
    if (!is_bytes && !has(type, kObjectsInUse)) continue;
    const std::vector<TrendPoint>& points = is_bytes ? series.bytes : series.objects;
    // A type that came or went within the window has too little to say, and one that is no larger needs no work.
    if (points.size() != samples_ || points.back().amount <= points.front().amount) continue;
    const auto trend = trend_of(points);
    if (!trend || !trend->is_growth()) continue;
    Suspect suspect{.allocator = type.allocator,
                    .name = type.name,
                    .is_bytes = is_bytes,
                    .now = is_bytes ? type.bytes : type.objects,
                    .trend = *trend};
    if (const NearestLimit limit = nearest_limit(type); limit.column != nullptr && limit.used) {
      const double left = static_cast<double>(figure_of(type, *limit.column)) - static_cast<double>(limit.counted);
      const auto pace = limit.column->is_bytes ? trend : trend_of(series.objects);
      if (pace && pace->per_second > 0) suspect.limit_seconds = std::max(0.0, left) / pace->per_second;
    }
    if (is_bytes && available_) suspect.memory_seconds = static_cast<double>(*available_) / trend->per_second;
    found.push_back(std::move(suspect));
  }
  const auto key = [](const Suspect& suspect) {
    return std::tuple(!suspect.is_bytes, -suspect.trend.per_second, suspect.allocator, suspect.name);
  };
  std::sort(found.begin(), found.end(), [&](const Suspect& a, const Suspect& b) { return key(a) < key(b); });
  return found;
}

ReportTable leaks_table(const LeakFinder& finder) {
  ReportTable table("suspects", kLeaksColumns, 2);
  table.add_head("polls", std::uint64_t{finder.samples()});
  table.add_head("seconds", finder.seconds());
  table.add_head("enough", finder.is_enough());
  for (const Suspect& suspect : finder.is_enough() ? finder.suspects() : std::vector<Suspect>()) {
    table.add({suspect.allocator, suspect.name, std::string(suspect.is_bytes ? "bytes" : "objects"),
               UnitAmount{static_cast<double>(suspect.now), suspect.is_bytes},
               UnitAmount{std::round(suspect.trend.gain), suspect.is_bytes},
               UnitAmount{suspect.trend.per_second, suspect.is_bytes}, whole_percent(suspect.trend.confidence),
               suspect.trend.confidence, suspect.trend.rising, cell_of(suspect.limit_seconds),
               cell_of(suspect.memory_seconds)});
  }
  return table;
}

namespace {

void add_leaks(OptionAdder& add) {
  add.from_anywhere();
  add.window("How long a live kernel is watched: 1m by default");
  add.interval("How long between two reads of a live kernel: a thirtieth of that, 100ms at least");
  add.report();
}

Report run_leaks(const CommandLine& options) {
  const OpenedSource opened = open_source(options.from);
  if (opened.source == nullptr) return {.output = {}, .problem = opened.problem};
  WalkOptions walk{.first = first_poll_of(options.from), .interval_ns = 0, .count = {}};
  if (opened.source->poll_count() == 0) {
    const std::int64_t window_ns = options.window_ns.value_or(60 * kOneSecond);
    walk.interval_ns = options.interval_ns.value_or(std::max(window_ns / 30, kOneSecond / 10));
    walk.count = static_cast<std::uint64_t>(window_ns / walk.interval_ns + 1);
  }
  return leaks_report(*opened.source, {.walk = walk, .view = options.view});
}

}  // namespace

Report leaks_report(ReportSource& source, const LeakOptions& options) {
  LeakFinder finder;
  PollWalk walk(source, options.walk);
  Progress progress;
  Report report;
  while (walk.next()) {
    finder.add(walk.sample(), walk.seconds());
    report.notes = walk.sample().notes;
    report.missing = walk.sample().missing;
    progress.show("read " + std::to_string(walk.states()) + " of " + std::to_string(walk.expected()) + " polls");
  }
  progress.finish();
  report.problem = walk.problem();
  if (!report.problem.empty()) return report;
  const std::string window = std::to_string(finder.samples()) + (finder.samples() == 1 ? " poll in " : " polls in ") +
                             duration_text(finder.seconds());
  if (!finder.is_enough()) {
    report.problem = "the window is too short to tell growth from chance: " + window + ", and " +
                     std::to_string(kLeastTrendPoints) + " are needed";
  }
  const bool is_text = options.view.layout == Layout::kText;
  if (!finder.is_enough() && options.view.layout != Layout::kJson) return report;
  ReportTable table = leaks_table(finder);
  const bool is_empty = table.empty();
  if (is_empty && is_text) {
    report.output = "nothing grows steadily in " + window + "\n";
    return report;
  }
  Report made = report_of(std::move(table), options.view);
  report.output = is_text ? "what grows steadily in " + window + ":\n" + made.output : made.output;
  if (report.problem.empty()) report.problem = made.problem;
  return report;
}

const Command kLeaksCommand{"leaks",
                            Group::kGrowth,
                            "Which types grow steadily, how fast, how surely, and until when",
                            "memstatctl leaks --for 1m\n"
                            "memstatctl leaks --from bug.tar.zst --json",
                            add_leaks,
                            run_leaks};

}  // namespace memstat::ctl
